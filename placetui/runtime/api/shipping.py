"""Sending a program's own classes to the nodes along with the actors that are made of them."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Any

from placetui.runtime.gcs.driver import ship_by_value


def ship_class(made: type) -> None:
    """Send a class along as it is here, with those bases of it that are not installed either.

    What is installed is there on every node. A class that cannot be sent, say for a lock in its module, is left to be
    imported there.
    """
    from ray.cloudpickle import cloudpickle

    inner: Any = cloudpickle
    installed = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")})
    modules = {sys.modules.get(base.__module__) for base in made.__mro__}
    own = [one for one in modules if one and not _is_installed(one, installed)]
    ship_by_value(*own)
    try:
        inner.dumps(made)
    except Exception:
        for module in own:
            inner.unregister_pickle_by_value(module)


def _is_installed(module: Any, places: tuple[str, ...]) -> bool:
    path = getattr(module, "__file__", None)
    # Without a file it is built in; `__main__` is sent by value anyway.
    return path is None or module.__name__ == "__main__" or os.path.abspath(path).startswith(places)
