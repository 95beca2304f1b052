"""Port: operations on a cluster besides watching it, whatever carries them out.

By kind, what the one who does it understands; `address` (`auto`, `local`, `HOST:PORT`) goes with each of them:

| kind | asks for | steps told on the way | result |
|---|---|---|---|
| `up` | a launch; see `placetui up --json` | as there; one with `question` waits for `answer` | `job` |
| `ps` | the jobs | | `address`, `jobs` as in `placetui ps --json`, `troubles` by job |
| `job` | all about `job` | | `job` as in `ps`, `plan`, `nodes`, `ranks` |
| `down` | the end of `job`; with `look` only what it is | | `actors` and `groups` that ended; `job` as in `ps` |
| `call` | `method` on all ranks of `component` of `job` | `result` for each rank | `results`, `failed`, `waiting` |
| `logs` | the last `lines` of ranks of `component` of `job`, and `follow` | `lines`, `rank`, `note` | `ranks` |
| `stack` | where `rank` of `component` of `job` is | | `text`, and what it was read `by` |
| `kill` | the end of `rank` of `component` of `job`, as in a crash | | `rank` |
| `restart` | a new start of that rank | | `rank` |
| `preflight` | whether the file's framework would get what it asks for | | as `placetui preflight --json` |
| `submit` | `command` through Ray Jobs, as `job` | `submit`, `ranks` | `status`, `groups`, `message` |
| `pending` | what waits for resources, and why | | as `placetui pending --json` |
| `versions` | Ray here and on the cluster, for `placetui doctor` | | `ray`, `cluster`, `problem`, `hint`, `notice` |

`job` gives for each rank its state (`observe.model.RankState`) and its `actor_id`. `call` takes `args`, a list or a
mapping of names, and waits `patience` seconds (60); a `result` has `component`, `rank` and `value`, or `error` and
`traceback`. Keys of `results` and `failed` are ranks as text, in order.

`logs` takes one `rank`, some `ranks` or none for all, and with `grep` only lines that match it; with `follow` it goes
with them until they are dead. A step `lines` has the `component`, the `rank`, the `stream` (`out` or `err`) and its new
`lines`; a step `rank` says that the state has changed, a `note` that a rank cannot be read. `kill` with `no_restart` is
for good; `restart` waits `patience` seconds (120). A result `rank` is its state.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from placetui.placement.wording import listing

READ_ONLY = frozenset({"ps", "job", "logs", "stack", "preflight", "pending", "versions", "clusters"})
INSTALL_RAY = "install the version that the cluster runs: pip install 'ray==VERSION'"
"""What to do without Ray, or with another one."""

AUTO = "auto"
"""As an address: RAY_ADDRESS, or the one cluster of this machine."""

LOCAL = "local"
"""As an address: an embedded cluster."""

FOREVER = 10 * 365 * 86_400.0
"""Seconds, for requests that run until they are cancelled."""

SPARE = 3_600.0 + 600.0
"""Seconds of an `up` besides its own: for a person to answer, and for connecting."""

JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def may_still_run(silent: Iterable[Mapping[str, Any]]) -> list[str]:
    """Of a job that was stopped, what may be left on nodes that do not answer: a sentence for each node."""
    return [
        f"{one['node']} does not answer: {listing(one['ranks']) or 'something of it'} may still run there"
        for one in silent
    ]


def job_name(file: str) -> str:
    """What the job of a file is called, unless somebody wants another name."""
    stem = os.path.basename(file).partition(".")[0]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:100] or "job"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no result."""

    message: str
    hint: str = ""
    interrupted: bool = False
    """Whether it ended on request."""

    details: Mapping[str, Any] = field(default_factory=dict)
    """The same, machine-readable, such as `component`, `rank`, `traceback`, `moved`; `lost` if its end is unknown."""


class Reporter(Protocol):
    """One who waits for an operation. Called from another thread: take the value, return at once, raise nothing."""

    def told(self, step: Mapping[str, Any]) -> None:
        """Report a step."""

    def finished(self, outcome: Mapping[str, Any] | Failure) -> None:
        """It is over; called once, and nothing after it."""


class Operation(Protocol):
    """One that is in progress. No call here waits."""

    def interrupt(self) -> None:
        """Stop it and undo what it did; `finished` tells when that is done."""

    def answer(self, value: Any) -> None:
        """Answer the question that it asked last."""


class Operations(Protocol):
    """Does what is requested. No call here waits."""

    @property
    def refusal(self) -> str:
        """Why nothing may be changed; empty if it may."""

    def begin(self, kind: str, reporter: Reporter, *, timeout: float = 60.0, **body: Any) -> Operation:
        """Begin something of a kind above; after `timeout` seconds it has failed."""


class Refusing:
    """Operations of which those that would change something are refused: read-only is a capability."""

    def __init__(self, others: Operations, refusal: str) -> None:
        self._others = others
        self.refusal = refusal

    def begin(self, kind: str, reporter: Reporter, *, timeout: float = 60.0, **body: Any) -> Operation:
        """As asked if it changes nothing; else `reporter` hears at once that it is refused."""
        if kind in READ_ONLY or body.get("dry_run") or (kind == "down" and body.get("look")):
            return self._others.begin(kind, reporter, timeout=timeout, **body)
        reporter.finished(Failure(self.refusal, hint="start placetui with --write"))
        return Nothing()


class Nothing:
    """An operation that is over."""

    def interrupt(self) -> None:
        """There is nothing to stop."""

    def answer(self, value: Any) -> None:
        """There was no question."""


class NoAddress(ValueError):
    """Something that is no address; the message continues after “it is”."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def split_address(text: str) -> tuple[str, int]:
    """Host, without the brackets of IPv6, and port of a `HOST:PORT`; else `NoAddress`."""
    if text.startswith("ray://"):
        raise NoAddress("an address of Ray's client server", "name the head itself, as in --address HOST:6379")
    host, _, port = text.rpartition(":")
    bare = not (host.startswith("[") and host.endswith("]"))
    host = host if bare else host[1:-1]
    # Digits of other scripts are no port.
    is_port = port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if bare and host.count(":") > 1 and is_port:
        raise NoAddress("not HOST:PORT", f"put brackets around an IPv6 address: [{host}]:{port}")
    if not (host and is_port) or any(sign in "/[]" or sign.isspace() for sign in host) or (bare and ":" in host):
        raise NoAddress("not HOST:PORT", "write for example 10.0.0.1:6379")
    return host, int(port)


def this_user() -> str:
    """Name of the user who runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # A user without a name, as in a container.
        return str(os.getuid())


def this_owner() -> str:
    """Who runs this process, and where."""
    return f"{this_user()}@{os.uname().nodename}"


def is_other(owner: str) -> bool:
    """Whether somebody else started a job; a job without a known owner is nobody else's."""
    return owner.partition("@")[0] not in ("", this_user())
