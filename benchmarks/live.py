"""What it costs to watch the GPUs of a node, on the stand-in for NVIDIA's library (needs gcc).

python benchmarks/live.py [--repeat N] [--seconds S] [--nodes N] [--only who|ray|screen]

First CPU and NVML calls per look at eight busy GPUs, against nvitop and gpustat in processes of the same kind; each of
ours counts as a second, so that what is read every five seconds has its part in it. Then the process that reads the
GPUs for `placetui top`, at 1 Hz, and what reads from it. The stand-in answers in a microsecond or two: these are the
costs of the readers, and the calls tell what the driver would add.

Then a Ray cluster of four nodes on this machine: how long an observation of all of it takes, also with a node whose
driver hangs and with a sampler that is stopped, what is asked of the head for it, and what a sampler costs at 1 Hz.

Last, simulated clusters: the dashboard itself at 1 Hz, its observations through the pipe and onto the screen; and with
three ranks on each GPU who is on which GPU, the drift from the plan, a recording.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from terminal import CountingDriver, drawn  # noqa: E402

from placetui.bridge.client import Bridge  # noqa: E402
from placetui.bridge.process import NVML_CHILD, child_command  # noqa: E402
from placetui.bridge.source import nvml_source, simulated_source  # noqa: E402
from placetui.cli.feed import Feed  # noqa: E402
from placetui.frameworks.planner import resolve  # noqa: E402
from placetui.observe.attribution import (  # noqa: E402
    ActorFact,
    Attribution,
    NodeFacts,
    ProcessFact,
)
from placetui.observe.drift import DriftWatch  # noqa: E402
from placetui.observe.model import Claim, NodeSample, Observation, ProcessSample, RankState  # noqa: E402
from placetui.observe.ports import NoObservation  # noqa: E402
from placetui.observe.recording.reader import Recording  # noqa: E402
from placetui.observe.recording.writer import Recorder  # noqa: E402
from placetui.observe.simulation import (  # noqa: E402
    Simulation,
    SimulationOptions,
    layout_of,
)
from placetui.placement.topology import Node  # noqa: E402
from tests.telemetry.standin import StandIn, build  # noqa: E402

if TYPE_CHECKING:
    from placetui.runtime.watch.observer import RayObserver

GPUS = 8
PROCESSES = 2
"""On each GPU."""

BUSY = f"[gpu 0-{GPUS - 1}]\nused = 20G\nutil = 90\n"

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


def ray_cluster(seconds: float, directory: Path) -> None:
    """Four nodes with eight GPUs each."""
    from placetui.runtime.watch.observer import RayObserver
    from tests.runtime.conftest import node, running_cluster
    from tests.runtime.watching import OCCUPY, all_read

    library = build(directory)
    drivers = []
    for number in range(4):
        home = directory / f"node{number}"
        home.mkdir()
        drivers.append(StandIn(lambda _: library, home))
        drivers[-1].configure(BUSY)
    with running_cluster([node(GPUS, env_vars=one.variables) for one in drivers]) as cluster, cluster.head() as head:
        # Nodes in use are sampled.
        cluster.python(OCCUPY, *cluster.nodes)
        observer = RayObserver({"address": cluster.address})
        began = time.monotonic()
        while not (seen := observe(observer)[1]) or not all_read(seen):
            time.sleep(0.05)
        print(f"\na Ray cluster of 4 nodes: all read {time.monotonic() - began:.1f} s after the first look")
        pids = [one.pid for one in head.living_actors() if one.kind == "PlacetuiSampler"]
        print(f"{'':26} {'median ms':>10} {'longest':>8} {'CPU ms':>8} {'calls to the head':>18}   fresh at least")
        report("all four answer", observer, 20)
        drivers[0].configure("hang = nvmlDeviceGetMemoryInfo_v2\n")
        report("one driver hangs", observer, 8)
        drivers[0].configure(BUSY)
        os.kill(pids[0], signal.SIGSTOP)
        report("one sampler is stopped", observer, 8)
        os.kill(pids[0], signal.SIGCONT)
        before, passed = [cpu_seconds(pid) for pid in pids], time.monotonic()
        own = time.process_time()
        while time.monotonic() < passed + seconds:
            observe(observer)
            time.sleep(1.0)
        passed = time.monotonic() - passed
        cost = [100 * (cpu_seconds(pid) - then) / passed for pid, then in zip(pids, before, strict=True)]
        verdict = "yes" if max(cost) <= TARGET_PERCENT else "NO"
        print(f"at 1 Hz for {passed:.0f} s, percent of a core: sampler {statistics.mean(cost):.2f}", end="")
        print(f" (worst {max(cost):.2f})   at most {TARGET_PERCENT}: {verdict}")
        print(f"  the process that asks all four {100 * (time.process_time() - own) / passed:.2f}")
        observer.close()
        time.sleep(1.0)


def observe(observer: RayObserver) -> tuple[float, Observation | None]:
    """How long it took, and what was seen."""
    began = time.monotonic()
    try:
        return time.monotonic() - began, observer.observe(began + 1.0)
    except NoObservation:
        return time.monotonic() - began, None


def report(what: str, observer: RayObserver, looks: int) -> None:
    times, fresh, calls = [], [], []
    before = time.process_time()
    for _ in range(looks):
        head = observer._reader.head
        then, began = head.calls if head else 0, time.monotonic()
        seen = observer.observe(began + 1.0)
        times.append(time.monotonic() - began)
        calls.append(head.calls - then if head else 0)
        fresh.append(sum(not node.stale for node in seen.nodes))
        time.sleep(max(0.0, 0.5 - times[-1]))
    cpu = 1e3 * (time.process_time() - before) / looks
    middle, longest = 1e3 * statistics.median(times), 1e3 * max(times)
    print(f"  {what:24} {middle:10.1f} {longest:8.1f} {cpu:8.1f} {max(calls):18}   {min(fresh)} of 4")


async def screen(nodes: int, part: float | None, seconds: float, directory: Path) -> None:
    """The dashboard in front of a simulated cluster at 1 Hz."""
    from placetui.document import Document, PlanRequest, plan_document
    from placetui.tui.app import Dashboard, Options
    from placetui.tui.session import Session

    text = f"cluster:\n  num_nodes: {nodes}\n  component_placement:\n    actor: all\n    rollout: all\n"
    document, plan_request = Document(text, "large.yaml"), PlanRequest(nodes=(Node(GPUS),) * nodes)
    session = Session("large.yaml", document, plan_document(document, plan_request), (), plan_request)
    options = SimulationOptions(startup=1.0, rank_dies_every=None, node_stale_every=None, sampled=part)
    with Bridge(directory / "logs") as bridge:
        source_for = lambda plan: simulated_source(bridge, plan, options, 1.0)  # noqa: E731
        app = Dashboard(session, Options(source_for=source_for))
        app.driver_class = CountingDriver
        gc.set_threshold(50_000, 20, 50)
        async with app.run_test(size=(140, 44), headless=False) as pilot:
            await asyncio.sleep(5.0)
            drawn()
            before, began = time.process_time(), time.monotonic()
            await asyncio.sleep(seconds)
            passed, cpu = time.monotonic() - began, time.process_time() - before
            cells = drawn()[1] / passed
            await pilot.pause()
            assert app.main is not None
            assert app.main.picture.observation is not None
            assert app.main.picture.observation.time > time.time() - 5
    changed = "a tenth changes" if part else "all change"
    target = (
        (f"at most 100: {'yes' if 1e3 * cpu / passed <= 100 else 'NO'}")
        if part
        else (f"at most 10 %: {'yes' if cpu / passed <= 0.1 else 'NO'}")
    )
    per_second = f"{1e3 * cpu / passed:8.1f} ms CPU and {cells:.0f} cells per second"
    print(f"  {nodes:5} nodes x {GPUS}, {changed:16} {per_second}   {target}")


def timed(work: Callable[[], object]) -> float:
    """CPU milliseconds."""
    before = time.process_time()
    work()
    return 1e3 * (time.process_time() - before)


def anonymous(node: NodeSample) -> NodeSample:
    """A node as NVML alone tells of it."""
    return replace(
        node,
        devices=tuple(
            replace(device, processes=tuple(ProcessSample(one.pid, one.memory) for one in device.processes))
            for device in node.devices
        ),
    )


def who(nodes: int, directory: Path) -> None:
    """Attribution, drift and recording of a whole cluster, all of it and with a tenth of the nodes changed."""
    placement = {"actor": "all", "rollout": "all", "reward": "all"}
    config = {"cluster": {"num_nodes": nodes, "component_placement": placement}}
    plan = resolve(config, nodes=[Node(gpus=GPUS)] * nodes)
    calm = SimulationOptions(startup=1.0, rank_dies_every=None, node_stale_every=None, sampled=1.0)
    simulation = Simulation(layout_of(plan), calm)
    simulation.step(0.0)
    first, second = simulation.step(2.0), simulation.step(3.0)
    states = list(first.all_ranks)
    actors = [
        ActorFact(
            state.node or 0,
            Claim(
                f"{place:032x}",
                f"demo/{state.component}:{state.rank}",
                state.pid or 0,
                state.component,
                state.rank,
                "demo",
                group="demo",
            ),
            reserved=dict.fromkeys(plan.components[state.component].placements[state.rank].local_hardware_ranks, 0.3),
            created=100.0,
        )
        for place, state in enumerate(states)
    ]
    facts = {
        node: NodeFacts({pid: ProcessFact(pid, 99.0, 1, pid, "ml", "ray::Worker.train") for pid in pids})
        for node, pids in _pids(states).items()
    }
    whole = replace(first, source="ray", nodes=tuple(map(anonymous, first.nodes)))
    tenth = replace(
        whole,
        time=3.0,
        nodes=tuple(
            anonymous(new) if new.rank % 10 == 0 else old for old, new in zip(whole.nodes, second.nodes, strict=True)
        ),
    )
    attribution, watch = Attribution(), DriftWatch(plan)
    named: list[Observation] = []
    found: list[object] = []
    recorder = Recorder(directory / "recording")
    gc.collect()
    gc.freeze()
    print(f"\n{nodes} nodes x {GPUS} GPUs x {len(placement)} processes, CPU ms:   all   a tenth changed")
    rows: list[tuple[str, Callable[[Observation], object]]] = [
        ("attribution", lambda seen: named.append(attribution.apply(seen, facts, actors))),
        ("drift", lambda _: found.extend(watch.update(named[-1]))),
        ("recording", lambda _: recorder.write(named[-1])),
    ]
    times = [[timed(lambda work=work, seen=seen: work(seen)) for _, work in rows] for seen in (whole, tenth)]  # type: ignore[misc]
    recorder.close()
    for (name, _), full, part in zip(rows, *times, strict=True):
        print(f"  {name:38} {full:10.1f} {part:10.1f}")
    recording = Recording(directory / "recording")
    recording.scan()
    print(f"  {'reading it again':38} {timed(lambda: recording.observation(0)):10.1f}", end=" ")
    print(f"{timed(lambda: recording.observation(1)):10.1f}")
    print(f"  drift found: {len(found)}; recorded {(directory / 'recording').stat().st_size / 1024:.0f} KiB")
    gc.unfreeze()


def _pids(states: list[RankState]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for state in states:
        found.setdefault(state.node or 0, []).append(state.pid or 0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--nodes", type=int, default=1024)
    parser.add_argument("--only", choices=["who", "ray", "screen"], help="only this part")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        directory = Path(name)
        if args.only:
            parts(args, directory, [args.only])
            return
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
        parts(args, directory, ["ray", "screen", "who"])


def parts(args: argparse.Namespace, directory: Path, names: list[str]) -> None:
    if "ray" in names:
        ray_cluster(args.seconds, directory)
    if "screen" in names:
        print("\nthe dashboard, observations through the pipe and onto the screen, at 1 Hz:")
        asyncio.run(screen(128, None, args.seconds, directory))
        asyncio.run(screen(args.nodes, 0.1, args.seconds, directory))
    if "who" in names:
        who(args.nodes, directory)


if __name__ == "__main__":
    main()
