"""Launches and stops on one cluster, again and again: nothing stays behind, on the cluster or here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from placetui.runtime.remote.rank_actor import port_is_free

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = pytest.mark.ray

Write = Callable[..., Path]

LISTENER = """
import os, socket, threading
class Worker:
    def __init__(self, rank, master_port):
        if rank == 0:
            self.server = socket.create_server(("", master_port))
        self.master_port = master_port
    def port(self):
        return self.master_port
"""

WARM = 3
"""Rounds after which nothing may grow any more: until then Ray and Python load what they need."""


@pytest.mark.soak
@pytest.mark.parametrize("rounds", [10, 50])
def test_launches_and_stops_leave_nothing_behind(
    one_node: TestCluster, write: Write, tmp_path: Path, rounds: int
) -> None:
    (tmp_path / "listening.py").write_text(LISTENER)
    file = write("actor: 0-1", more="placetui:\n  launch: {actor: {worker: 'listening:Worker'}}\n")
    where: dict[str, Any] = {"address": one_node.address, "job": "soak"}
    ports: set[int] = set()
    counts: list[dict[str, int]] = []
    with one_node.child() as child:
        for _ in range(rounds):
            child.ask(
                "up",
                120,
                **where,
                text=file.read_text(),
                source=str(file),
                python_path=[str(tmp_path)],
            )
            ports.update(child.ask("call", 60, **where, component="actor", method="port")["results"].values())
            child.ask("down", 60, **where)
            one_node.assert_clean()
            counts.append(child.held())
    assert [port for port in ports if not port_is_free(port)] == []
    grown = {what: (counts[WARM - 1][what], number) for what, number in counts[-1].items()}
    # Ray itself leaves a thread behind with every driver: `up` and `call` each have one.
    most = 2 + 2 * (rounds - WARM)
    assert all(last <= first + most for first, last in grown.values()), grown
