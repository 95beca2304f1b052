"""Importing Ray, which threads must not do at the same time.

A module of Ray's whose package is still being imported by another thread does not wait for it: both see modules that
are half imported, fail, and leave an interpreter in which every later import fails, too.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from typing import Any

_LOCK = threading.RLock()


def import_ray(module: str = "ray") -> Any:
    """Ray, or a module of it, imported completely; an ImportError after which it can be tried again."""
    with _LOCK:
        try:
            ray = import_module("ray")
        except BaseException:
            for name in [name for name in sys.modules if name.partition(".")[0] == "ray"]:
                # Modules that were complete belong to the package that failed, and a new one would not know them.
                del sys.modules[name]
            raise
        return ray if module == "ray" else import_module(module)
