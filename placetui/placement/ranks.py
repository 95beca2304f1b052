"""The rank grammar: `0-3,5`, `all`, and the `resources:processes` segments of a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from placetui.placement.problems import Problem, Span
from placetui.placement.wording import count

MOST_PROCESSES = 250_000
"""Processes of one component; far above any cluster, low enough to be placed in a second."""

MOST_RESOURCES = 1_000_000_000
"""Device numbers beyond this are wrong even when nobody knows how many there are."""

_FORMAT_HINT = "write a number, a range such as `0-7`, several of them with commas, or `all`"
_NO_DEVICES_HINT = "place on a group that has some, or on nodes: `node_group: node`"


class RankError(Exception):
    """The text does not follow the grammar; `problem` has a span but no path yet."""

    def __init__(self, rule: str, message: str, hint: str = "", span: Span | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(rule, message, hint=hint, span=span)


class Segment(NamedTuple):
    """One `resources:processes` piece of a rule."""

    resources: range
    processes: range
    span: Span
    """Where it stands in the rule's text."""


class _Rules(NamedTuple):
    """Which rule ids a grammar error gets, depending on what is counted."""

    noun: str
    reversed: str
    out_of_range: str


_PROCESS = _Rules("process", "process_range_reversed", "")  # processes have no bounds
_NODE = _Rules("node", "node_ranks_reversed", "node_ranks_out_of_range")


def _parse_int(text: str, whole: str, span: Span) -> int:
    # int() also takes "+3", "1_0" and other scripts' digits, as RLinf's reader does.
    try:
        return int(text)
    except ValueError:
        raise RankError("rank_format", f"`{shorten(whole)}` is not a rank or a range", _FORMAT_HINT, span) from None


Describe = Callable[[], str]
"""Says in words what there is to count; called only when something is wrong."""


def _nothing() -> str:
    return ""


def _parse_piece(
    text: str, rules: _Rules, bounds: tuple[int, int] | None, span: Span, describe: Describe = _nothing
) -> range:
    """One `INT` or `INT-INT`, inclusive."""
    parts = text.split("-")
    if len(parts) > 2:
        hint = "ranks count from 0, there are no negative ones" if not parts[0].strip() else _FORMAT_HINT
        raise RankError("rank_format", f"`{shorten(text.strip())}` is not a rank or a range", hint, span)
    start = _parse_int(parts[0], text.strip(), span)
    end = _parse_int(parts[1], text.strip(), span) if len(parts) == 2 else start
    if end < start:
        raise RankError(
            rules.reversed,
            f"the range `{shorten(text.strip())}` ends before it starts",
            f"write `{end}-{start}`",
            span,
        )
    if bounds is not None:
        low, high = bounds
        for rank in (start, end):
            if not low <= rank <= high:
                written = "" if text.strip() == str(rank) else f" of `{shorten(text.strip())}`"
                instead = f"write ranks from {low} to {high}" if high > low else f"write `{low}`, the only rank"
                known = describe()
                raise RankError(
                    rules.out_of_range,
                    f"{rules.noun} {shorten(str(rank))}{written} does not exist",
                    f"{known}: {instead}" if known else instead,
                    span,
                )
    return range(start, end + 1)


def parse_node_ranks(text: str, available: Sequence[int]) -> list[int]:
    """Node ranks of a group: union of the pieces, ascending; blank text gives none.

    Only the bounds of `available`, which ascends, are tested here, as RLinf does; membership is up to the caller.
    """
    if text.lower() == "all":
        return list(available)
    found: list[range] = []
    for piece, span in _split(text, ","):
        if piece.strip():
            if not available:
                raise RankError(
                    "node_ranks_out_of_range", f"`{shorten(text)}` names nodes, but there are none", "add nodes", span
                )
            found.append(_parse_piece(piece, _NODE, (available[0], available[-1]), span))
    ranks: list[int] = []
    for one in sorted(found, key=lambda piece: piece.start):
        ranks.extend(range(max(one.start, ranks[-1] + 1) if ranks else one.start, one.stop))
    return ranks


