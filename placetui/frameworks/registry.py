"""The frameworks that are known, by name. Each is imported when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

from placetui.frameworks.base import Framework
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan
from placetui.placement.problems import Problems

_FRAMEWORKS: dict[str, str | Framework] = {
    "rlinf": "placetui.frameworks.rlinf.framework",
    "slime": "placetui.frameworks.slime.framework",
    "miles": "placetui.frameworks.miles.framework",
    "verl": "placetui.frameworks.verl.framework",
}
"""Home of each, in the order in which a file is offered to them; the module has a `FRAMEWORK`."""


def names() -> tuple[str, ...]:
    """Of all frameworks, in order."""
    return tuple(_FRAMEWORKS)


def framework(name: str) -> Framework:
    """A framework by its name; raises `KeyError`."""
    found = _FRAMEWORKS[name]
    if isinstance(found, str):
        found = cast(Framework, import_module(found).FRAMEWORK)
        _FRAMEWORKS[name] = found
    return found


def frameworks() -> Iterator[Framework]:
    """All frameworks, in order."""
    for name in names():
        yield framework(name)


def framework_of(plan: Plan) -> Framework:
    """The framework that a plan was made by; for one that does not say, the one that knows its mode."""
    return by_mode(plan.framework or plan.mode)


def by_mode(mode: str) -> Framework:
    """The framework of that name or with that mode; the first for one that nobody knows."""
    if mode in _FRAMEWORKS:
        return framework(mode)
    return next((one for one in frameworks() if mode in one.modes), framework(names()[0]))


def matching(config: Reader) -> list[Framework]:
    """The frameworks whose file this is: one, unless something is missing or too much."""
    named = config.get("placetui", "framework", default=None)
    if isinstance(named, str) and named in _FRAMEWORKS:
        return [framework(named)]
    return [one for one in frameworks() if one.matches(config)]


def framework_for(config: Mapping[str, Any]) -> Framework:
    """The framework of a configuration; where none claims it, the one whose section it has, else the first."""
    return choose(Reader(config, Problems()))


def choose(config: Reader) -> Framework:
    """As `framework_for`, for a configuration that is being read."""
    keys = config.keys()
    claimed = [one for one in frameworks() if one.sections[0] in keys]
    return next(iter([*matching(config), *claimed, *frameworks()]))


def modes() -> tuple[str, ...]:
    """Modes of all frameworks, each once."""
    return tuple(dict.fromkeys(mode for one in frameworks() for mode in one.modes))


@contextmanager
def registered(one: Framework) -> Iterator[None]:
    """Another framework for as long as the context lasts."""
    _FRAMEWORKS[one.name] = one
    try:
        yield
    finally:
        del _FRAMEWORKS[one.name]
