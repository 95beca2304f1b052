"""`placetui top`: memory, load and processes of the GPUs of a Ray cluster, or of this node where there is none."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from placetui import locations
from placetui.bridge.client import Bridge
from placetui.bridge.process import NVML_CHILD, child_command
from placetui.bridge.source import nvml_source, ray_source
from placetui.cli import exits
from placetui.cli.cluster import Failed, add_address, runtime
from placetui.cli.feed import Feed
from placetui.cli.options import add_plan_options, open_plan, plan_options, print_problems
from placetui.cli.output import complain, shows_color, speaks_utf8
from placetui.cli.screen import draw, full_screen, terminal_size
from placetui.document import Document, PlanRequest, plan_document
from placetui.frameworks.registry import framework_of
from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.text import cut, table
from placetui.grid.tables.drift import drift_lines
from placetui.observe.alerts import NO_THRESHOLDS, AlertWatch, Thresholds
from placetui.observe.drift import Drift, DriftWatch
from placetui.observe.events import Event, EventLog
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessSample
from placetui.observe.operations import AUTO
from placetui.observe.ports import WatchOptions
from placetui.observe.recording.writer import Recorder
from placetui.observe.rows import ProcessRow, rows_of
from placetui.observe.settled import SettledPlan
from placetui.placement.plan import Plan
from placetui.placement.topology import Node
from placetui.placement.wording import GIB, clean, count, listing

if TYPE_CHECKING:
    from placetui.observe.ports import ClusterSource

PATIENCE = 10.0
"""Seconds until `--once` gives up."""

RAY_PATIENCE = 30.0
"""The same, where samplers have to be started first."""

FIND_TIMEOUT = 30.0
"""Seconds in which a head must be found, and its jobs read."""

SETTLE = 10.0
"""Seconds that nodes have to answer before something is printed once."""

LEAVE = 2.0
"""Seconds for the child to end what it has on the nodes; it ends with it in any case."""

_QUICK = 0.1
"""Seconds between samples until there is something to show."""

_QUIT = frozenset(b"qQ")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show the GPUs of a Ray cluster, or of this machine: memory, load and processes. q or Ctrl-C quits."
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a placement file, to show what differs from it")
    add_plan_options(parser)
    add_address(parser)
    parser.add_argument("--no-ray", action="store_true", help="only the GPUs of this machine, without Ray")
    parser.add_argument("--job", metavar="NAME", help="the job to compare with; default: that of FILE")
    parser.add_argument("--no-sample", action="store_true", help="start no samplers: show only what Ray knows")
    parser.add_argument(
        "--once",
        action="store_true",
        help="print once and exit: with 1 if something differs from FILE, 3 if there is nothing to read",
    )
    parser.add_argument("--json", action="store_true", help="print JSON: one object per line, or one with --once")
    parser.add_argument(
        "--events", action="store_true", help="print events, one per line: lost ranks and nodes, drift, alerts, jobs"
    )
    parser.add_argument("--interval", type=_interval, default=1.0, metavar="S", help="seconds per sample; default 1")
    parser.add_argument("--record", metavar="F", help="also record to a new file, for --replay")


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0.1 <= seconds <= 3600:
        return seconds
    raise argparse.ArgumentTypeError(f"expected 0.1 to 3600 seconds, not `{text}`")


def run(args: argparse.Namespace) -> int:
    if args.no_ray and args.address != AUTO:
        raise exits.UsageError("--no-ray reads only this machine and cannot be used with --address")
    if args.events and args.once:
        raise exits.UsageError("--events follows what changes and cannot be used with --once")
    comparison = _comparison(args) if args.file else None
    with _open_source(args, comparison) as source:
        return _watch(source, args, comparison)


# What is compared


class Comparison:
    """A file with its plan, with which observations are compared, one after the other."""

    def __init__(self, document: Document, options: PlanRequest, plan: Plan) -> None:
        self.plan = plan
        """On the nodes that were observed, once there are any."""

        self._document = document
        self._options = options
        self._settled: SettledPlan | None = None
        self._watch: DriftWatch | None = None

    @property
    def outline(self) -> Mapping[str, Any]:
        """By what the job of the file is found."""
        from placetui.document.running import with_names
        from placetui.observe.following import PlanOutline

        named = with_names(framework_of(self.plan), self._document, self.plan, self._options.overrides)
        return PlanOutline.of(named).to_dict()

    def compare(self, seen: Observation) -> tuple[Observation, Sequence[Drift]]:
        """The observation, its nodes numbered as in the plan, and where it differs from that.

        Aborts if a node is none of the plan's, or if there is no plan for these nodes.
        """
        if self._settled is None:
            # Nodes that are lost later are missing; they are not planned without.
            self.plan = self._plan_on(seen.nodes) if seen.source == "ray" else self.plan
            self._settled = SettledPlan(self.plan)
        if seen.source == "nvml":
            nodes = [replace(node, rank=_rank_of(node, self.plan)) for node in seen.nodes]
            seen = replace(seen, nodes=tuple(sorted(nodes, key=lambda node: node.rank)))
        self.plan = self._settled.update(seen)
        if self._watch is None or self._watch.plan is not self.plan:
            self._watch = DriftWatch(self.plan)
        return seen, self._watch.update(seen)

    def _plan_on(self, nodes: Sequence[NodeSample]) -> Plan:
        """The plan on the nodes of a cluster, if the file names none; aborts if it does not fit there."""
        if self.plan.topology_source != "assumed":
            return self.plan
        there = {node.rank: node for node in nodes}
        found = [
            Node(len(there[rank].devices), name=there[rank].name, ip=there[rank].ip) if rank in there else Node(0)
            for rank in range(max(there, default=-1) + 1)
        ]
        plan = plan_document(self._document, replace(self._options, nodes=tuple(found), topology_source="ray"))
        _refuse_broken(plan)
        return plan


def _comparison(args: argparse.Namespace) -> Comparison:
    options = plan_options(args)
    document, plan = open_plan(args.file, options)
    # On the real nodes an assumed plan may look different.
    if plan.topology_source != "assumed" or args.no_ray:
        _refuse_broken(plan)
        print_problems(plan.problems)
    return Comparison(document, options, plan)


def _refuse_broken(plan: Plan) -> None:
    if any(problem.blocking for problem in plan.problems):
        print_problems(plan.problems)
        raise exits.Abort(exits.PROBLEMS)


def _rank_of(node: NodeSample, plan: Plan) -> int:
    """The node of the plan that has this name or address; if it has one node, that one."""
    if len(plan.nodes) == 1:
        return 0
    found = [one.rank for one in plan.nodes if one.name == node.name or (one.ip and one.ip == node.ip)]
    if len(found) == 1:
        return found[0]
    raise exits.Abort(
        exits.USAGE,
        f"which node of {plan.source or 'the plan'} is this? {len(found) or 'None'} of its {len(plan.nodes)} nodes "
        f"{'is' if not found else 'are'} called {node.name} or {'has' if not found else 'have'} the address "
        f"{node.ip or '?'}; name them under `placetui.topology`",
    )


# Where it comes from


@contextmanager
def _open_source(args: argparse.Namespace, comparison: Comparison | None) -> Iterator[ClusterSource]:
    """A Ray cluster, else the GPUs of this node; `Failed` if the cluster that was named is not reached."""
    interval = _QUICK if args.once else args.interval
    if not args.no_ray:
        with runtime(LEAVE) as child:
            try:
                found = child.ask("ps", FIND_TIMEOUT, address=args.address)
            except Failed as problem:
                if not problem.details.get("absent"):
                    raise
                print(f"note: {problem.message}: showing the GPUs of this machine (as with --no-ray)", file=sys.stderr)
            else:
                job = args.job or ""
                if job and job not in [str(one["name"]) for one in found["jobs"]]:
                    print(f"note: there is no job {job} on {found['address']}", file=sys.stderr)
                settle = SETTLE if args.once else 0.0
                options = WatchOptions(str(found["address"]), job, sample=not args.no_sample, settle=settle)
                if comparison is not None:
                    plan, outline = comparison.plan, comparison.outline
                    options = replace(options, mode=plan.mode, nodes=len(plan.nodes), plan=outline)
                yield ray_source(child.bridge, options, interval)
                return
    if comparison is not None:
        print("note: without Ray the owner of a process is unknown: only GPUs are compared", file=sys.stderr)
    with Bridge(locations.logs_dir(), child_command(NVML_CHILD)) as bridge:
        yield nvml_source(bridge, interval)


# How it is shown


def _watch(source: ClusterSource, args: argparse.Namespace, comparison: Comparison | None) -> int:
    try:
        feed = Feed(source, Recorder(args.record) if args.record else None)
    except OSError as problem:
        raise exits.Abort(exits.USAGE, f"{args.record}: {problem.strerror or problem}") from None
    try:
        with feed:
            if args.once:
                return _print_once(feed, comparison, args.json)
            if args.json or args.events or not sys.stdout.isatty():
                return stream(feed, comparison, args)
            return _screen(feed, comparison, args.interval)
    finally:
        if feed.recording is not None and feed.recording.problem:
            complain("placetui top", f"{args.record}: {feed.recording.problem}")


def _print_once(feed: Feed, comparison: Comparison | None, as_json: bool) -> int:
    deadline = time.monotonic() + (RAY_PATIENCE if feed.source_name == "ray" else PATIENCE)
    while (seen := feed.latest()) is None and time.monotonic() < deadline:
        if feed.status.link == "failed" or (feed.source_name == "ray" and feed.is_empty):
            break
        feed.wait(deadline - time.monotonic())
    if seen is None:
        why = "no node of the cluster has a GPU" if feed.is_empty else "the GPUs do not answer"
        raise exits.Abort(exits.CLUSTER, feed.status.message or why)
    # On a cluster there may be nodes without GPUs.
    failed = [node for node in seen.nodes if node.stale or (not node.devices and seen.source == "nvml")]
    seen, drifts = _compare(seen, comparison)
    if as_json:
        print(json.dumps(_as_dict(seen, drifts), indent=2))
    elif any(node.devices for node in seen.nodes):
        _print(seen, drifts, comparison)
    for node in failed:
        complain("placetui top", f"{node.name}: {node.error or 'there is no GPU'}")
    # On a cluster a node of the plan that is silent is drift itself.
    if drifts and seen.source == "ray":
        return exits.PROBLEMS
    if failed:
        return exits.CLUSTER
    return exits.PROBLEMS if drifts else exits.FINE


def stream(feed: Feed, comparison: Comparison | None, args: argparse.Namespace) -> int:
    """One after the other, until interrupted."""
    printed = None
    log = EventLog()
    alerts = AlertWatch(_thresholds() if args.events else NO_THRESHOLDS)
    message = ""
    while feed.status.link != "failed":
        feed.wait(max(1.0, args.interval))
        seen = feed.latest()
        if feed.status.message != message:
            message = feed.status.message
            if message:
                complain("placetui top", message)
        if seen is None or seen == printed:
            continue
        first, printed = printed is None, seen
        seen, drifts = _compare(seen, comparison)
        if args.events:
            if first:
                nodes, gpus = len(seen.nodes), sum(len(node.devices) for node in seen.nodes)
                print(f"watching {count(nodes, 'node')}, {count(gpus, 'GPU')}; Ctrl-C to stop", file=sys.stderr)
            for event in log.update(seen, drifts, alerts.update(seen)):
                print(json.dumps(asdict(event)) if args.json else _event_line(event))
        elif args.json:
            print(json.dumps(_as_dict(seen, drifts)))
        else:
            if not first:
                print()
            _print(seen, drifts, comparison)
        sys.stdout.flush()
    raise exits.Abort(exits.CLUSTER, feed.status.message)


def _thresholds() -> Thresholds:
    """Those of the settings; what is wrong with them, `placetui config validate` reports."""
    from placetui.settings import read_settings

    return Thresholds(**read_settings(locations.config_file())[0].alerts)


def _event_line(event: Event) -> str:
    """`12:03:07  rank_died        actor:3 died: …`."""
    return f"{time.strftime('%H:%M:%S', time.localtime(event.time))}  {event.kind:<15}  {event.message}"


def _screen(feed: Feed, comparison: Comparison | None, interval: float) -> int:
    """In place, until `q` or an interrupt."""
    keyboard = [sys.stdin.fileno()] if sys.stdin.isatty() else []
    plain, color = not speaks_utf8(), shows_color()
    with full_screen(feed.wake):
        while True:
            for descriptor in feed.wait(max(1.0, interval), keyboard):
                keys = os.read(descriptor, 64)
                if not keys:
                    # The keyboard has gone: nobody can press a key any more.
                    keyboard = []
                if _QUIT.intersection(keys):
                    return exits.FINE
            seen = feed.latest()
            style = TextStyle(terminal_size()[0], plain, color)
            shown = [style.fit(feed.status.message or "searching for GPUs ...")]
            if seen is not None:
                seen, drifts = _compare(seen, comparison)
                shown = [*lines(seen, style), *_drift_lines(seen, drifts, comparison, style)]
            draw([*shown, "", style.paint(style.fit("q quits"), "muted")])


def _compare(seen: Observation, comparison: Comparison | None) -> tuple[Observation, Sequence[Drift]]:
    return (seen, ()) if comparison is None else comparison.compare(seen)


def _print(seen: Observation, drifts: Sequence[Drift], comparison: Comparison | None) -> None:
    style = TextStyle(ascii=not speaks_utf8())
    for line in [*lines(seen, style), *_drift_lines(seen, drifts, comparison, style)]:
        print(line)


def _drift_lines(
    seen: Observation, drifts: Sequence[Drift], comparison: Comparison | None, style: TextStyle
) -> list[str]:
    if comparison is None:
        return []
    if seen.source == "ray" and not seen.job:
        return ["", style.paint(style.fit(f"no job of {comparison.plan.source} runs here"), "muted")]
    if not drifts:
        return ["", style.paint(style.fit(f"no drift from {comparison.plan.source}"), "muted")]
    found = drift_lines(drifts, style.width, ascii=style.ascii)
    return ["", *(style.paint(line, "warning") for line in found)]


def _as_dict(seen: Observation, drifts: Sequence[Drift]) -> dict[str, object]:
    return {**seen.to_dict(), "drift": [one.to_dict() for one in drifts]}


# As text

BAR = 16
"""Columns of a bar."""

WIDEST_NAME = 40
MISSING = "n/a"

Tone: TypeAlias = Literal["plain", "muted", "strong", "warning"]
_CODES: dict[Tone, str] = {"muted": "2", "strong": "1", "warning": "33"}


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How lines are written."""

    width: int | None = None
    """Columns; None: as wide as they are."""

    ascii: bool = False
    color: bool = False

    def paint(self, text: str, tone: Tone) -> str:
        return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if self.color and tone in _CODES and text else text

    def fit(self, text: str) -> str:
        """Text from outside, safe and not too long."""
        text = clean(text, self.ascii)
        return text if self.width is None else cut(text, self.width, ellipsis=glyphs(self.ascii).ellipsis)


