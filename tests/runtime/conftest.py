"""Real Ray clusters for tests: raylets in a process of their own, gone with it; and placetui's commands run on them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from placetui.bridge.client import Bridge
from placetui.bridge.process import child_command
from placetui.cli.cluster import RUNTIME, Runtime
from placetui.runtime.gcs.client import Head

STORES = (b"placetui", b"placetui-details", b"placetui-ranks", b"placetui-locks")

PROJECT = Path(__file__).parents[2]

_CLUSTER = """
import json, os, sys
answer = os.dup(1)
os.dup2(2, 1)
from ray.cluster_utils import Cluster
cluster = Cluster()
nodes = [
    cluster.add_node(**{"include_dashboard": False, "object_store_memory": 100 * 2**20, **one})
    for one in json.loads(sys.argv[1])
]
told = {"address": cluster.address, "nodes": [one.node_id for one in nodes], "processes": [
    {kind: [one.process.pid for one in processes] for kind, processes in node.all_processes.items()} for node in nodes
]}
os.write(answer, json.dumps(told).encode() + b"\\n")
for line in sys.stdin:
    # A head that persists its tables can be killed and started again.
    {"kill head": nodes[0].kill_gcs_server, "start head": nodes[0].start_gcs_server}[line.strip()]()
    os.write(answer, b"{}\\n")
