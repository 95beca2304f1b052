"""Ports that a file fixes are tried before a job starts."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from placetui.frameworks.demand import PortDemand
from placetui.frameworks.slime.ports import fixed_ports
from placetui.placement.config.reader import Reader
from placetui.placement.problems import Problems
from placetui.runtime.scheduling.preflight import port_notes


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"sglang-router-port": 30000}, [PortDemand(30000, "sglang_router_port")]),
        (
            {"sglang_router_port": 30000, "sglang_router_ip": "10.0.0.9"},
            [PortDemand(30000, "sglang_router_port", "10.0.0.9", serves=True)],
        ),
        (
            {"rollout_external_engine_addrs": "http://a:1 [::1]:2 nothing"},
            [
                PortDemand(1, "rollout_external_engine_addrs", "a", serves=True),
                PortDemand(2, "rollout_external_engine_addrs", "::1", serves=True),
            ],
        ),
        ({"colocate": True, "sglang_router_port": "many"}, []),
    ],
)
def test_slime_fixes_the_ports_of_routers_and_external_engines(
    section: dict[str, Any], expected: list[PortDemand]
) -> None:
    assert fixed_ports(Reader({"slime": section}, Problems())) == expected


def test_a_port_that_is_taken_and_a_server_that_is_not_there_are_noted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        here = {"node0": "127.0.0.1"}
        (note,) = port_notes([PortDemand(port, "sglang_router_port")], here)
        assert note.message == f"port {port} (sglang_router_port) is in use on node0"
        assert port_notes([PortDemand(port, "engine", "127.0.0.1", serves=True)], here) == []
    assert port_notes([PortDemand(port, "sglang_router_port")], here) == []
    (note,) = port_notes([PortDemand(port, "engine", "127.0.0.1", serves=True)], here)
    assert note.message == f"nothing listens on 127.0.0.1:{port} (engine)"
