"""Addresses of nodes in their numeric order."""

from __future__ import annotations

from collections.abc import Callable


def resolve_ipv4(host: str) -> str:
    """The IPv4 address of a host name; raises `OSError` when there is none."""
    import socket

    return socket.gethostbyname(host)


def address_key(node: str, resolve: Callable[[str], str] = resolve_ipv4) -> list[int]:
    """The parts of an IPv4 address, looked up for a host name; the characters of anything else."""
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
