"""What runs in a rank's process around the user's worker, and in a probe's."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import pickle
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from placetui.runtime.remote.internals import gpu_slot, stored, visible_gpus
from placetui.runtime.remote.stacks import answer_with_stacks

FIRST_PORT = 20000
LAST_PORT = 32768
"""Above the ports that Ray gives to its workers, below those that systems give to connections by themselves."""

SPEC_NAMESPACE = "placetui-ranks"
"""Of the head's key-value store: what each rank was made from."""

LOCKED_TOGETHER = 16  # ports that share a lock
VALUE_LIMIT = 65_536  # characters of JSON that are sent back as a result
TEXT_LIMIT = 200  # characters that are left at least of a text that is too long
ITEM_LIMIT = 1_000  # entries of a collection that are inspected one by one
DEPTH_LIMIT = 8  # nesting depth to which collections are inspected
LAST_LINES = 12  # of a traceback that is sent back

TOLD_VARIABLES = ("CUDA_VISIBLE_DEVICES", "MASTER_ADDR", "MASTER_PORT", "PYTHONPATH")
"""What a rank tells of its environment, beside all that it was started with."""


ANSWERED = ("init", "train", "eval", "save", "update", "offload", "onload")
"""What a trainer or an engine is asked."""


class BuiltIn:
    """Holds its place, and answers what a trainer or an engine would be asked with the name of it."""

    def __init__(self, gpus: Sequence[str], variables: Collection[str]) -> None:
        self._gpus = list(gpus)
        self._variables = variables
        """Those of its environment that it may tell: others may be secret."""

    def report(self) -> dict[str, Any]:
        """Where it is, and what it was given."""
        return {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "gpu_ids": self._gpus,
            "environment": {name: os.environ[name] for name in sorted(self._variables) if name in os.environ},
        }

    def __getattr__(self, method: str) -> Callable[..., str]:
        if method not in ANSWERED:
            raise AttributeError(method)
        return lambda *args, **kwargs: method


class RankActor:
    """A rank's actor. The user's worker is built by `construct`, after rank 0 has told its address.

    In one that is made again it is built at once: there is no moment in which the actor lives without it.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._spec = dict(spec)
        self._worker: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()
        self._ports = PortLocks()
        engine: Mapping[str, Any] | None = self._spec.get("engine")
        if _restarted():
            # Made again by Ray, from what was known at first: the rest was kept.
            kept = stored(SPEC_NAMESPACE, self._spec.get("key") or "")
            made = pickle.loads(kept) if kept else {"spec": self._spec, "engine": {}}
            # Of the variables some are not stored; this process was started with all of them.
            environment = {**self._spec["environment"], **made["spec"]["environment"]}
            self._spec, engine = {**made["spec"], "environment": environment}, made["engine"]
        with suppress(OSError, ValueError):
            answer_with_stacks()
        _extend_path(self._spec.get("python_path") or [])
        os.environ.update(self._spec["environment"])
        if self._spec.get("master_port") is None:
            self._spec["master_addr"] = node_address()
            self._spec["master_port"] = find_port_blocks([1], self._ports)[0]
        os.environ["MASTER_ADDR"] = self._spec["master_addr"]
        os.environ["MASTER_PORT"] = str(self._spec["master_port"])
        if engine is not None:
            self._build(engine)

    def __repr__(self) -> str:
        # Ray puts it before what the process prints.
        return str(self._spec["environment"]["WORKER_NAME"])

    def begin(self) -> dict[str, Any]:
        """Its process, and where rank 0 is reached; answered before the user's code has run."""
        return {"pid": os.getpid(), **{name: self._spec[name] for name in ("master_addr", "master_port")}}

    def find_ports(self, sizes: Sequence[int]) -> list[int]:
        """First ports of free blocks of these sizes on this node, none overlapping."""
        return find_port_blocks(sizes, self._ports)

    def construct(self, engine: Mapping[str, Any]) -> dict[str, Any]:
        """Import and build the user's worker; what went wrong, if anything did."""
        try:
            self._build(engine)
        except BaseException as problem:
            return _failure(problem)
        return {}

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        result = getattr(self._worker, method)(*args, **kwargs)
        return self._awaited(result) if inspect.iscoroutine(result) else result

    def _awaited(self, coroutine: Any) -> Any:
        """What a coroutine gives; all of a worker's run in one loop, as they would in a process of their own."""
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="coroutines", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def answer(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Call a method for somebody who has none of the worker's modules: everything as plain values."""
        if not callable(getattr(self._worker, method, None)):
            return {"error": f"its {type(self._worker).__name__} has no method `{method}`", "traceback": []}
        try:
            return {"value": plain(self.call(method, *args, **kwargs))}
        except Exception as problem:
            return _failure(problem)

    def _build(self, engine: Mapping[str, Any]) -> None:
        name = self._spec.get("worker")
        if name is None:
            self._worker = BuiltIn(gpu_ids(), {*self._spec["environment"], *TOLD_VARIABLES})
            return
        if not isinstance(name, str):
            # A class that came with the spec.
            self._worker = name(*self._spec["args"], **self._spec["kwargs"])
            return
        module, _, path = name.partition(":")
        made: Any = importlib.import_module(module)
        for part in path.split("."):
            made = getattr(made, part)
        offered = {
            "rank": self._spec["rank"],
            "world_size": self._spec["world_size"],
            "master_addr": self._spec["master_addr"],
            "master_port": self._spec["master_port"],
        }
        self._worker = made(**{**wanted(made, offered, engine), **self._spec.get("kwargs", {})})


def plain(value: Any, limit: int = VALUE_LIMIT, depth: int = DEPTH_LIMIT) -> Any:
    """A value that JSON has as well; what it has not, or what is too long, as the text that Python shows of it."""
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) <= limit:
            # Not the value itself: JSON takes instances of classes that only the worker has, such as enumerations.
            return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        pass
    if isinstance(value, (Mapping, list, tuple)) and len(value) <= ITEM_LIMIT and depth:
        rest = limit // max(1, len(value)), depth - 1
        if isinstance(value, Mapping):
            return {str(name): plain(one, *rest) for name, one in value.items()}
        return [plain(one, *rest) for one in value]
    text = value if isinstance(value, str) else repr(value)
    limit = max(limit, TEXT_LIMIT)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _failure(problem: BaseException) -> dict[str, Any]:
    lines = traceback.format_exc().strip().splitlines()
    return {"error": f"{type(problem).__name__}: {problem}", "traceback": lines[-LAST_LINES:]}


