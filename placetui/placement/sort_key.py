"""slime's stable order of bundles: by node address, then by GPU id."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

BundleKey: TypeAlias = tuple[list[int], int] | tuple[list[int], float, str]
"""Parts of the node's address, then the GPU id; ids that are no numbers come last, by text."""


def resolve_ipv4(host: str) -> str:
    """The IPv4 address of a host name; raises `OSError` when there is none."""
    import socket

    return socket.gethostbyname(host)


def sort_key(entry: tuple[int, str, int | str], resolve: Callable[[str], str] = resolve_ipv4) -> BundleKey:
    """The key by which slime orders `(bundle index, node, GPU id)`.

    Args:
        entry: What a probe learned of one bundle. The node is an address or a host name.
        resolve: Finds the IPv4 address of a host name. It is called for names only: never for
            addresses, neither IPv4 nor IPv6. Pass one that remembers when names are many.

    Returns:
        A key that compares with the key of any other entry.
    """
    _, node, gpu_id = entry
    parts = _node_parts(str(node), resolve)
    try:
        return parts, int(gpu_id)
    except (ValueError, TypeError, OverflowError):
        # UUIDs and MIG slices: slime itself would raise here.
        return parts, math.inf, str(gpu_id)


def _node_parts(node: str, resolve: Callable[[str], str]) -> list[int]:
    try:
        return _numbers(node)
    except ValueError:
        pass
    # No host name has a colon; the IPv4 resolver would refuse an IPv6 address.
    if ":" not in node:
        try:
            return _numbers(resolve(node))
        except (OSError, ValueError, TypeError):
            pass
    return [ord(character) for character in node]


def _numbers(address: str) -> list[int]:
    return [int(part) for part in address.split(".")]
