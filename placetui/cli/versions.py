"""The versions that matter, from what is installed: nothing is imported for it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from placetui import __version__

PACKAGES = ("textual", "ray", "nvidia-ml-py", "pyyaml")
"""Those whose version changes what placetui does, by their names in the package index."""


def installed(package: str) -> str | None:
    """Its version; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Our own first, then the others."""
    others = {package: installed(package) or "not installed" for package in PACKAGES}
    return {"placetui": __version__, "python": platform.python_version(), **others}
