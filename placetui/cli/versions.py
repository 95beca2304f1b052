"""The versions that matter, from what is installed: nothing is imported for it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from placetui import __version__

PACKAGES = ("textual", "ray", "nvidia-ml-py", "pyyaml")
"""Those whose version changes what placetui does, by their names in the package index."""


def installed(package: str) -> str | None:
    """Its version; None if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def lines() -> list[str]:
    """Our own first, then the others."""
    others = [f"{package} {installed(package) or 'not installed'}" for package in PACKAGES]
    return [f"placetui {__version__}", f"python {platform.python_version()}", *others]
