"""Ports that a slime file fixes; slime looks for all others when it starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from placetui.frameworks.demand import PortDemand
from placetui.frameworks.slime.arguments import SECTION, argument_name, listed
from placetui.placement.config.reader import Reader

_ENGINES, _ROUTER_HOST, _ROUTER_PORT = "rollout_external_engine_addrs", "sglang_router_ip", "sglang_router_port"


def fixed_ports(config: Reader) -> list[PortDemand]:
    """The router's port, which must be free unless its host is given: then the router runs already. And engines that
    run elsewhere.
    """
    given = {argument_name(key): config.get(SECTION, key, default=None) for key in config.keys(SECTION)}
    found = [PortDemand(port, _ENGINES, host, serves=True) for host, port in _addresses(given.get(_ENGINES))]
    port, host = given.get(_ROUTER_PORT), given.get(_ROUTER_HOST)
    if isinstance(port, int) and 0 < port < 65536:
        found.append(PortDemand(port, _ROUTER_PORT, str(host or ""), serves=bool(host)))
    return found


def _addresses(given: Any) -> Iterator[tuple[str, int]]:
    for one in listed(given):
        host, _, port = one.removeprefix("http://").rstrip("/").rpartition(":")
        if host and port.isdecimal() and int(port) < 65536:
            yield host.strip("[]"), int(port)