def parse_rule(text: str, total: int | None, describe: Describe = _nothing, noun: str = "device") -> list[Segment]:
    """Segments of a placement rule over `total` resources (None: not known, no bounds).

    Raises `RankError` at the first place that breaks the grammar; `describe` says for its hint what there is.
    """
    segments: list[Segment] = []
    last_resource = last_process = -1
    for piece, span in _split(text, ","):
        if not piece.strip():
            continue
        left, *rest = _split(piece, ":", span[0] - len(piece) + len(piece.lstrip()))
        if len(rest) > 1:
            raise RankError(
                "too_many_colons",
                f"`{shorten(piece.strip())}` has more than one colon",
                "write resources:processes once, for example `0-3:0-7`",
                span,
            )
        resources = _parse_resources(left, total, describe, noun, span)
        if resources.start <= last_resource:
            both = _first_shared(resources, (earlier.resources for earlier in segments))
            if both is not None:
                raise RankError(
                    "duplicate_resource",
                    f"{noun} {both} is in `{shorten(piece.strip())}` and earlier in the same rule",
                    f"name each {noun} once; for several processes on one write `0:0-3`",
                    span,
                )
            raise RankError(
                "resource_order",
                f"`{shorten(piece.strip())}` comes after {noun} {last_resource}",
                "write the segments in ascending order",
                span,
            )
        if rest:
            processes = _parse_processes(rest[0], segments, last_process)
        else:
            processes = range(last_process + 1, last_process + 1 + len(resources))
        if processes.stop > MOST_PROCESSES:
            many = shorten(str(processes.stop))
            raise RankError(
                "too_many_processes",
                f"{many} processes are more than the {MOST_PROCESSES} that one component may have",
                "check the number of digits",
                span,
            )
        if len(processes) % len(resources) and len(resources) % len(processes):
            raise RankError(
                "not_divisible",
                f"{count(len(processes), 'process')} cannot be spread evenly over {count(len(resources), noun)}"
                f" (`{shorten(piece.strip())}`)",
                _divisible_hint(processes, resources, noun),
                span,
            )
        segments.append(Segment(resources, processes, span))
        last_resource, last_process = resources[-1], processes[-1]
    if not segments:
        named = f"the rule `{shorten(text)}`" if text.strip() else "the rule is empty: it"
        raise RankError("empty_placement", f"{named} names no {noun}", "write for example `0-7` or `all`")
    if start := segments[0].processes.start:
        raise RankError(
            "process_start",
            f"process ranks start at {start} instead of 0",
            "number the processes from 0; RLinf would silently renumber them",
            segments[0].span,
        )
    return segments


def _parse_resources(left: tuple[str, Span], total: int | None, describe: Describe, noun: str, segment: Span) -> range:
    text, span = left
    if not text.strip():
        hint = "write for example `0-3:0-7`"
        raise RankError("no_resource_ranks", f"there is no {noun} before the colon", hint, segment)
    every = text.strip().lower() == "all"
    if total == 0:
        hint = f"{describe() or 'there are none'}: {_NO_DEVICES_HINT}"
        if every:
            raise RankError("no_resource_ranks", f"`all` matches no {noun}", hint, span)
        raise RankError("resource_out_of_range", f"{noun} {shorten(text.strip())} does not exist", hint, span)
    if every:
        return range(1 if total is None else total)
    rules = _Rules(noun, "resource_range_reversed", "resource_out_of_range")
    if total is None:
        return _parse_piece(text, rules, (0, MOST_RESOURCES), span)
    return _parse_piece(text, rules, (0, total - 1), span, describe)


def _parse_processes(right: tuple[str, Span], segments: list[Segment], last_process: int) -> range:
    text, span = right
    if text.strip().lower() == "all":
        raise RankError(
            "process_all", "`all` cannot be used for processes", "write their ranks, for example `all:0-15`", span
        )
    if not text.strip():
        raise RankError(
            "no_process_ranks",
            "there is no process after the colon",
            "leave the colon out for one process on each",
            span,
        )
    processes = _parse_piece(text, _PROCESS, None, span)
    if processes.start <= last_process:
        both = _first_shared(processes, (earlier.processes for earlier in segments))
        if both is not None:
            raise RankError(
                "duplicate_process",
                f"process {both} is in two segments",
                f"a comma starts a new segment; continue with process {last_process + 1}",
                span,
            )
    if segments and processes.start != last_process + 1:
        raise RankError(
            "process_order",
            f"processes `{shorten(text.strip())}` do not follow process {last_process} of the segment before",
            f"continue with process {last_process + 1}",
            span,
        )
    return processes


def _first_shared(one: range, others: Iterable[range]) -> int | None:
    starts = (max(one.start, other.start) for other in others if other.start < one.stop and one.start < other.stop)
    return next(starts, None)


def _divisible_hint(processes: range, resources: range, noun: str) -> str:
    few, many = sorted((len(processes), len(resources)))
    lower, upper = many - many % few, many + few - many % few
    if len(processes) == many:
        lower_end, upper_end = processes.start + lower - 1, processes.start + upper - 1
        return f"use {lower} or {upper} processes: `{processes.start}-{lower_end}` or `{processes.start}-{upper_end}`"
    return f"use {lower} or {upper} {noun}s, or a number of processes that divides {many}"


def _split(text: str, by: str, offset: int = 0) -> list[tuple[str, Span]]:
    """Pieces with their spans, without the blanks around them."""
    pieces = []
    for piece in text.split(by):
        start = offset + len(piece) - len(piece.lstrip())
        pieces.append((piece, (start, max(start, offset + len(piece.rstrip())))))
        offset += len(piece) + 1
    return pieces


def shorten(text: str, most: int = 60) -> str:
    """Text for a message: long texts are cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def spread(segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """(first resource, number of resources) of each process, by process rank."""
    runs: list[tuple[int, int]] = []
    for segment in segments:
        resources, processes = len(segment.resources), len(segment.processes)
        if resources >= processes:
            each = resources // processes
            runs.extend([(first, each) for first in segment.resources[::each]])
        else:
            each = processes // resources
            runs.extend([(first, 1) for first in segment.resources for _ in range(each)])
    return runs


def resources_of(segments: Sequence[Segment], rank: int) -> range:
    """What one process is on, without a look at the others: there may be a hundred thousand."""
    for resources, processes, _ in segments:
        if rank in processes:
            place, many, few = rank - processes.start, len(resources), len(processes)
            if many >= few:
                return resources[place * (many // few) :][: many // few]
            first = place // (few // many)
            return resources[first : first + 1]
    return range(0)
