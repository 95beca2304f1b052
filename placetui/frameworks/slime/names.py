"""Names of all arguments, so that a mistyped one can be told from one that does not change a placement."""

from __future__ import annotations

from importlib.resources import files

PREFIXES = ("sglang_", "router_")
"""Families of arguments: those of SGLang's server and of its router."""


def argument_names(*lists: str) -> frozenset[str]:
    """The names in these lists: `slime`, `earlier`, `megatron`, `miles`."""
    folder = files("placetui.frameworks.slime") / "argument_names"
    lines = [line for name in lists for line in (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()]
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
