"""Calls to all ranks of a group at once: results by rank, and who failed how, without waiting for the slowest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from placetui.placement.environment import NAMESPACE, worker_name
from placetui.placement.wording import listing
from placetui.runtime.errors import ClusterError, RankFailure
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.policy import DEFAULT, ready

NAMED = 6


class GroupError(ClusterError):
    """A call that did not succeed on all ranks."""

    def __init__(
        self,
        call: str,
        failures: Mapping[int, RankFailure],
        waiting: Sequence[int] = (),
        results: Mapping[int, Any] | None = None,
        after: float | None = None,
    ) -> None:
        parts = [f"failed on {_by_reason(failures)}"] if failures else []
        if waiting:
            many = len(waiting) > 1
            said = (
                f"{'have' if many else 'has'} not answered" if after is None else f"did not answer within {after:g} s"
            )
            parts.append(f"{_ranks(waiting)} {said}")
        self.failures = dict(failures)
        self.waiting = tuple(waiting)
        """Ranks that had not answered."""

        self.results = dict(results or {})
        self._made_of = (call, failures, waiting, results, after)
        super().__init__(
            f"`{call}`{'' if failures else ':'} {'; '.join(parts)}",
            failed={str(rank): failure.reason for rank, failure in self.failures.items()},
            waiting=list(self.waiting),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of


class Pending:
    """A call that is under way on all ranks of a group. Nothing is lost by giving up to wait: ask again."""

    def __init__(self, ray: Any, call: str, references: Sequence[Any | RankFailure]) -> None:
        self._ray = ray
        self._call = call
        self._size = len(references)
        self._outcomes: dict[int, Any] = {}
        self._references: dict[Any, int] = {}
        for rank, reference in enumerate(references):
            if isinstance(reference, RankFailure):
                self._outcomes[rank] = reference
            else:
                self._references[reference] = rank

    @property
    def waiting(self) -> list[int]:
        """Ranks whose answer has not been seen."""
        return sorted(self._references.values())

    def wait(self, timeout: float | None = None, *, fail_fast: bool = False) -> list[Any]:
        """Results by rank.

        Args:
            timeout: seconds; None waits as long as it takes.
            fail_fast: give up on the first failure, whatever the others do.

        Raises:
            GroupError: a rank failed, or did not answer in time.
        """
        for _, outcome in self.as_completed(timeout):
            if fail_fast and isinstance(outcome, RankFailure):
                break
        failures = {rank: one for rank, one in self._outcomes.items() if isinstance(one, RankFailure)}
        if failures or self._references:
            good = {rank: one for rank, one in self._outcomes.items() if rank not in failures}
            after = None if fail_fast and failures else timeout
            raise GroupError(self._call, failures, self.waiting, good, after)
        return [self._outcomes[rank] for rank in range(self._size)]

    def as_completed(
        self, timeout: float | None = None, check: Callable[[], object] | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Ranks with their results, or with a `RankFailure`, as they come; those that came before at once.

        Args:
            timeout: seconds, after which it ends; `waiting` are the ranks that had not answered.
            check: called several times a second; what it raises ends the waiting.
        """
        pause = DEFAULT.poll
        deadline = None if timeout is None else time.monotonic() + timeout
        yield from list(self._outcomes.items())
        while self._references:
            left = pause if deadline is None else min(pause, max(deadline - time.monotonic(), 0))
            done = ready(self._ray, list(self._references), left)
            for reference in done:
                rank = self._references.pop(reference)
                self._outcomes[rank] = outcome = self._outcome(reference)
                yield rank, outcome
            if check:
                check()
            if not done and deadline is not None and time.monotonic() >= deadline:
                return

    def _outcome(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except Exception as problem:
            return RankFailure.of(problem)


class RankGroup:
    """Actors in rank order, called together."""

    def __init__(
        self,
        handles: Sequence[Any | None],
        name: str = "",
        *,
        direct: bool = False,
        gone: Mapping[int, str] | None = None,
    ) -> None:
        """Over actors that somebody started.

        Args:
            handles: Ray's handles by rank; None for a rank that is not there.
            name: of the group, for messages.
            direct: call the actors themselves, not the workers that they hold.
            gone: by rank, why one is not there.
        """
        self.handles = list(handles)
        self.name = name
        self._direct = direct
        self._gone = dict(gone or {})

    @property
    def world_size(self) -> int:
        return len(self.handles)

    def begin(self, method: str, /, *args: Any, **kwargs: Any) -> Pending:
        """Call a method on all ranks at once; what it returns is waited for, or not."""
        call = f"{self.name}.{method}" if self.name else method
        return Pending(
            import_ray(), call, [self._submit(rank, method, args, kwargs) for rank in range(self.world_size)]
        )

    def call(self, method: str, /, *args: Any, **kwargs: Any) -> list[Any]:
        """Call a method on all ranks at once; results by rank, or a `GroupError`."""
        return self.begin(method, *args, **kwargs).wait()

    def _submit(self, rank: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        handle = self.handles[rank]
        if handle is None:
            return RankFailure(self._gone.get(rank) or "it is not there")
        try:
            if not self._direct:
                return handle.call.remote(method, *args, **kwargs)
            return getattr(handle, method).remote(*args, **kwargs)
        except Exception as problem:
            # A method that there is not, or an argument that cannot be sent.
            return RankFailure.of(problem)


def rank_handle(ray: Any, job: str, component: str, rank: int) -> Any | None:
    """Ray's handle of a rank of a job; None if it is not there."""
    try:
        return ray.get_actor(worker_name(component, rank, job), namespace=NAMESPACE)
    except ValueError:
        return None


def _by_reason(failures: Mapping[int, RankFailure]) -> str:
    ranks: dict[str, list[int]] = {}
    for rank in sorted(failures):
        ranks.setdefault(failures[rank].reason, []).append(rank)
    return listing([f"{_ranks(some)} ({reason})" for reason, some in ranks.items()], NAMED)


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {listing(ranks, NAMED)}"