def lines(observation: Observation, style: TextStyle) -> Iterator[str]:
    """The job that is followed, and each node with its GPUs and, below them, the processes on these."""
    if heading := _heading(observation):
        yield style.paint(style.fit(heading), "strong")
        yield ""
    for place, node in enumerate(observation.nodes):
        if place:
            yield ""
        yield style.paint(style.fit(_headline(node, observation)), "strong")
        if trouble := _trouble(node):
            age = f", values are {node.age:.0f} s old" if node.stale and node.devices else ""
            yield style.paint(style.fit(f"{trouble}{age}"), "warning")
        if node.devices:
            yield from _devices(node, style)
            yield from _processes(node, style)


def _heading(observation: Observation) -> str:
    job = next((one for one in observation.jobs if one.name == observation.job), None)
    words = observation.note
    if job is not None:
        who = f" of {job.owner}" if job.owner else ""
        words = "; ".join(part for part in (f"{job.framework} job {job.name}{who}: {job.entrypoint}", words) if part)
    if observation.not_launched:
        words += f"; not launched: {listing(observation.not_launched)}"
    return words


def _trouble(node: NodeSample) -> str | None:
    """What is wrong with a node, or with all of its GPUs."""
    errors = {device.error for device in node.devices}
    return node.error or (errors.pop() if len(errors) == 1 else None)


