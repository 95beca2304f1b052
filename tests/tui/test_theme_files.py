"""Theme files: what is wrong in one is said with its place, and the others still work."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.theme import BUILTIN_THEMES, Theme

from placetui import resources
from placetui.placement.problems import Problem
from placetui.tui.themes import DEFAULT_THEME, load_themes, notice, read_theme

OURS = [path.stem for path in resources.themes()]

GOOD = "name: mine\nprimary: '#336699'\n"


def themed(tmp_path: Path, text: str, name: str = "mine.yaml") -> tuple[Theme | None, list[Problem]]:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return read_theme(file)


def test_a_theme_needs_a_name_and_one_colour(tmp_path: Path) -> None:
    theme, problems = themed(tmp_path, GOOD)
    assert problems == []
    assert theme == Theme("mine", "#336699")


def test_every_field_of_a_theme_is_used(tmp_path: Path) -> None:
    theme, problems = themed(
        tmp_path,
        GOOD
        + "author: me\ndescription: of mine\ndark: false\nsecondary: red\naccent: rgb(1,2,3)\n"
        + "warning: hsl(10,50%,50%)\nerror: '#f00'\nsuccess: '#0f0'\n"
        + "foreground: black\nbackground: white\nsurface: '#eeeeee'\npanel: '#dddddd'\n"
        + "boost: '#00000010'\nluminosity_spread: 0.2\ntext_alpha: 1\n"
        + "variables:\n  component-actor: teal\n"
        + "  border: '#fff 30%'\n  text: auto 90%\n  link-style: bold not underline\n",
    )
    assert problems == []
    assert theme is not None
    assert (theme.dark, theme.background, theme.panel, theme.luminosity_spread) == (False, "white", "#dddddd", 0.2)
    assert theme.variables == {
        "component-actor": "teal",
        "border": "#fff 30%",
        "text": "auto 90%",
        "link-style": "bold not underline",
    }


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("", None, None, "the field `name` is missing"),
        ("name: mine\n", 1, 1, "the field `primary` is missing"),
        ("name: my theme\nprimary: red\n", 1, 7, "`my theme` cannot be the name of a theme"),
        ("name: 3\nprimary: red\n", 1, 7, "`name` is not a text"),
        ("name: mine\nprimary: #336699\n", 2, 9, "`primary` is empty"),
        ("name: mine\nprimary: 336699\n", 2, 10, "`primary: 336699` is not a colour"),
        ("name: mine\nprimary: bleu\n", 2, 10, "`primary: bleu` is not a colour"),
        (f"{GOOD}secondry: red\n", 3, 1, "a theme has no field `secondry`"),
        (f"{GOOD}dark: dark\n", 3, 7, "`dark` is neither true nor false"),
        (f"{GOOD}background: '#00000080'\n", 3, 13, "`background: #00000080` is transparent"),
        (f"{GOOD}text_alpha: 2\n", 3, 13, "`text_alpha` is not a number from 0 to 1"),
        (f"{GOOD}variables: [red]\n", 3, 12, "`variables` is not a mapping of names to colours"),
        (f"{GOOD}variables:\n  component-9: red\n", 4, 3, "a theme has no variable `component-9`"),
        (f"{GOOD}variables:\n  component-rollout: auto 20%\n", 4, 22, "`component-rollout: auto 20%` is not a colour"),
        (f"{GOOD}variables:\n  border: bleu 20%\n", 4, 11, "`border: bleu` is not a colour"),
        (f"{GOOD}variables:\n  link-style: loud\n", 4, 15, "`link-style` is not a text style"),
        (f"{GOOD}variables:\n  link-style:\n", 4, 14, "`link-style` is not a text style"),
        (f"{GOOD}primary: blue\n", 3, 1, "`primary`"),
        ("name: [\n", 2, 1, ""),
    ],
)
def test_a_bad_theme_is_left_out_and_said_to_be(
    text: str, line: int | None, column: int | None, part: str, tmp_path: Path
) -> None:
    theme, problems = themed(tmp_path, text)
    assert theme is None
    assert part in problems[0].message
    assert problems[0].file == str(tmp_path / "mine.yaml")
    assert problems[0].hint
    assert (problems[0].line, problems[0].column) == (line, column)
    assert "mine.yaml" in notice(problems)


def test_a_bad_theme_spares_the_others(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD.replace("mine", "good"))
    (tmp_path / "bad.yaml").write_text("name: bad\nprimary: bleu\n")
    (tmp_path / "worse.yml").write_bytes(b"\xff\xfe\0")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "readme.txt").write_text("not a theme")
    themes, problems = load_themes(tmp_path)
    assert [theme.name for theme in themes] == [*OURS, "good"]
    assert [Path(problem.file).name for problem in problems] == ["bad.yaml", "folder.yaml", "worse.yml"]
    assert notice(problems) == (
        "bad.yaml:2: primary: bleu is not a colour; and 2 more problems: see placetui config validate"
    )


def test_a_theme_of_the_user_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "dark.yaml").write_text(GOOD.replace("mine", DEFAULT_THEME))
    themes, problems = load_themes(tmp_path)
    assert problems == []
    assert [theme.primary for theme in themes if theme.name == DEFAULT_THEME] == ["#336699"]


def test_of_two_themes_of_one_name_the_first_counts(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(GOOD.replace("336699", "996633"))
    themes, problems = load_themes(tmp_path)
    assert [theme.primary for theme in themes if theme.name == "mine"] == ["#336699"]
    assert [Path(problem.file).name for problem in problems] == ["b.yaml"]


def test_no_problem_no_notice() -> None:
    assert notice([]) == ""


@pytest.mark.parametrize("theme", BUILTIN_THEMES.values(), ids=BUILTIN_THEMES)
def test_our_checks_accept_what_textual_ships(theme: Theme, tmp_path: Path) -> None:
    lines = [f"name: {theme.name}", f"dark: {str(theme.dark).lower()}"]
    for name in ("primary", "secondary", "accent", "foreground", "background", "surface", "panel", "boost"):
        value = getattr(theme, name)
        lines += [f'{name}: "{value}"'] if value else []
    lines += ["variables:", *(f'  {name}: "{value}"' for name, value in theme.variables.items())]
    _, problems = themed(tmp_path, "\n".join(lines))
    assert problems == []
