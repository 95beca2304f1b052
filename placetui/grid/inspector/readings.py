"""What the running cluster tells about a device, as lines of the inspector."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from placetui.grid.inspector.flow import Flow
from placetui.grid.look.style import FAINT, MUTED, NAME, TEXT, WARNING, Line, LineBuilder, Run
from placetui.observe.history import DeviceHistory, Metric
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation
from placetui.placement.wording import GIB, age, duration, gib, share_figure

MOST_PROCESSES = 8

LABEL = 7
"""Columns before a meter."""

METER = 30
"""Most columns of a meter."""

FIGURES = 22
"""Columns kept for what stands beside a meter."""

GAP = 3
"""Between memory and load."""

NARROW = 36
"""Columns of each from which on they are equally wide."""

MEMORY, LOAD = 21, 17
"""Least columns of the figures of each where both are narrower."""

LEAST_METER = 4

TALL, TALLEST = 5, 8
"""Lines of a graph; the more where lines are free."""

_SOURCES = {"simulated": "simulated", "replay": "recorded"}
"""Sources that are not the cluster as it is now."""

_CURVES: dict[Metric, str] = {"memory": "memory", "utilization": "load"}


def gpu_lines(
    flow: Flow,
    observation: Observation,
    node: NodeSample,
    device: DeviceSample | None,
    histories: Sequence[DeviceHistory],
    room: int | None,
) -> Iterator[Line]:
    """Memory and load side by side as meters with their figures, and below each how it was, history by history.

    The graphs are as high as there is room for, and have an axis where they are higher than a line.
    """
    if device is None:
        yield from _not_seen(flow, observation)
        return
    halves = [_memory_half(device), _load_half(flow, device)]
    width = (flow.width - GAP) // 2
    if width < NARROW:
        # Two meters never stand on lines that touch.
        memory, load = (
            max(least, 1 + flow.measure(tuple(figures)))
            for least, (*_, figures) in zip((MEMORY, LOAD), halves, strict=True)
        )
        meter = (flow.width - LABEL - memory - GAP - len("load ") - load) // 2
        if meter >= LEAST_METER:
            left = _half(flow, *halves[0], LABEL + meter + memory, memory)
            right = _half(flow, *halves[1], len("load ") + meter + load, load, len("load "))
            yield (*left, Run(" " * GAP, TEXT), *right)
            starts = LABEL, LABEL + meter + memory + GAP + len("load ")
            for history in histories if room is None or room > 1 else ():
                yield from _graph_line(flow, history, node.rank, device, meter + load, starts)
        else:
            yield _half(flow, *halves[0], flow.width)
            yield from flow.lines([tuple(halves[1][2])], head=(Run("load".ljust(LABEL), MUTED),))
        return
    yield (*_half(flow, *halves[0], width), Run(" " * GAP, TEXT), *_half(flow, *halves[1], width))
    # A higher graph needs a line for its axis, and one below for an error or a blank.
    lines = 1 if room is None else max(min(TALL, room - 4), min(TALLEST, room - 6))
    for history in histories if room is None or room > 1 else ():
        if lines > 1:
            yield from _graphs(flow, history, node.rank, device, width, lines)
        else:
            starts = LABEL, width + GAP + LABEL
            yield from _graph_line(flow, history, node.rank, device, min(METER, width - LABEL), starts)
    if device.error:
        yield from flow.lines([flow.text(device.error, WARNING)])


def _not_seen(flow: Flow, observation: Observation) -> list[Line]:
    return flow.lines([flow.text("the GPU was not seen", WARNING), *where_from(flow, observation)])


def _labelled(flow: Flow, label: str, pieces: Sequence[Line], before: Line = ()) -> list[Line]:
    """Pieces behind a label; no line where there are none."""
    return flow.lines(pieces, head=(Run(label, MUTED), *before), indent=len(label)) if pieces else []


def _memory_half(device: DeviceSample) -> tuple[str, float | None, list[Run]]:
    if device.memory_used is None:
        return "memory", None, [Run("n/a", MUTED)]
    total = f" of {device.memory_total / GIB:.0f} GiB" if device.memory_total else " GiB"
    percent = device.memory_percent
    part = [] if percent is None else [Run(f"  {percent:.0f}", TEXT), Run("%", MUTED)]
    return "memory", percent, [Run(f"{device.memory_used / GIB:.1f}", NAME), Run(total, MUTED), *part]


def _load_half(flow: Flow, device: DeviceSample) -> tuple[str, float | None, list[Run]]:
    load = device.utilization
    runs = [Run("n/a", MUTED)] if load is None else [Run(f"{load:.0f}", NAME), Run("%", MUTED)]
    if device.temperature is not None:
        runs += [Run(f"  {device.temperature:.0f}", TEXT), Run(flow.pen.glyphs.degree, MUTED)]
    if device.power is not None:
        runs += [Run(f"  {device.power:.0f}", TEXT), Run(" W", MUTED)]
    return "load", load, runs


def _half(
    flow: Flow,
    label: str,
    percent: float | None,
    figures: Sequence[Run],
    width: int,
    beside: int = FIGURES,
    label_width: int = LABEL,
) -> Line:
    """`memory ████▌    61.6 of 80 GiB  77%`, exactly so wide; so much stands beside the meter."""
    head = Run(f"{label} ".ljust(label_width), MUTED)
    room = min(METER, max(0, width - label_width - beside))
    meter = flow.pen.meter(percent, room) if percent is not None and room else (Run(" " * room, TEXT),)
    line = flow.cut(((head, *meter, Run(" ", TEXT), *figures),))
    return (*line, Run(" " * max(0, width - flow.measure(line)), TEXT))


def _graphs(
    flow: Flow, history: DeviceHistory, node: int, device: DeviceSample, width: int, lines: int
) -> Iterator[Line]:
    """Both curves, the newest at the right, with an axis below."""
    wide = width - LABEL
    room = min(wide, history.length // 2)
    values = _values(history, node, device, room)
    if not values:
        return
    if wide >= 1.5 * room:  # some values twice
        room = min(wide, history.length)
        values = [tuple(series[len(series) * at // (2 * room)] for at in range(2 * room)) for series in values]
    graphs = [flow.pen.history(series, room, lines) for series in values]
    for number, (left, right) in enumerate(zip(*graphs, strict=True)):
        label = Run(("100%" if number == 0 else "").ljust(LABEL), FAINT)
        rest = Run(" " * (width - LABEL - room), TEXT)
        yield (label, *left, rest, Run(" " * GAP, TEXT), label, *right)
    axis = f"{_span(history, min(wide, history.length // 2))} ago".ljust(room - 3) + "now"
    blank = Run(" " * (width - LABEL - room + GAP), TEXT)
    yield (Run(" " * LABEL + axis, FAINT), blank, Run(" " * LABEL + axis, FAINT))


def _graph_line(
    flow: Flow,
    history: DeviceHistory,
    node: int,
    device: DeviceSample,
    width: int,
    starts: tuple[int, int],
) -> Iterator[Line]:
    """Both curves in one line, each so wide, behind how long ago they begin."""
    room = min(width, history.length // 2)
    values = _values(history, node, device, room)
    if values:
        line = LineBuilder()
        line.add(_span(history, room), FAINT)
        for start, series in zip(starts, values, strict=True):
            line.put(start, "")
            flow.pen.write(line, flow.pen.history(series, room)[0], room)
        yield tuple(line.runs)


def _values(history: DeviceHistory, node: int, device: DeviceSample, room: int) -> list[tuple[int | None, ...]]:
    """Memory and load for curves of so many columns; none of a GPU that was never measured."""
    found = [tuple(history.series(node, device.index, metric, last=2 * room)) for metric in _CURVES]
    now = device.memory_used, device.utilization
    return [] if all(value is None for series in (now, *found) for value in series) else found


def _span(history: DeviceHistory, room: int) -> str:
    """How long a curve of so many columns is."""
    seconds = min(history.length, 2 * room) * history.period
    return f"{seconds:.0f} s" if 60 < seconds < 120 else duration(seconds)


def short_graphs(flow: Flow, history: DeviceHistory, node: int, device: DeviceSample) -> list[Line]:
    """Memory and load of the last minute, in one line if there is room for both."""
    width = (flow.width - GAP) // 2
    room = min(METER, width - LABEL - FIGURES, history.length // 2)
    if width < NARROW:
        return []
    line: list[Run] = []
    for metric, (label, _, figures) in zip(_CURVES, (_memory_half(device), _load_half(flow, device)), strict=True):
        graph = flow.pen.history(history.series(node, device.index, metric, last=2 * room), room)[0]
        if line:
            line.append(Run(" " * (width + GAP - flow.measure(tuple(line))), TEXT))
        line += flow.cut(((Run(label.ljust(LABEL), MUTED), *graph, Run(" ", TEXT), *figures),))
    return [flow.cut((tuple(line),))]


def node_lines(flow: Flow, observation: Observation, node: NodeSample, *, labelled: bool) -> Iterator[Line]:
    """Age of what is known of a node, its CPU and RAM; with `labelled` also where that comes from."""
    pieces: list[Line] = []
    if node.stale or node.error:
        age = f"stale, read {duration(node.age)} ago" if node.stale else ""
        pieces.append(flow.text(": ".join(text for text in (age, node.error) if text), WARNING))
    if node.cpu_percent is not None:
        pieces.append(flow.text(f"CPU {node.cpu_percent:.0f}%", MUTED))
    if node.memory_used is not None:
        total = f" of {node.memory_total / GIB:.0f}" if node.memory_total else ""
        pieces.append(flow.text(f"RAM {node.memory_used / GIB:.0f}{total} GiB", MUTED))
    if labelled:
        pieces += where_from(flow, observation)
    yield from _labelled(flow, "node   ", pieces)


def short_memory(flow: Flow, observation: Observation, device: DeviceSample) -> Iterator[Line]:
    """Memory and load as pieces of a line."""
    if device.memory_used is not None and device.memory_total:
        yield flow.text(f"{device.memory_used / GIB:.1f}/{device.memory_total / GIB:.0f} GiB")
    if device.utilization is not None:
        yield flow.text(f"load {device.utilization}%", MUTED)
    yield from where_from(flow, observation)


def where_from(flow: Flow, observation: Observation) -> list[Line]:
    """`simulated`, where it is not the cluster as it is now."""
    word = _SOURCES.get(observation.source)
    return [flow.text(word, WARNING)] if word else []


def claim_lines(flow: Flow, device: DeviceSample) -> list[Line]:
    """What is reserved, claimed and held, for each actor where the three do not agree."""
    pieces = []
    for claim in device.claims:
        held = device.held_by(claim)
        if claim.reserved is not None and held != 0:
            continue  # Ray itself tells it which GPU is its own: its environment need not
        words = [
            "nothing reserved" if claim.reserved is None else f"reserved {share_figure(claim.reserved)}",
            "assigned" if claim.claimed else "not assigned",
            "uses no memory" if held == 0 else "uses an unknown amount" if held is None else f"uses {gib(held)}",
        ]
        pieces.append((*_claimant(flow, claim), *flow.text(f" {', '.join(words)}", MUTED if held == 0 else WARNING)))
    return _labelled(flow, "reserved ", pieces[:MOST_PROCESSES])


def job_lines(flow: Flow, observation: Observation, device: DeviceSample) -> Iterator[Line]:
    """The jobs on a GPU: since when they run, who started them, and with which command."""
    names = {one.job for one in device.processes} | {one.job for one in device.claims}
    jobs = [job for job in observation.jobs if job.name in names]
    for job in jobs[:MOST_PROCESSES]:
        words = [job.name, job.framework, job.state]
        if job.started:
            since = time.strftime("%Y-%m-%d %H:%M", time.localtime(job.started))
            words.append(f"since {since}, {age(job.started, observation.time)}")
        words += [f"by {job.owner}"] if job.owner else []
        words += [f"submitted as {job.submission}"] if job.submission else ["not submitted through Ray Jobs"]
        yield from _labelled(flow, "job    ", [flow.text(word) for word in words])
        yield from flow.sentence(job.entrypoint, MUTED, indent=len("job    "))
    if observation.job in names and observation.owner and observation.job not in {job.name for job in jobs}:
        words = [observation.job, f"launched with placetui by {observation.owner}"]
        yield from _labelled(flow, "job    ", [flow.text(word) for word in words])


def _claimant(flow: Flow, claim: Claim) -> Line:
    marks = flow.pen.marks
    if claim.component in marks and claim.rank is not None:
        return flow.pen.label(claim.component, claim.rank)
    job = f" of job {claim.job}" if claim.job else ""
    return flow.text(f"{claim.actor}{job}")