def wanted(made: Any, offered: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """Of what is offered, the arguments that a worker class names; an engine with `**kwargs` gets all of its own."""
    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):
        return {}
    names = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    found = {name: value for name, value in {**offered, **engine}.items() if name in names}
    return {**engine, **found} if any(one.kind is one.VAR_KEYWORD for one in parameters) else found


class PortLocks:
    """Ports that this process may use: until it ends, no other rank on this machine is given them.

    A port that was found free is listened on only later, and another job may look for one meanwhile. The locks are
    names in Linux's abstract socket namespace, which belongs to the same network as the ports do and needs no cleaning.
    """

    def __init__(self) -> None:
        self._held: dict[int, socket.socket] = {}
        self.given: set[int] = set()
        """Ports that somebody was told to use."""

    def take(self, port: int) -> bool:
        """Whether the port is ours, by now, and not in use."""
        if port in self.given:
            return False
        number = port // LOCKED_TOGETHER
        if number not in self._held:
            lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                lock.bind(f"\0placetui-ports-{number}")
            except OSError:
                lock.close()
                return not sys.platform.startswith("linux")
            self._held[number] = lock
        return True

    def close(self) -> None:
        for lock in self._held.values():
            lock.close()


def find_port_blocks(
    sizes: Sequence[int], locks: PortLocks | None = None, first: int = FIRST_PORT, last: int = LAST_PORT
) -> list[int]:
    """First ports of blocks of consecutive free ports, in order, none overlapping."""
    found: list[int] = []
    cursor = first
    for size in sizes:
        start = cursor
        while start + size <= last:
            block = range(start + size - 1, start - 1, -1)
            taken = next((port for port in block if not port_is_free(port) or (locks and not locks.take(port))), None)
            if taken is None:
                break
            start = taken + 1
        else:
            raise RuntimeError(
                f"no {size} consecutive free ports from {cursor} to {last - 1} on {socket.gethostname()}"
            )
        found.append(start)
        cursor = start + size
        if locks:
            locks.given.update(range(start, cursor))
    return found


def port_is_free(port: int) -> bool:
    """Whether somebody could listen on it, on any address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # A port in the last moments of an old connection can be listened on, as servers do.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def node_ip_and_free_port(start_port: int = 10000, consecutive: int = 1) -> tuple[str, int]:
    """Address of the node that this runs on, and the first of this many consecutive free ports.

    Raises:
        RuntimeError: there are not so many up to 65535.
    """
    return node_address().strip("[]"), find_port_blocks([consecutive], first=start_port, last=65_536)[0]


def node_address() -> str:
    """Of this node, as Ray knows it."""
    import ray

    find: Any = ray.util.get_node_ip_address
    return str(find())


def gpu_ids() -> list[str]:
    """Physical ids of the GPUs that Ray gave to this process."""
    import ray

    found = ray.get_gpu_ids() or ray.get_runtime_context().get_accelerator_ids().get("NPU", [])
    return [str(one) for one in found]


def probe() -> dict[str, Any]:
    """In a bundle: which node, which GPU, and where that GPU stands among those that the node sees."""
    import ray

    ids = gpu_ids()
    visible, slot = visible_gpus(), gpu_slot()
    if slot is None:
        slot = visible.index(ids[0]) if visible and ids[0] in visible else int(ids[0])
    return {
        "node": ray.get_runtime_context().get_node_id(),
        "gpu": ids[0],
        "position": slot,
        "visible": visible and tuple(visible),
    }


def read_variable(name: str) -> str | None:
    """A variable of the node's environment."""
    return os.environ.get(name)


def _restarted() -> bool:
    import ray

    with warnings.catch_warnings():
        # Ray's own use of something that it deprecates; it would stand in every rank's log.
        warnings.simplefilter("ignore")
        return bool(ray.get_runtime_context().was_current_actor_reconstructed)


def _extend_path(entries: Sequence[str]) -> None:
    """The caller's PYTHONPATH, before the node's own."""
    new = [entry for entry in entries if entry not in sys.path]
    sys.path[:0] = new
    if entries:
        own = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry not in entries]
        os.environ["PYTHONPATH"] = os.pathsep.join([*entries, *own])
