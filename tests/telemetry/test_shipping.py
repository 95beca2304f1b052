"""The sampler goes to nodes that have no placetui: all of it travels by value."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.telemetry.standin import ROOT, StandIn

SHIP = """
import sys
sys.path.insert(0, sys.argv[1])
import placetui
from ray import cloudpickle
from placetui.telemetry.sampler import NodeSampler
cloudpickle.register_pickle_by_value(placetui)
with open(sys.argv[2], "wb") as file:
    cloudpickle.dump(NodeSampler, file)
"""

LAND = """
import pickle, sys
sys.modules["placetui"] = None
with open(sys.argv[1], "rb") as file:
    sampler = pickle.load(file)()
node = sampler.read(10)
print(node.devices[3].memory_used)
"""


def test_it_reads_where_placetui_is_not_installed(standin: StandIn, tmp_path: Path) -> None:
    if find_spec("ray") is None:
        pytest.skip("Ray, whose pickle is used, is not installed")
    standin.configure("[gpu 3]\nused = 5000\n")
    crate = str(tmp_path / "sampler")
    environment = standin.environment
    del environment["PYTHONPATH"]
    run([sys.executable, "-c", SHIP, str(ROOT), crate], environment)
    assert run([sys.executable, "-c", LAND, crate], environment) == "5000\n"


def run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
