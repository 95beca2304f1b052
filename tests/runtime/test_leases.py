"""A sampler serves several viewers with one reading, and ends with the last of them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from placetui.runtime.remote import sampler
from placetui.runtime.remote.sampler import PlacetuiSampler
from tests.telemetry.standin import ROOT

LEASE = 1e9
"""Seconds: a sampler whose leases have run out ends its process, which here is that of the tests."""


class Counting:
    """A reader that counts its readings; its state is another one when told so."""

    def __init__(self, visible: Sequence[str] | None, binding: Callable[[], Any]) -> None:
        self.readings = 0
        self.state: dict[str, Any] | None = None

    def read(self) -> dict[str, Any] | None:
        self.readings += 1
        return self.state


def make() -> tuple[PlacetuiSampler, Counting]:
    made = PlacetuiSampler(Counting)
    reader = made._reader
    assert isinstance(reader, Counting)
    return made, reader


def test_one_reading_serves_all_viewers_and_each_state_is_sent_once() -> None:
    one, reader = make()
    assert one.read("a", 0, LEASE) == (0, None)
    reader.state = {"memory": 1}
    assert one.read("a", 0, LEASE) == (1, {"memory": 1})
    readings = reader.readings
    assert one.read("b", 0, LEASE) == (1, {"memory": 1})
    assert one.read("b", 1, LEASE) == (1, None)
    assert reader.readings == readings
    time.sleep(sampler.SHARED)
    reader.state = {"memory": 2}
    assert one.read("a", 1, LEASE) == (2, {"memory": 2})
    # A viewer that leaves takes nothing from the others.
    one.leave("b")
    assert one.read("a", 2, LEASE) == (2, None)


ALONE = """
import sys, time
from placetui.runtime.remote.sampler import PlacetuiSampler

class Reader:
    def __init__(self, visible, binding): pass
    def read(self): return {}

one = PlacetuiSampler(Reader)
one.read("a", 0, 1.0)
one.read("b", 0, 3.0)
began = time.monotonic()
while True:
    time.sleep(0.1)
    print(time.monotonic() - began, flush=True)
"""


def test_a_sampler_ends_when_the_last_lease_has_run_out() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0
    assert 2.5 < float(done.stdout.split()[-1]) < 10.0
