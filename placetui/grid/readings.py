"""What the running cluster tells about a device, as lines of the inspector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placetui.grid.flow import Flow
from placetui.grid.live import GIB
from placetui.grid.pen import STATE_STYLES
from placetui.grid.sparkline import sparkline
from placetui.grid.style import ERROR, MUTED, RANK, TEXT, TRACK, WARNING, Line, Run
from placetui.grid.text import share_figure
from placetui.observe.history import History, Metric
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessSample, RankState
from placetui.placement.problems import count

BAR = 16
"""Columns of the memory bar."""

SPARKLINE = 30
"""Most columns of one sparkline."""

MOST_PROCESSES = 8

_SOURCES = {"simulated": "simulated", "replay": "recorded"}
"""Sources that are not the cluster as it is now."""

_CURVES: dict[Metric, str] = {"memory": "memory", "utilization": "load"}


def gib(amount: int) -> str:
    """Bytes as `61.2 GiB`."""
    return f"{amount / GIB:.1f} GiB"


def state_piece(flow: Flow, state: RankState) -> Line:
    """`● alive pid 20004`, `✗ dead after 2 restarts: killed by signal 9`."""
    style = STATE_STYLES[state.state]
    text = f"{flow.pen.glyphs.states[state.state]} {state.state}"
    restarts = f" after {count(state.restarts, 'restart')}" if state.restarts else ""
    pid = f" pid {state.pid}" if state.pid is not None else ""
    reason = f": {flow.pen.clean(state.reason)}" if state.reason else ""
    return (Run(text, style), Run(f"{restarts}{pid}{reason}", MUTED))


def device_lines(
    flow: Flow, observation: Observation, node: NodeSample, device: DeviceSample | None, histories: Sequence[History]
) -> Iterator[Line]:
    """Memory and load of a GPU, and how they were, in a line for each history."""
    if device is None:
        yield from flow.lines([flow.text("the GPU was not seen", WARNING), *_where_from(flow, observation)])
        return
    head = (Run("memory ", MUTED), *_bar(flow, device))
    yield from flow.lines([*_figures(flow, device), *_where_from(flow, observation)], head=head, indent=len("memory "))
    for history in histories:
        yield from _curves(flow, history, node.rank, device.index)


def node_lines(flow: Flow, observation: Observation, node: NodeSample, *, labelled: bool) -> Iterator[Line]:
    """Age of what is known of a node, its CPU and RAM; with `labelled` also where that comes from."""
    pieces: list[Line] = []
    if node.stale or node.error:
        age = f"stale, read {_age(node.age)} ago" if node.stale else ""
        pieces.append(flow.text(": ".join(text for text in (age, node.error) if text), WARNING))
    if node.cpu_percent is not None:
        pieces.append(flow.text(f"CPU {node.cpu_percent:.0f}%", MUTED))
    if node.memory_used is not None:
        total = f" of {node.memory_total / GIB:.0f}" if node.memory_total else ""
        pieces.append(flow.text(f"RAM {node.memory_used / GIB:.0f}{total} GiB", MUTED))
    if labelled:
        pieces += _where_from(flow, observation)
    if pieces:
        yield from flow.lines(pieces, head=(Run("node   ", MUTED),), indent=len("node   "))


def short_memory(flow: Flow, observation: Observation, device: DeviceSample) -> Iterator[Line]:
    """Memory and load as pieces of a line."""
    if device.memory_used is not None and device.memory_total:
        yield flow.text(f"{device.memory_used / GIB:.1f}/{device.memory_total / GIB:.0f} GiB")
    if device.utilization is not None:
        yield flow.text(f"load {device.utilization}%", MUTED)
    yield from _where_from(flow, observation)


def _where_from(flow: Flow, observation: Observation) -> list[Line]:
    word = _SOURCES.get(observation.source)
    return [flow.text(word, WARNING)] if word else []


def _bar(flow: Flow, device: DeviceSample) -> Line:
    percent = device.memory_percent
    if percent is None or flow.width < 3 * BAR:
        return ()
    used = round(min(100.0, max(0.0, percent)) * BAR / 100)
    glyphs = flow.pen.glyphs
    return (Run(glyphs.patterns[0] * used, TEXT), Run(glyphs.track * (BAR - used), TRACK), Run(" ", TEXT))


def _figures(flow: Flow, device: DeviceSample) -> Iterator[Line]:
    if device.memory_used is None:
        yield flow.text("not known", MUTED)
    else:
        percent = device.memory_percent
        of = f" of {device.memory_total / GIB:.1f}" if device.memory_total else ""
        part = f" {percent:.0f}%" if percent is not None else ""
        yield flow.text(f"{device.memory_used / GIB:.1f}{of} GiB{part}")
    if device.utilization is not None:
        yield flow.text(f"load {device.utilization}%")
    if device.temperature is not None:
        yield (Run(f"{device.temperature} {'C' if flow.pen.ascii else '°C'}", MUTED),)
    if device.power is not None:
        yield flow.text(f"{device.power} W", MUTED)
    if device.error:
        yield flow.text(device.error, WARNING)


def _curves(flow: Flow, history: History, node: int, device: int) -> list[Line]:
    span = history.length * history.period
    label = {60.0: "minute ", 3600.0: "hour   "}.get(span, f"{_age(span)} ".ljust(7))
    # Two curves with their names and a separator in one line, where that fits.
    room = max(8, min(SPARKLINE, (flow.width - len(label) - 20) // 2))
    pieces: list[Line] = []
    for metric, name in _CURVES.items():
        values = history.series(node, device, metric)
        if any(value is not None for value in values):
            pieces.append((Run(sparkline(values, room, ascii=flow.pen.ascii), TEXT), Run(f" {name}", MUTED)))
    return flow.lines(pieces, head=(Run(label, MUTED),), indent=len(label)) if pieces else []


def process_lines(flow: Flow, processes: tuple[ProcessSample, ...]) -> list[Line]:
    """Who holds memory on a GPU, most first."""
    by_memory = sorted(processes, key=lambda process: -(process.memory or 0))
    pieces = [_process(flow, process) for process in by_memory[:MOST_PROCESSES]]
    if len(by_memory) > MOST_PROCESSES:
        rest = by_memory[MOST_PROCESSES:]
        held = sum(process.memory or 0 for process in rest)
        pieces.append(flow.text(f"and {len(rest)} more with {gib(held)}", MUTED))
    return flow.lines(pieces, head=(Run("held   ", MUTED),), indent=len("held   "))


def claim_lines(flow: Flow, device: DeviceSample) -> list[Line]:
    """What is reserved, claimed and held, for each actor where the three do not agree."""
    pieces = []
    for claim in device.claims:
        held = device.held_by(claim)
        if claim.reserved is not None and held != 0:
            continue  # Ray itself tells it which GPU is its own: its environment need not
        words = [
            "nothing reserved" if claim.reserved is None else f"reserved {share_figure(claim.reserved)}",
            "claimed" if claim.claimed else "not claimed",
            "holds nothing" if held == 0 else "holds what cannot be measured" if held is None else f"holds {gib(held)}",
        ]
        pieces.append((*_claimant(flow, claim), *flow.text(f" {', '.join(words)}", MUTED if held == 0 else WARNING)))
    return flow.lines(pieces[:MOST_PROCESSES], head=(Run("books  ", MUTED),), indent=len("books  ")) if pieces else []


def _claimant(flow: Flow, claim: Claim) -> Line:
    marks = flow.pen.marks
    if claim.component in marks and claim.rank is not None:
        mark = marks[claim.component]
        return (
            Run(mark.mark, flow.pen.component_style(claim.component)),
            Run(f"{mark.separator}{claim.rank}", RANK),
        )
    job = f" of job {claim.job}" if claim.job else ""
    return flow.text(f"{claim.actor}{job}")


def _process(flow: Flow, process: ProcessSample) -> Line:
    """`A2 48.1 GiB pid 20004`, `Trainer of job x 3.0 GiB pid 7`, `outside Ray 1.2 GiB pid 99`; tasks by their name."""
    held = f" {gib(process.memory)}" if process.memory is not None else " memory not known"
    pid = f" pid {process.pid}"
    marks = flow.pen.marks
    if process.kind == "rank" and process.component in marks and process.rank is not None:
        mark = marks[process.component]
        return (
            Run(mark.mark, flow.pen.component_style(process.component)),
            Run(f"{mark.separator}{process.rank}{held}", RANK),
            Run(pid, MUTED),
        )
    if process.kind == "gone":
        return (Run("gone, memory still held", ERROR), Run(held, TEXT), Run(pid, MUTED))
    if process.kind == "foreign" and not process.actor:
        return (Run("outside Ray", WARNING), Run(held, TEXT), Run(pid, MUTED))
    name = process.actor or process.component or "a Ray actor"
    if process.rank is not None:
        name += f" rank {process.rank}"
    job = f" of job {process.job}" if process.job else ""
    style = WARNING if process.kind == "foreign" else TEXT
    return (*flow.text(f"{name}{job}", style), Run(held, TEXT), Run(pid, MUTED))


def _age(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
