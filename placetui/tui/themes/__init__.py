"""Themes from YAML files: ours and the user's. A wrong one is reported once, and the others still work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from textual.color import Color, ColorParseError
from textual.css.constants import VALID_STYLE_FLAGS
from textual.theme import BUILTIN_THEMES, Theme

from placetui import resources
from placetui.document import Document, DocumentError
from placetui.placement.problems import Path as YamlPath
from placetui.placement.problems import Problem
from placetui.placement.wording import count, did_you_mean, listing, plain
from placetui.tui.themes.colors import VARIABLES, variable_defaults
from placetui.tui.themes.palette import GridPalette

DEFAULT_THEME = "placetui-dark"

COLORS = (
    *("primary", "secondary", "accent", "warning", "error", "success"),
    *("foreground", "background", "surface", "panel", "boost"),
)
"""Fields that hold a colour; only the first one is required."""

TEXTS = ("name", "author", "description")
NUMBERS = ("luminosity_spread", "text_alpha")
FIELDS = (*TEXTS, "dark", *COLORS, *NUMBERS, "variables")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_WITH_ALPHA = re.compile(r"(?P<color>.+?)(?:\s+\d{1,3}(?:\.\d+)?%)?")


def load_themes(user_dir: Path) -> tuple[list[Theme], list[Problem]]:
    """Our own themes and the user's, as far as they are right.

    Args:
        user_dir: Where the user's own are, as `*.yaml` or `*.yml`; may be missing. One with the name of another theme
            takes its place.

    Returns:
        The themes, ours first; and what is wrong in those that are left out.
    """
    themes: dict[str, Theme] = {}
    problems: list[Problem] = []
    for file in _bundled(problems):
        _add(file, themes, problems, tried=False)  # the tests have tried them
    own: dict[str, Theme] = {}
    for file in _files(user_dir):
        _add(file, own, problems)
    return list((themes | own).values()), problems


def theme_names(themes: Iterable[Theme]) -> list[str]:
    """The names of these themes and of Textual's own, in the order in which a person steps through them."""
    return list(dict.fromkeys([*(theme.name for theme in themes), *BUILTIN_THEMES]))


def notice(problems: Iterable[Problem]) -> str:
    """One sentence for all that is wrong; empty when nothing is."""
    found = list(problems)
    if not found:
        return ""
    first, others = found[0], len(found) - 1
    place = ":".join(str(part) for part in (Path(first.file).name, first.line) if part not in ("", None))
    more = f"; and {count(others, 'more problem')}: see `placetui config validate`" if others else ""
    return plain(f"{place}: {first.message}{more}" if place else f"{first.message}{more}")


def read_theme(path: Path, *, tried: bool = True) -> tuple[Theme | None, list[Problem]]:
    """One theme; None when anything in it is wrong. With `tried`, its colours are tried out together, too."""
    try:
        document = Document.from_file(path)
    except DocumentError as error:
        return None, error.problems
    fields = dict(document.config)
    # What an empty file lacks is reported below.
    problems = [problem for problem in document.problems_in(document.config) if problem.rule != "empty_file"]
    problems = problems or [document.place(problem) for problem in _check(fields)]
    if problems:
        return None, problems
    variables = {name: str(value).strip() for name, value in (fields.get("variables") or {}).items()}
    wanted = {name: fields[name] for name in ("dark", *COLORS, *NUMBERS) if name in fields}
    theme = Theme(name=fields["name"], variables=variables, **wanted)
    try:
        if tried:
            variable_defaults(theme)
    except (ValueError, ArithmeticError, AttributeError, ColorParseError) as error:
        # Each field is right by itself; whatever Textual dislikes about them together must not end the app.
        return None, [
            Problem("bad_theme", f"`{path.name}` is not a theme: {error}", hint="compare it with docs/themes.md")
        ]
    return theme, []


def _add(file: Path, themes: dict[str, Theme], problems: list[Problem], *, tried: bool = True) -> None:
    theme, found = read_theme(file, tried=tried)
    problems += found
    if theme is None:
        return
    if theme.name in themes:
        message = f"there are two themes called `{theme.name}`; this one is ignored"
        problems.append(Problem("bad_theme", message, hint="give it another name", file=str(file)))
        return
    themes[theme.name] = theme


def _bundled(problems: list[Problem]) -> list[Path]:
    try:
        return resources.themes()
    except FileNotFoundError as error:
        problems.append(Problem("bad_theme", f"{error}", hint="install placetui again"))
        return []


