"""What it costs to watch the GPUs of a node, on the stand-in for NVIDIA's library (needs gcc).

python benchmarks/live.py [--repeat N] [--seconds S]

First CPU and NVML calls per look at eight busy GPUs, against nvitop and gpustat in processes of the same kind; each of
ours counts as a second, so that what is read every five seconds has its part in it. Then the process that reads the
GPUs for `placetui top`, at 1 Hz, and what reads from it. The stand-in answers in a microsecond or two: these are the
costs of the readers, and the calls tell what the driver would add.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from placetui.bridge.client import Bridge  # noqa: E402
from placetui.bridge.process import NVML_CHILD, child_command  # noqa: E402
from placetui.bridge.source import nvml_source  # noqa: E402
from placetui.cli.feed import Feed  # noqa: E402
from tests.telemetry.standin import build  # noqa: E402

GPUS = 8
PROCESSES = 2
"""On each GPU."""

TARGET_RATIO = 1 / 3
"""Of nvitop's CPU."""

TARGET_PERCENT = 1.5
"""Of a core, per node in all."""

MEASURE = """
import json, sys, time
{setup}
def look():
{look}
for _ in range(3):
    look()
repeat = int(sys.argv[1])
times = []
for _ in range(repeat):
    before = time.process_time()
    look()
    times.append(time.process_time() - before)
print(json.dumps([sum(times) / repeat, sorted(times)[repeat // 2]]))
"""

READERS = {
    "placetui": (
        "placetui",
        "from placetui.telemetry.sampler import NodeSampler\n"
        "passed = 0.0\n"
        "sampler = NodeSampler(clock=lambda: time.monotonic() + passed)\n"
        "sampler.read(10)",
        "    global passed\n    passed += 1.0\n    sampler.read()",
    ),
    "nvitop, same values": (
        "nvitop",
        "from nvitop import Device\ndevices = Device.all()",
        "    for d in devices:\n"
        "        d.memory_info(), d.utilization_rates(), d.temperature(), d.power_usage()\n"
        "        for p in d.processes().values():\n"
        "            p.gpu_memory(), p.username(), p.command()",
    ),
    "nvitop, snapshots": ("nvitop", "from nvitop import take_snapshots", "    take_snapshots()"),
    "gpustat": ("gpustat", "import gpustat", "    gpustat.new_query()"),
}


def measure(setup: str, look: str, repeat: int, environment: dict[str, str], trace: Path) -> tuple[float, float, float]:
    """CPU seconds per look, mean and median, and NVML calls per look."""
    code = MEASURE.format(setup=setup, look=look)

    def run(looks: int, **more: str) -> list[float]:
        command = [sys.executable, "-c", code, str(looks)]
        done = subprocess.run(command, env={**environment, **more}, check=True, capture_output=True, text=True)
        return list(json.loads(done.stdout))

    mean, median = run(repeat)
    counts = []
    # Apart, since counting costs; the difference leaves out what is done once.
    for looks in (1, 11):
        trace.unlink(missing_ok=True)
        run(looks, NVML_STANDIN_TRACE=str(trace))
        counts.append(len(trace.read_text().splitlines()))
    return mean, median, (counts[1] - counts[0]) / 10


def compare(repeat: int, environment: dict[str, str], trace: Path) -> None:
    print(f"{'reader':22} {'CPU ms':>8} {'median':>8} {'calls':>7} {'placetui / it':>14}")
    own = 0.0
    for name, (module, setup, look) in READERS.items():
        if find_spec(module) is None:
            print(f"{name:22} {'not installed':>16}")
            continue
        # gpustat sleeps for most of a second each time.
        mean, median, calls = measure(setup, look, 5 if module == "gpustat" else repeat, environment, trace)
        own = own or mean
        verdict = ""
        if module == "nvitop":
            verdict = f"   at most {TARGET_RATIO:.2f}: {'yes' if own / mean <= TARGET_RATIO else 'NO'}"
        print(f"{name:22} {mean * 1e3:8.2f} {median * 1e3:8.2f} {calls:7.1f} {own / mean:14.2f}{verdict}")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(seconds: float, directory: Path, variables: dict[str, str]) -> None:
    """The process that reads, and the one that looks, at 1 Hz."""
    os.environ.update(variables)
    bridge = Bridge(directory / "logs", child_command(NVML_CHILD))
    with bridge, Feed(nvml_source(bridge)) as feed:
        while feed.latest() is None:
            feed.wait(1.0)
        assert bridge.pid
        before, own, began = cpu_seconds(bridge.pid), time.process_time(), time.monotonic()
        while time.monotonic() < began + seconds:
            feed.wait(1.0)
            feed.latest()
        passed = time.monotonic() - began
        reader = 100 * (cpu_seconds(bridge.pid) - before) / passed
        looker = 100 * (time.process_time() - own) / passed
    verdict = "yes" if reader <= TARGET_PERCENT else "NO"
    print(f"\nat 1 Hz for {passed:.0f} s, percent of a core (in steps of {100 / passed / 100:.2f}):")
    print(f"  reading the GPUs {reader:.2f}   at most {TARGET_PERCENT}: {verdict}")
    print(f"  looking at them  {looker:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        directory = Path(name)
        pids = []
        for _ in range(PROCESSES):
            process = subprocess.Popen(["sleep", "600"])
            running.callback(process.wait)
            running.callback(process.kill)
            pids.append(process.pid)
        node = directory / "node.conf"
        node.write_text(
            f"[gpu 0-{GPUS - 1}]\nutil = 90\n" + "".join(f"proc = {pid} 20G\n" for pid in pids), encoding="utf-8"
        )
        variables = {"LD_LIBRARY_PATH": str(build(directory)), "NVML_STANDIN": str(node)}
        compare(args.repeat, {**os.environ, **variables, "PYTHONPATH": str(ROOT)}, directory / "trace")
        watch(args.seconds, directory, variables)


if __name__ == "__main__":
    main()
