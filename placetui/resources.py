"""The files that come with placetui: themes and sample configurations.

In a wheel both folders lie inside the package; in a checkout they stand at its top, beside the package.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

Folder: TypeAlias = Literal["themes", "sample_configs"]


def folder(name: Folder) -> Path:
    """Where the shipped folder of this name is.

    Raises:
        FileNotFoundError: The installation is incomplete.
    """
    package = Path(str(files("placetui")))
    inside = package / name
    if inside.is_dir():
        return inside
    beside = package.parent / name
    # Without the check, a folder of the same name in site-packages would be taken for ours.
    if (package.parent / "pyproject.toml").is_file() and beside.is_dir():
        return beside
    raise FileNotFoundError(f"placetui's own folder {name!r} is neither at {inside} nor at {beside}")


def themes() -> list[Path]:
    """The shipped theme files, by name."""
    return sorted(folder("themes").glob("*.yaml"))


def samples() -> list[Path]:
    """The shipped sample configurations, by name."""
    return sorted(folder("sample_configs").glob("*.yaml"))