def _files(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.suffix in (".yaml", ".yml"))
    except OSError:
        return []


def _check(fields: dict[str, Any]) -> Iterator[Problem]:
    for name, value in fields.items():
        path = (name,)
        if name not in FIELDS:
            yield _unknown(name, FIELDS, "field", path)
        elif name in COLORS:
            yield from _check_color(name, value, path, opaque=name in ("foreground", "background"))
        elif name in TEXTS and not (isinstance(value, str) and value.strip()):
            yield _bad(f"`{name}` is not a text", f"write `{name}: some words`", path)
        elif name == "dark" and not isinstance(value, bool):
            yield _bad("`dark` is neither true nor false", "write true for a dark background", path)
        elif name in NUMBERS and not _fraction(value):
            yield _bad(f"`{name}` is not a number from 0 to 1", "leave it out, or write for example 0.15", path)
        elif name == "variables":
            yield from _check_variables(value)
    for required in ("name", "primary"):
        if required not in fields:
            yield _bad(f"the field `{required}` is missing", "a theme needs a name and a primary colour", ())
    title = fields.get("name")
    if isinstance(title, str) and title.strip() and not _NAME.fullmatch(title):
        yield _bad(f"`{title}` cannot be the name of a theme", "use letters, digits, - and _", ("name",))


def _check_variables(value: Any) -> Iterator[Problem]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield _bad(
            "`variables` is not a mapping of names to colours", 'write `grid-muted: "#808080"` below', ("variables",)
        )
        return
    known = known_variables()
    for name, entry in value.items():
        path = ("variables", name)
        if name not in known:
            yield _unknown(name, known, "variable", path)
        elif name in VARIABLES:
            yield from _check_color(name, entry, path)
        elif "style" in name.split("-"):
            yield from _check_text_style(name, entry, path)
        else:
            yield from _check_css_color(name, entry, path)


@cache
def known_variables() -> frozenset[str]:
    """Every variable that a style sheet of ours or of Textual's can use."""
    return frozenset({*VARIABLES, *Theme("any", "#000000").to_color_system().generate()})


def _check_css_color(name: str, value: Any, path: YamlPath) -> Iterator[Problem]:
    """A colour as style sheets have it: also with a share of opacity behind it, or `auto`."""
    if isinstance(value, str) and (match := _WITH_ALPHA.fullmatch(value.strip())):
        if match["color"] in ("auto", "initial"):
            return
        value = match["color"]
    yield from _check_color(name, value, path)


def _check_text_style(name: str, value: Any, path: YamlPath) -> Iterator[Problem]:
    words = value.split() if isinstance(value, str) else []
    if not words or any(word not in VALID_STYLE_FLAGS for word in words):
        yield _bad(
            f"`{name}` is not a text style", "write none, or some of bold, dim, italic, underline, reverse", path
        )


def _check_color(name: str, value: Any, path: YamlPath, *, opaque: bool = False) -> Iterator[Problem]:
    if value is None:
        # YAML takes what follows a bare # for a comment.
        yield _bad(f"`{name}` is empty", f'put the colour in quotes: `{name}: "#4c8dd6"`', path)
        return
    if not isinstance(value, str):
        yield _bad(f"`{name}: {value}` is not a colour", f'put it in quotes, with a #: `{name}: "#4c8dd6"`', path)
        return
    try:
        color = Color.parse(value.strip())
    except ColorParseError as error:
        meant = f"did you mean `{error.suggested_color}`?" if error.suggested_color else ""
        yield _bad(f"`{name}: {value}` is not a colour", meant or 'write "#rrggbb", or the name of a colour', path)
        return
    if opaque and color.a < 1:
        yield _bad(f"`{name}: {value}` is transparent", "leave out the opacity", path)


def _fraction(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _unknown(name: str, known: Iterable[str], what: str, path: YamlPath) -> Problem:
    hint = did_you_mean(name, known) or _all_of(known, what)
    return Problem("bad_theme", f"a theme has no {what} `{name}`", hint=hint, path=path, at_key=True)


def _all_of(known: Iterable[str], what: str) -> str:
    return f"the fields are {listing(known, 30)}" if what == "field" else "docs/themes.md lists the variables"


def _bad(message: str, hint: str, path: YamlPath) -> Problem:
    return Problem("bad_theme", message, hint=hint, path=path)


__all__ = [
    "DEFAULT_THEME",
    "GridPalette",
    "known_variables",
    "load_themes",
    "notice",
    "read_theme",
    "theme_names",
    "variable_defaults",
]