cluster.shutdown()
"""

_PLACETUI = "import sys; sys.path.insert(0, sys.argv.pop(1)); from placetui.cli import main; sys.exit(main())"


@dataclass
class TestCluster:
    """A cluster that is there for tests."""

    __test__ = False

    address: str
    nodes: list[str]
    """Ids in the order in which they were started."""

    processes: list[dict[str, list[int]]]
    """By node, process ids by kind."""

    directory: Path
    commands: list[subprocess.Popen[str]] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None
    """That holds it."""

    @contextmanager
    def head_away(self, seconds: float) -> Iterator[None]:
        """Kill the head, and start it again after so many seconds; only one that persists its tables comes back."""
        self._ask("kill head")
        begun = time.monotonic()
        try:
            yield
        finally:
            time.sleep(max(0.0, begun + seconds - time.monotonic()))
            self._ask("start head")

    def _ask(self, what: str) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n".encode())
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"{}\n", (self.directory / "cluster.log").read_text()[-2000:]

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        home = str(self.directory)
        return {**kept, "HOME": home, "XDG_STATE_HOME": home, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "", **more}

    def start(self, *arguments: str | Path, address: bool = True, **environment: str) -> subprocess.Popen[str]:
        """Begin a command of placetui."""
        command = [sys.executable, "-c", _PLACETUI, str(PROJECT), *map(str, arguments)]
        process = subprocess.Popen(
            [*command, "--address", self.address] if address else command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(**environment),
            cwd=self.directory,
        )
        self.commands.append(process)
        return process

    def read_until(self, process: subprocess.Popen[str], step: str) -> list[dict[str, Any]]:
        """The JSON lines of a command up to a step."""
        assert process.stdout is not None
        found = []
        for line in process.stdout:
            found.append(json.loads(line))
            if found[-1]["step"] == step:
                return found
        raise AssertionError(f"it ended before {step}: {found[-1:]} {process.communicate()[1]}")

    def run(self, *arguments: str | Path, address: bool = True, **environment: str) -> Finished:
        """Run a command of placetui to its end."""
        process = self.start(*arguments, address=address, **environment)
        out, err = process.communicate(timeout=120)
        return Finished(process.returncode, out, err)

    def up(self, file: Path, *arguments: str, **environment: str) -> Finished:
        return self.run("up", file, "--yes", "--json", "--timeout", "60", *arguments, address=True, **environment)

    def python(self, code: str, *arguments: str | Path, **environment: str) -> dict[str, Any]:
        """Run a program of a user to its end, with RAY_ADDRESS set; the last JSON object that it prints."""
        program = self.directory / f"program-{len(self.commands)}.py"
        program.write_text(code)
        process = subprocess.Popen(
            [sys.executable, str(program), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(**{"RAY_ADDRESS": self.address, "PYTHONPATH": str(PROJECT), **environment}),
            cwd=self.directory,
        )
        self.commands.append(process)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        return last_object(out)

    def jobs(self) -> list[dict[str, Any]]:
        done = self.run("ps", "--json")
        assert done.code == 0, done.err
        found: list[dict[str, Any]] = json.loads(done.out)["jobs"]
        return found

    def down(self, job: str) -> Finished:
        return self.run("down", job, "--yes")

    @contextmanager
    def child(self, **more: str) -> Iterator[TestChild]:
        """The process with Ray in it, for one who asks it directly."""
        environment = [f"{name}={value}" for name, value in self.environment(**more).items()]
        bridge = Bridge(self.directory, ["/usr/bin/env", "-i", *environment, *child_command(RUNTIME)])
        bridge.start()
        with closing(bridge):
            yield TestChild(bridge)

    def clean_up(self) -> None:
        """End all jobs, and see that nothing is left."""
        from placetui.runtime.jobs.state import find_all_jobs
        from placetui.runtime.jobs.stop import stop

        with self.head() as head:
            for job in find_all_jobs(head):
                stop(head, job.record.job)
        self.assert_clean()

    def head(self) -> Any:
        return closing(Head(self.address))

    def assert_clean(self, seconds: float = 30.0) -> None:
        """Nothing of placetui is left, and everything is free again: at once, if the machine is not busy."""
        deadline = time.monotonic() + seconds
        while left := self.left_behind():
            assert time.monotonic() < deadline, f"left behind: {left}"
            time.sleep(0.05)

    def left_behind(self) -> list[str]:
        with self.head() as head:
            tables = replace(head.tables(), actors=head.living_actors())
            found = [f"record {key.decode()}" for name in STORES for key in head.keys(name)]
        found += [f"actor {one.name} {one.state}" for one in tables.actors if one.state != "DEAD"]
        found += [f"group {one.name or one.id} {one.state}" for one in tables.groups if one.state != "REMOVED"]
        for node in tables.nodes:
            for resource in ("GPU", "CPU"):
                if tables.free(node.id, resource) != node.units(resource):
                    found.append(f"{tables.free(node.id, resource)} of {node.units(resource)} {resource} on {node.id}")
        return found


class TestChild(Runtime):
    """The process with Ray in it, and what it holds."""

    __test__ = False

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._process = bridge

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def held(self) -> dict[str, int]:
        """How many threads and open files it has."""
        return {what: len(os.listdir(f"/proc/{self.pid}/{what}")) for what in ("task", "fd")}


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Its JSON lines; every line of stdout must be one."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def steps(self) -> list[str]:
        """Names of the steps, without repeats."""
        return list(dict.fromkeys(event["step"] for event in self.events))

    @property
    def last(self) -> dict[str, Any]:
        return self.events[-1]


@contextmanager
def running_cluster(nodes: Sequence[Mapping[str, Any]], **settings: str) -> Iterator[TestCluster]:
    """A cluster of these raylets (arguments of Ray's own `add_node`), with settings of Ray's environment."""
    # Short: the paths of Ray's sockets may have 107 characters.
    directory = Path(tempfile.mkdtemp(prefix="pt-test-"))
    (directory / "ray").mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment = {
        **kept,
        "HOME": str(directory),
        "RAY_TMPDIR": str(directory),
        "RAY_enable_worker_prestart": "0",
        "RAY_prestart_worker_first_driver": "0",
        **settings,
    }
    with (directory / "cluster.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _CLUSTER, json.dumps(list(nodes))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (directory / "cluster.log").read_text()
        cluster = TestCluster(**json.loads(line), directory=directory, process=process)
        yield cluster
        for command in cluster.commands:
            if command.poll() is None:
                command.kill()
            command.communicate()
    finally:
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()
        shutil.rmtree(directory, ignore_errors=True)


def last_object(out: str) -> dict[str, Any]:
    """The last JSON object of an output: in a program Ray prints between the lines, and into them, what it likes."""
    for line in reversed([line for line in out.splitlines() if '{"' in line]):
        with suppress(ValueError):
            found: dict[str, Any] = json.JSONDecoder().raw_decode(line, line.index('{"'))[0]
            return found
    raise AssertionError(f"no JSON in {out!r}")


def drivers(head: Head) -> int:
    """How many drivers were ever registered."""
    return len(head._call("GetAllJobInfo").job_info_list)


def node(gpus: int, cpus: int = 16, **more: Any) -> dict[str, Any]:
    return {"num_gpus": gpus, "num_cpus": cpus, **more}


@pytest.fixture(scope="module")
def one_node() -> Iterator[TestCluster]:
    """One node of four GPUs."""
    with running_cluster([node(4)]) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[TestCluster]:
    """Three nodes of two GPUs, which say their ranks in another order than they were started."""
    ranks = (2, 0, 1)
    with running_cluster([node(2, labels={"RLINF_NODE_RANK": str(rank)}) for rank in ranks]) as cluster:
        yield cluster


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file; by default for placements on one node."""

    def make(placement: str, name: str = "job.yaml", nodes: int = 1, more: str = "") -> Path:
        rules = "".join(f"    {rule.strip()}\n" for rule in placement.split(";"))
        text = f"cluster:\n  num_nodes: {nodes}\n  component_placement:\n{rules}{more}"
        path = tmp_path / name
        path.write_text(text)
        return path

    return make


@pytest.fixture
def start_cluster() -> Iterator[Callable[..., TestCluster]]:
    """Starts clusters for one test, which may do to them what it likes."""
    with ExitStack() as stack:
        yield lambda *nodes, **settings: stack.enter_context(
            running_cluster([node(**one) for one in nodes], **settings)
        )


@pytest.fixture
def nowhere(tmp_path: Path) -> TestCluster:
    """Commands without a cluster."""
    return TestCluster("", [], [], tmp_path)