def _headline(node: NodeSample, observation: Observation) -> str:
    # Of several, by its place too: raylets of one machine have the same name and address.
    place = f"node{node.rank}" if len(observation.nodes) > 1 else ""
    parts = [" ".join(dict.fromkeys(part for part in (place, node.name, node.ip) if part))]
    if node.devices:
        parts.append(count(len(node.devices), "GPU"))
    if node.state in ("draining", "lost"):
        parts.append(f"{node.state}: {node.reason}" if node.reason else node.state)
    if node.cpu_percent is not None:
        parts.append(f"CPU {node.cpu_percent:.0f}%")
    if node.memory_used is not None and node.memory_total:
        parts.append(f"RAM {node.memory_used / GIB:.1f}/{node.memory_total / GIB:.0f} GiB")
    return "  ".join([*parts, time.strftime("%H:%M:%S", time.localtime(observation.time))])


def _devices(node: NodeSample, style: TextStyle) -> Iterator[str]:
    degree = "C" if style.ascii else "°C"
    rows = [
        (
            str(device.gpu_id),
            _name(device, style),
            _bar(device, style),
            _memory(device),
            _figure(device.utilization, "%"),
            _figure(device.temperature, degree),
            _figure(device.power, " W"),
        )
        for device in node.devices
    ]
    titles = ("GPU", "name", "memory", "", "load", "temp", "power")
    header, *found = table([titles, *rows], right={0, 3, 4, 5, 6})
    yield style.paint(style.fit(header), "muted")
    for device, text in zip(node.devices, found, strict=True):
        if device.stale:
            text = f"{text}  stale, {device.age:.0f} s"
        if device.error and device.error != _trouble(node):
            text = f"{text}  {device.error}"
        yield style.paint(style.fit(text), "warning" if device.stale or device.memory_used is None else "plain")


