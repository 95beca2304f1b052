"""What the optional `placetui:` section of a file can say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placetui.placement.config.reader import Reader, Unresolved
from placetui.placement.problems import Path, Problems
from placetui.placement.shares import DEFAULT_TRAIN
from placetui.placement.topology import Node
from placetui.placement.wording import listing, quoted

SECTION = "placetui"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the `placetui:` section says."""

    nodes: tuple[Node, ...] | None = None
    mode: str | None = None
    shares: Mapping[str, int] = field(default_factory=dict)
    """By component, in 1/10000."""

    train: tuple[str, ...] = DEFAULT_TRAIN
    memory: Mapping[str, float] = field(default_factory=dict)
    """Fraction of a device's memory above which a rank is drift, by component."""

    launch: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def isolates(self, component: str, default: bool) -> bool:
        """Whether the ranks of a component see only the accelerators they own."""
        value = self.launch.get(component, {}).get("isolate_accelerator")
        return value if isinstance(value, bool) else default


def read_settings(reader: Reader, problems: Problems, modes: Sequence[str] = ()) -> Settings:
    """Read the section; what is wrong in it is reported and left out. `modes` are those that a file may name."""
    section = reader.get(SECTION, default=None)
    if section is None or isinstance(section, Unresolved):
        return Settings()
    from placetui.placement.config.settings_section import read_section  # many files have none

    return read_section(section, modes, problems)


def warn_of_unknown_components(settings: Settings, components: Sequence[str], problems: Problems) -> None:
    """Warn of names in the section that are not components of the file."""
    named: dict[str, Path] = {}
    for key in ("launch", "memory", "shares"):
        named.update({name: (SECTION, key, name) for name in getattr(settings, key)})
    if settings.train != DEFAULT_TRAIN:
        named.update(dict.fromkeys(settings.train, (SECTION, "train")))
    hint = f"the components are {listing(quoted(components))}" if components else ""
    for name, path in named.items():
        if name not in components:
            message = f"there is no component `{name}`"
            problems.at(path).warning("unknown_component", message, hint=hint, at_key=path[-1] == name)
