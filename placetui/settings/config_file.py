"""The user's `config.yaml`: what can be set, what the file sets, and a complete file with every option explained.

Whatever the file holds, reading it never raises.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from placetui.document import Document, DocumentError
from placetui.document.report import shorten
from placetui.grid import DENSITIES, Density, density_named
from placetui.grid.marks import ROLES
from placetui.placement.problems import Path, Problem
from placetui.placement.wording import did_you_mean, listing
from placetui.placement.yaml_text import written
from placetui.settings.keys import read_key, same_key

_LOOK = re.compile(r"(?=.)([A-Za-z]?) *(#[0-9A-Fa-f]{6})?")
"""A letter, a colour, or both."""

LEAST_INTERVAL = 0.1
MOST_INTERVAL = 3600.0

ALERTS: Mapping[str, float] = {"memory_above": 98.0, "temperature_above": 90.0}
"""Alerts that are on by default."""

THRESHOLDS = {"memory_above": 100.0, "temperature_above": 200.0, "load_above": 100.0, "load_below": 100.0}
"""Every threshold, and its largest value: percent of a GPU's memory, °C, percent of load."""


@dataclass(frozen=True, slots=True)
class AppSettings:
    """What the dashboard goes by where the command line says nothing."""

    theme: str = "placetui-dark"
    density: Density | None = None
    """None: the most detailed one at which all nodes fit."""

    ascii: bool | None = None
    """None: only where the terminal's language setting is not UTF-8."""

    mouse: bool = True
    interval: float = 1.0
    """Seconds from one look at the cluster to the next."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """Action → its keys, separated by commas, in place of the action's own."""

    given: frozenset[str] = frozenset()
    """Names of the options that the file sets: these come before what is remembered from the last run."""

    alerts: Mapping[str, float] = field(default_factory=lambda: dict(ALERTS))
    """Threshold → the value from which a GPU raises an alert; a threshold that is left out raises none."""

    roles: Mapping[str, str] = field(default_factory=dict)
    """Role of components → its letter, its colour in every theme as `#rrggbb`, or both: `T #74b6fe`."""

    motion: bool = True
    """Whether changes are highlighted briefly."""

    @property
    def role_letters(self) -> dict[str, str]:
        return {role: look[0] for role, look in self.roles.items() if not look.startswith("#")}

    @property
    def role_colors(self) -> dict[str, str]:
        return {role: look[-7:] for role, look in self.roles.items() if "#" in look}


class _Wrong(Exception):
    """A value cannot be used."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that can be set."""

    name: str
    help: tuple[str, ...]
    """Lines of explanation."""

    read: Callable[[Any], Any]