def _name(device: DeviceSample, style: TextStyle) -> str:
    return cut(clean(device.name or MISSING, style.ascii), WIDEST_NAME, ellipsis=glyphs(style.ascii).ellipsis)


def _bar(device: DeviceSample, style: TextStyle) -> str:
    percent = device.memory_percent
    if percent is None:
        return ""
    full = round(min(100.0, max(0.0, percent)) * BAR / 100)
    return ("#" if style.ascii else "█") * full + ("." if style.ascii else "░") * (BAR - full)


def _memory(device: DeviceSample) -> str:
    if device.memory_used is None or device.memory_total is None:
        return MISSING
    return f"{device.memory_used / GIB:.1f}/{device.memory_total / GIB:.1f} GiB"


def _figure(value: int | None, unit: str) -> str:
    return MISSING if value is None else f"{value}{unit}"


def _processes(node: NodeSample, style: TextStyle) -> Iterator[str]:
    rows = list(map(_row, rows_of(node)))
    if not rows:
        return
    yield ""
    titles = ("GPU", "pid", "user", "memory", "command")
    header, *found = table([titles, *rows], right={0, 1, 3}, ascii=style.ascii)
    yield style.paint(style.fit(header), "muted")
    yield from map(style.fit, found)


def _row(row: ProcessRow) -> tuple[str, ...]:
    """A process on a GPU with its actor, its command line, or why neither is known; or an actor that holds a part of
    the GPU but no memory.
    """
    gpu, process, claim = str(row.device.gpu_id), row.process, row.claim
    if process is not None:
        memory = MISSING if process.memory is None else f"{process.memory / GIB:.1f} GiB"
        known = [text for text in (_title(process), process.command, process.note) if text]
        user = process.user or ("" if process.actor else "?")
        return gpu, str(process.pid), user, memory, "  ".join(known) or "not visible from here"
    assert claim is not None
    part = "assigned" if claim.reserved is None else f"reserved {claim.reserved:g}"
    held = "memory unknown" if row.device.is_unread else "uses no memory"
    if claim.state not in (None, "alive"):
        part, held = str(claim.state), f"by {claim.device_from}"
    return gpu, str(claim.pid or ""), "", "-", f"{_title(claim)}  ({part}, {held})"


def _title(one: ProcessSample | Claim) -> str:
    """Rank or service and its job, where a framework is recognised; else the name of the actor."""
    if one.framework is None or one.component is None:
        return one.actor or ""
    who = one.component if one.rank is None else f"{one.component}:{one.rank}"
    return f"{who} of {one.framework} job {one.job}"
