"""What it costs to look at a cluster once a second: CPU of the one who looks, and of the head that is asked.

Run: python benchmarks/inspect.py
"""

from __future__ import annotations

import sys

if __name__ != "__main__":
    # This folder comes first where a benchmark looks for modules: whoever wants Python's own `inspect` gets it.
    import os
    from importlib.util import module_from_spec, spec_from_file_location

    _spec = spec_from_file_location("inspect", os.path.join(os.path.dirname(os.__file__), "inspect.py"))
    sys.modules["inspect"] = module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["inspect"])
else:
    import os
    import tempfile
    import time
    from pathlib import Path
    from queue import SimpleQueue

    sys.path[0] = str(Path(__file__).parent.parent)

    from placetui.bridge.client import Bridge
    from placetui.bridge.process import child_command

    SECONDS = 20
    MOST_PERCENT = 2.0
    """Of one core, for either side."""

    FILE = """
cluster: {num_nodes: 2, component_placement: {"actor,rollout": 0-7}}
placetui: {topology: {nodes: 2, gpus_per_node: 4}}
"""


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def find_head(address: str) -> int:
    """Process id of the head, by the session that a raylet of this address is in."""
    commands = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands[int(path.parent.name)] = path.read_text().split("\0")
        except OSError:
            continue
    asked = f"--gcs-address={address}"
    sessions = {word for words in commands.values() if asked in words for word in words if "session-name=" in word}
    names = {session.partition("=")[2] for session in sessions}
    for pid, words in commands.items():
        if words[0].endswith("gcs_server") and any(word.partition("=")[2] in names for word in words if "=" in word):
            return pid
    raise SystemExit(f"no head of {address}")


def percent_of(pid: int, seconds: float, each_second) -> float:
    """CPU of a process, in percent of a core, while something is done once a second."""
    before, begun = cpu_seconds(pid), time.monotonic()
    for number in range(round(seconds)):
        each_second()
        time.sleep(max(0.0, begun + number + 1 - time.monotonic()))
    return 100 * (cpu_seconds(pid) - before) / (time.monotonic() - begun)


def measure(launcher: Bridge, looker: Bridge) -> int:
    told: SimpleQueue = SimpleQueue()
    up = launcher.begin(
        "up", progress=told.put, timeout=1e6, text=FILE, source="bench.yaml", job="bench", address="local", deadline=300
    )
    up.future.add_done_callback(lambda _: told.put(None))
    address = ""
    while (message := told.get()) is not None and message.body["step"] != "ready":
        address = message.body.get("address", address)
    if message is None:
        raise SystemExit(f"the job did not come up: {up.future.exception()}")
    head = find_head(address)
    durations: list[float] = []

    def look() -> None:
        begun = time.perf_counter()
        looker.request("ps", timeout=10, address=address).result()
        durations.append(time.perf_counter() - begun)

    look()
    look()
    idle = percent_of(head, SECONDS / 2, lambda: None)
    asked = percent_of(head, SECONDS, look)
    client = percent_of(looker.pid, SECONDS, look)
    typical = sorted(durations[2:])[len(durations) // 2 - 1]
    print(f"16 actors on 2 nodes, one look a second for {SECONDS} s; percent of a core")
    print(f"  who looks   {client:5.2f} %   ({1000 * typical:.1f} ms for one look)")
    print(f"  the head    {asked:5.2f} %   (at rest {idle:.2f} %)")
    up.interrupt()
    up.future.exception(60)
    return int(max(client, asked - idle) > MOST_PERCENT)


def main() -> int:
    command = child_command("placetui.runtime.child")
    with tempfile.TemporaryDirectory() as logs:
        launcher, looker = (Bridge(Path(logs), command) for _ in range(2))
        with launcher, looker:
            launcher.start()
            looker.start()
            return measure(launcher, looker)


if __name__ == "__main__":
    sys.exit(main())