def _theme(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong("is not the name of a theme", "write a name such as placetui-dark or nord")
    return value.strip()


def _density(value: Any) -> Density | None:
    density = density_named(value)
    if density is None and value != "auto":
        raise _Wrong("is not a density", f"write auto, {', '.join(DENSITIES[:-1])} or {DENSITIES[-1]}")
    return density


def _ascii(value: Any) -> bool | None:
    if value == "auto":
        return None
    if isinstance(value, bool):
        return value
    raise _Wrong("is neither auto, true nor false", "write auto, true or false")


def _switch(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _Wrong("is neither true nor false", "write true or false")


def _interval(value: Any) -> float:
    hint = f"write a number from {LEAST_INTERVAL:g} to {MOST_INTERVAL:g}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Wrong("is not a number of seconds", hint)
    if math.isnan(value) or not LEAST_INTERVAL <= value <= MOST_INTERVAL:
        raise _Wrong("is not a useful number of seconds", hint)
    return float(value)


def _alerts(value: Any) -> dict[str, float]:
    hint = "write for example `alerts: {memory_above: 95, temperature_above: 85}`"
    if value is None or value is False:
        return {}
    if not isinstance(value, Mapping):
        raise _Wrong("is not a mapping of thresholds", hint)
    found: dict[str, float] = {}
    for name, limit in value.items():
        most = THRESHOLDS.get(name)
        if most is None:
            raise _Wrong(f"has no threshold `{shorten(str(name))}`", did_you_mean(str(name), THRESHOLDS) or hint)
        if limit is None or limit is False:
            continue
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= most:
            raise _Wrong(f"has a `{name}` that is not a number from 0 to {most:g}", hint)
        found[name] = float(limit)
    return found


def _roles(value: Any) -> dict[str, str]:
    hint = 'write for example `roles: {actor: "#74b6fe", rollout: L, reward: "P #d066b7"}`'
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _Wrong("is not a mapping of roles to letters and colours", hint)
    found: dict[str, str] = {}
    holders: dict[str, str] = {}
    for role, look in value.items():
        if role not in ROLES:
            meant = did_you_mean(str(role), ROLES) or f"the roles are {listing(ROLES)}"
            raise _Wrong(f"has no role `{shorten(str(role))}`", meant)
        match = _LOOK.fullmatch(look.strip()) if isinstance(look, str) else None
        if match is None:
            raise _Wrong(f"has no letter or colour for `{role}`", f"put colours in quotes: {hint}")
        letter, color = match[1].upper(), (match[2] or "").lower()
        if letter and holders.setdefault(letter, role) != role:
            raise _Wrong(f"has the letter `{letter}` for `{holders[letter]}` and `{role}`", "choose another letter")
        found[role] = f"{letter} {color}".strip()
    return found


OPTIONS = (
    Option(
        "theme",
        (
            "Colours. Ours: placetui-dark, placetui-light, placetui-high-contrast, placetui-colour-blind.",
            "Textual's own work too (nord, gruvbox, solarized-light, …), and so do yours, from the folder",
            "`themes` beside this file.",
        ),
        _theme,
    ),
    Option(
        "density",
        (
            "How much of each GPU the grid shows at first: card, tile, small, letters or heat;",
            "auto: the most detailed at which all nodes fit.",
        ),
        _density,
    ),
    Option(
        "ascii",
        ("Draw with plain ASCII characters: true, false, or auto (where the terminal's language is not UTF-8).",),
        _ascii,
    ),
    Option("motion", ("Briefly highlight changes. With false, nothing is highlighted or animated.",), _switch),
    Option("mouse", ("Handle mouse events. With false, you can select text as usual in your terminal.",), _switch),
    Option(
        "interval",
        (f"Seconds between samples of the cluster, {LEAST_INTERVAL:g} to {MOST_INTERVAL:g}.",),
        _interval,
    ),
    Option(
        "alerts",
        (
            "When a GPU is marked and listed: memory_above (percent), temperature_above (°C), load_above and",
            "load_below (percent; below only if a process uses it). Thresholds left out are off; false: no alerts.",
        ),
        _alerts,
    ),
    Option(
        "roles",
        (
            "Letters and colours of components by role, in every theme. The roles are",
            f"{listing(ROLES, len(ROLES))}.",
        ),
        _roles,
    ),
)
"""Everything that can be set but `keys`, in the order in which it is printed."""

KEYS_HELP = (
    "Keys of an action, replacing its defaults: one key or a list. A key is a character (quote signs)",
    "or a name: enter, escape, pageup, f5, question_mark; with ctrl+, shift+ or alt+ before it.",
)


def read_settings(
    path: str | os.PathLike[str],
    *,
    actions: Collection[str] | None = None,
    themes: Collection[str] | None = None,
) -> tuple[AppSettings, list[Problem]]:
    """Read the user's settings. A file that is not there sets nothing.

    Args:
        path: The file.
        actions: Ids of all actions; None to accept any.
        themes: Names of all themes; None to accept any.

    Returns:
        The settings, with the default of every option that is not set or is set wrongly; and what is wrong.
    """
    try:
        document = Document.from_file(path)
    except DocumentError as error:
        absent = all(problem.rule == "file_not_found" for problem in error.problems)
        return AppSettings(), [] if absent else error.problems
    values = dict(document.config)
    # Empty is as good as absent.
    problems = [problem for problem in document.problems_in(document.config) if problem.rule != "empty_file"]
    settings = AppSettings()
    for name, value in values.items():
        as_written = shorten(document.raw((name,)) or "")
        settings, found = _with_option(settings, name, value, as_written, actions, themes)
        problems += [document.place(problem) for problem in found]
    return settings, problems


def _with_option(
    settings: AppSettings,
    name: str,
    value: Any,
    as_written: str,
    actions: Collection[str] | None,
    themes: Collection[str] | None,
) -> tuple[AppSettings, list[Problem]]:
    if name == "keys":
        reader = _Keys(actions)
        keys = reader.read(value)
        return replace(settings, keys=keys, given=settings.given | {name}), reader.problems
    option = next((one for one in OPTIONS if one.name == name), None)
    if option is None:
        names = [*(one.name for one in OPTIONS), "keys"]
        hint = did_you_mean(name, names) or f"the options are {listing(names, len(names))}"
        return settings, [_unknown(f"there is no option `{shorten(name)}`", hint, (name,))]
    try:
        usable = option.read(value)
        if name == "theme" and themes is not None and usable not in themes:
            raise _Wrong(
                "is not the name of a theme", did_you_mean(usable, themes) or f"the themes are {listing(themes, 40)}"
            )
    except _Wrong as wrong:
        message = f"`{name}: {as_written}` {wrong.message}; `{value_of(AppSettings(), option)}` is used"
        return settings, [_bad(message, wrong.hint, (name,))]
    changes: dict[str, Any] = {name: usable, "given": settings.given | {name}}
    return replace(settings, **changes), []


class _Keys:
    """Reads the section `keys`."""

    def __init__(self, actions: Collection[str] | None) -> None:
        self.actions = actions
        self.problems: list[Problem] = []
        self._holders: dict[str, str] = {}
        """Key → the action that has it."""

    def read(self, value: Any) -> dict[str, str]:
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self._report("`keys` is not a mapping of actions to keys", "write for example `keys: {quit: [q, ctrl+q]}`")
            return {}
        found = {str(action): list(self._action(str(action), wanted)) for action, wanted in value.items()}
        return {action: ",".join(keys) for action, keys in found.items() if keys}

    def _action(self, action: str, wanted: Any) -> Iterator[str]:
        path = ("keys", action)
        if self.actions is not None and action not in self.actions:
            hint = did_you_mean(action, self.actions) or "`placetui config print` lists all actions"
            self.problems.append(_unknown(f"there is no action `{shorten(action)}`", hint, path))
            return
        entries = wanted if isinstance(wanted, list) else [wanted]
        if not entries:
            self._report(f"`{action}` has no key; its default keys are used", "name at least one key", path)
        for position, entry in enumerate(entries):
            place = (*path, position) if isinstance(wanted, list) else path
            key = self._key(action, entry, place)
            if key is not None:
                yield key

    def _key(self, action: str, entry: Any, path: Path) -> str | None:
        if isinstance(entry, int) and not isinstance(entry, bool) and 0 <= entry <= 9:
            entry = str(entry)
        if not isinstance(entry, str):
            shown = shorten(written(entry))
            self._report(f"`{action}`: `{shown}` is not the name of a key", 'put a sign in quotes: "~"', path)
            return None
        try:
            key = read_key(entry.strip())
        except ValueError as wrong:
            self._report(f"`{action}`: there is no key `{shorten(entry)}`", str(wrong), path)
            return None
        holder = self._holders.setdefault(same_key(key), action)
        if holder != action:
            self._report(
                f"`{action}` and `{holder}` have the same key, `{key}`; `{holder}` keeps it", "choose another", path
            )
            return None
        return key

    def _report(self, message: str, hint: str, path: Path = ("keys",)) -> None:
        self.problems.append(_bad(message, hint, path))


def _unknown(message: str, hint: str, path: Path) -> Problem:
    return Problem("unknown_option", message, hint=hint, path=path, at_key=True)


def _bad(message: str, hint: str, path: Path) -> Problem:
    return Problem("bad_option", message, hint=hint, path=path)


def value_of(settings: AppSettings, option: Option) -> str:
    """The value of an option as it is written in the file."""
    value = getattr(settings, option.name)
    return "auto" if value is None else written(value, typed=True)


def commented(settings: AppSettings, actions: Mapping[str, tuple[str, str]] | None = None) -> str:
    """A complete settings file: every option with its explanation, and the values of `settings`.

    Args:
        settings: What to write.
        actions: Action id → its own keys and what it does; those that keep their keys are written as comments.
    """
    lines: list[str] = []
    for option in OPTIONS:
        lines += [f"# {line}" for line in option.help]
        lines += [f"{option.name}: {value_of(settings, option)}", ""]
    lines += [f"# {line}" for line in KEYS_HELP]
    lines.append("keys:")
    listed = dict(actions or {})
    for action, keys in settings.keys.items():
        about = f"  # {listed[action][1]}" if action in listed else ""
        lines.append(f"  {written(action, key=True)}: {written(keys.split(','), typed=True)}{about}")
    rest = {action: entry for action, entry in listed.items() if action not in settings.keys}
    lines += [
        f"  # {action}: {written(keys.split(','), typed=True)}  # {about}" for action, (keys, about) in rest.items()
    ]
    return "\n".join(lines) + "\n"
