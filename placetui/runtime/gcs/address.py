"""Finding a cluster, and making sure that it is one we can talk to: quickly, and with a sentence if not."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from placetui.bridge.work import Work
from placetui.observe.operations import AUTO, LOCAL, NoAddress, split_address
from placetui.placement.wording import listing
from placetui.runtime.errors import ClusterError, ClusterLost, NoCluster, NotAllowed, NothingFound, NotReady, Silent
from placetui.runtime.gcs.client import Head, find_clusters
from placetui.runtime.gcs.driver import is_here
from placetui.runtime.policy import DEFAULT

T = TypeVar("T")

DEFAULT_PORT = 6379


def resolve_address(text: str, environment: Mapping[str, str] | None = None) -> str:
    """The `HOST:PORT` that is meant; `NothingFound` if nobody named one, and there is none."""
    environment = os.environ if environment is None else environment
    if text != AUTO:
        return check_address(behind_url(text, "the address is "))
    named = environment.get("RAY_ADDRESS", "")
    if named == LOCAL:
        # As Ray has it: no cluster that happens to be there.
        return choose([])
    if named and named != AUTO:
        return check_address(behind_url(named, "RAY_ADDRESS is "), "RAY_ADDRESS is ")
    return choose(find_clusters())


def behind_url(text: str, prefix: str) -> str:
    """The head behind the address of a dashboard (`http://`) or of a client server (`ray://`); others as they are."""
    url = urlsplit(text) if "://" in text else None
    if url is None or url.scheme not in ("http", "https", "ray"):
        return text
    host = url.hostname or ""
    with suppress(OSError, NotReady):
        # Of a head on this machine its port is known, of another one it is usually Ray's default.
        number = socket.gethostbyname(host)
        here = [one for one in find_clusters() if is_here(number) and is_here(split_address(one)[0])]
        if len(here) == 1:
            return here[0]
        if not here:
            socket.create_connection((number, DEFAULT_PORT), timeout=DEFAULT.connect).close()
            return f"{host}:{DEFAULT_PORT}"
    what = "of Ray's client server" if url.scheme == "ray" else "of a dashboard"
    raise NoCluster(
        f"{prefix}`{text}`, the address {what}, and the head behind it was not found",
        hint=f"give the head itself: --address {host or 'HOST'}:{DEFAULT_PORT}, or the port that it was started with",
    )


def choose(found: Sequence[str]) -> str:
    """The one cluster of this machine."""
    if not found:
        raise NothingFound(
            "no Ray cluster was found on this machine",
            hint="name one with --address HOST:PORT, or start one with `placetui up FILE --address local`",
        )
    if len(found) > 1:
        raise NoCluster(
            f"there are {len(found)} Ray clusters on this machine: {listing(found)}",
            hint="choose one with --address HOST:PORT, or with RAY_ADDRESS",
        )
    return found[0]


def check_address(text: str, prefix: str = "the address is ") -> str:
    """The address, if it is written as one."""
    try:
        split_address(text)
    except NoAddress as problem:
        raise NoCluster(f"{prefix}`{text}`, which is {problem}", hint=problem.hint) from None
    return text


def open_head(address: str) -> Head:
    """Talk to a head, having seen that there is one; `NoCluster` if there is not."""
    host, port = split_address(address)
    try:
        socket.create_connection((host, port), timeout=DEFAULT.connect).close()
    except socket.gaierror:
        raise NoCluster(f"there is no host `{host}`", hint="check --address") from None
    except (TimeoutError, ConnectionRefusedError, OSError) as problem:
        said = "nothing listens" if isinstance(problem, ConnectionRefusedError) else "nothing responds"
        raise NoCluster(f"{said} at {address}", hint="check --address, and whether the head runs") from None
    head = Head(address)
    try:
        _check_answer(head)
    except BaseException:
        head.close()
        raise
    return head


class LastHead:
    """Asks clusters, and stays connected to the last: a viewer asks once a second."""

    def __init__(self) -> None:
        self._asked = ""
        self._head: Head | None = None
        self._lock = threading.Lock()

    def ask(self, address: str, question: Callable[[Head], T]) -> T:
        """The answer of the head at an address; after an error the next question connects again."""
        with self._lock:
            if self._head is None or address != self._asked:
                self.close()
                self._head, self._asked = open_head(resolve_address(address)), address
            try:
                return question(self._head)
            except ClusterError:
                self.close()
                raise

    def answering(
        self, question: Callable[[Head], Mapping[str, Any]]
    ) -> Callable[[Mapping[str, Any], Work], Mapping[str, Any]]:
        """The question as a job of the child: about the cluster that a request names."""
        return lambda body, work: self.ask(str(body["address"]), question)

    def close(self) -> None:
        if self._head:
            self._head.close()
        self._head = None


def _check_answer(head: Head) -> None:
    try:
        nodes = head.nodes()
    except NotAllowed:
        raise
    except Silent as problem:
        raise NoCluster(
            f"the server at {head.address} accepts connections but does not respond",
            hint="if it is the head of a cluster, its gcs_server hangs or is overloaded",
        ) from problem
    except ClusterLost as problem:
        message, hint = _other_listener(head.address, os.environ)
        raise NoCluster(message, hint=hint) from problem
    if not nodes:
        raise NoCluster(f"the cluster at {head.address} has no node that is alive")


def _other_listener(address: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """What to say about something that listens but speaks differently: TLS on one side only looks like that."""
    ours = environment.get("RAY_USE_TLS", "0").lower() in ("1", "true")
    theirs = _speaks_tls(address)
    if theirs and not ours:
        return (
            f"the server at {address} uses TLS, and RAY_USE_TLS is not set here",
            "set RAY_USE_TLS=1, RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT as on the cluster's nodes",
        )
    if theirs:
        return (
            f"the server at {address} does not accept the certificates of RAY_TLS_SERVER_CERT and RAY_TLS_CA_CERT",
            "use files that the same authority has signed as those of the cluster's nodes",
        )
    if ours:
        return f"RAY_USE_TLS is set, but the server at {address} does not use TLS", "unset RAY_USE_TLS"
    return (
        f"the server at {address} is not the head of a Ray cluster",
        "use the head's own port, by default 6379, not that of the dashboard or the client server",
    )


def _speaks_tls(address: str) -> bool:
    """Whether it answers a greeting of TLS; its certificate is not checked."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(split_address(address), timeout=1.0) as plain:
            context.wrap_socket(plain).close()
    except ssl.SSLError as problem:
        # It wants a certificate of ours: only one that speaks TLS does.
        return "ALERT" in str(problem.reason or "")
    except OSError:
        return False
    return True
