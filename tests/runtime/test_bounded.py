"""How much is asked of a head: so many calls and rows for each operation, whatever else the head remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

NOISE = 12
"""Actors of somebody else, half of them dead."""

PROGRAM = """
import json, os, sys, time
import ray
from placetui.bridge.work import Work
from placetui.runtime.gcs import client
from placetui.runtime.gcs.address import LastHead
from placetui.runtime.jobs.rank import call
from placetui.runtime.jobs.logs import logs
from placetui.runtime.jobs.rank import kill, restart
from placetui.runtime.launch.up import up
from placetui.runtime.child import JOBS, list_jobs

address, file = sys.argv[1:3]
ray.init(address=address, log_to_driver=False)

@ray.remote(num_cpus=0)
class Noise:
    def ping(self):
        return 1

noise = [Noise.remote() for _ in range(int(sys.argv[3]))]
ray.get([one.ping.remote() for one in noise])
for one in noise[::2]:
    ray.kill(one)
ray.shutdown()

heads, opened = [], client.Head.__init__
def note(self, *args):
    opened(self, *args)
    heads.append(self)
client.Head.__init__ = note

ray.init(address=address, log_to_driver=False)
noise = [Noise.options(lifetime="detached", name=f"noise-{k}", namespace="other").remote() for k in range(4)]
ray.get([one.ping.remote() for one in noise])
ray.shutdown()

found = {}
def count(name, job, **body):
    heads.clear()
    begun = time.monotonic()
    job({"address": address, "job": "counted", **body}, Work(0, lambda kind, **body: None))
    found[name] = [sum(one.calls for one in heads), sum(one.rows for one in heads), time.monotonic() - begun]

rank = {"component": "actor", "rank": 1}
count("up", up, text=open(file).read(), source=file)
count("ps", LastHead().answering(list_jobs))
count("call", call, component="actor", method="save")
count("logs", logs, **rank)
count("restart", restart, **rank)
count("kill", kill, **rank)
ray.init(address=address, log_to_driver=False)
for k in range(4):
    ray.kill(ray.get_actor(f"noise-{k}", namespace="other"))
print(json.dumps(found), flush=True)
"""

RANKS = 3
NODES = 1

CALLS = {"ps": 11, "call": 8, "logs": 10, "kill": 18, "restart": 26}
"""At most, besides those while something is waited for: five looks a second, of three calls and two rows each. `ps`
also reads what jobs of other programs are known by."""


def test_calls_and_rows(one_node: TestCluster, write: Any) -> None:
    file = write("actor: 0-2", more="placetui:\n  launch: {actor: {num_cpus: 1}}\n")
    found = one_node.python(PROGRAM, one_node.address, file, str(NOISE))
    try:
        calls = {name: number for name, (number, _, _) in found.items()}
        rows = {name: number for name, (_, number, _) in found.items()}
        # Of a launch, what waits for ranks looks at the nodes once a second.
        seconds = found["up"][2]
        assert calls.pop("up") <= 45 + 2 * RANKS + 3 * seconds, found
        assert all(number <= CALLS[name] + 15 * found[name][2] for name, number in calls.items()), calls
        # Nothing of the dead noise; the living is read once by `up`, which must know who holds what.
        # `ps` reads the actors of programs that run or ended lately, whatever they are: these two have NOISE and 4.
        rows["ps"] -= NOISE + 4
        up = rows.pop("up")
        assert up <= NODES * (10 + seconds) + 2 * RANKS + 10, found
        assert all(number <= 3 * RANKS + NODES * (5 + 10 * found[name][2]) for name, number in rows.items()), found
    finally:
        assert one_node.down("counted").code == 0
    one_node.assert_clean()
