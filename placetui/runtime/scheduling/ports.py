"""Whether ports that a job needs are free, and servers that it needs are there: a connection is tried, and closed."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from placetui.frameworks.demand import PortDemand
from placetui.frameworks.preflight import Note
from placetui.placement.wording import listing

_PATIENCE = 0.5
"""Seconds that a host has to answer."""

_MOST_PROBES = 64
"""Hosts of which a port is tried; the job chooses one of them."""


def port_notes(ports: Sequence[PortDemand], nodes: Mapping[str, str]) -> list[Note]:
    """What is known of ports that a file fixes before its job starts; `nodes` are addresses by title."""
    probes = [
        (one, title, address)
        for one in ports
        for title, address in ([(one.host, one.host)] if one.host else list(nodes.items())[:_MOST_PROBES])
    ]
    if not probes:
        return []
    with ThreadPoolExecutor(max_workers=32) as pool:
        listens = list(pool.map(lambda probe: _listens(probe[2], probe[0].port), probes))
    notes: list[Note] = []
    for port in ports:
        found = [(title, there) for (one, title, _), there in zip(probes, listens, strict=True) if one is port]
        taken = [title for title, there in found if there]
        if port.serves and not taken:
            message = f"nothing listens on {port.host}:{port.port} ({port.setting})"
            notes.append(Note(message, "start it first, or correct the address"))
        elif taken and not port.serves:
            message = f"port {port.port} ({port.setting}) is in use on {listing(taken, 4)}"
            notes.append(Note(message, "end what an earlier run left there, or choose another port"))
    return notes


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _PATIENCE):
            return True
    except (OSError, UnicodeError):
        return False
