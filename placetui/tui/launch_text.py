"""What the launch screen says: steps, who starts where, what moved, what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from placetui.grid import clean
from placetui.grid.text import share_figure
from placetui.observe.operations import Failure
from placetui.placement.problems import listing
from placetui.tui.launching import Launch, gpu_text, worker_of

MOST_ROWS = 1000
"""Ranks that are listed; a person reads fewer."""


def launch_text(launch: Launch, ascii: bool) -> Group:
    """All that is known of a launch, for a person who decides or waits."""
    return Group(*_lines(launch, ascii))


def _hanging(head: str, words: str) -> Table:
    """Words that stay right of their head when they need several lines."""
    table = Table.grid()
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(Text(head, "bold"), Text(words))
    return table


def _lines(launch: Launch, ascii: bool) -> Iterator[Text | Table]:
    done, doing = ("+", "-") if ascii else ("✔", "…")
    for name, words, finished in launch.progress():
        yield _hanging(f"{done if finished else doing} {name:<8}", clean(words, ascii))
    for warning in launch.told.get("match", {}).get("warnings", ()):
        yield _hanging("! warning: ", clean(str(warning), ascii))
    if launch.unsaved and not launch.confirmed and launch.under_way:
        yield _hanging("! unsaved: ", "what is on the screen is launched, not what the file says")
    outcome = launch.outcome
    if isinstance(outcome, Failure):
        yield from _failure(launch, outcome, ascii)
        return
    if launch.under_way and not launch.question and not launch.ready:
        words = "taking everything back" if launch.cancelled else launch.next_words
        yield Text(f"{doing} {clean(words, ascii)}")
    if launch.question == "moved":
        yield Text()
        yield Text("Others hold planned GPUs. These ranks would be elsewhere:")
        yield from _table(("rank", "node", "planned", "would get"), _moves(launch), ascii)
    elif launch.expected and not launch.confirmed:
        yield Text()
        yield from _table(("rank", "node", "expected", "share", "worker"), _ranks(launch), ascii)


def _failure(launch: Launch, failure: Failure, ascii: bool) -> Iterator[Text | Table]:
    if failure.interrupted:
        yield Text("It was cancelled, and everything was taken back." if launch.confirmed else "It was cancelled.")
        return
    yield Text()
    yield Text(clean(failure.message, ascii), "bold")
    for line in failure.details.get("problems") or failure.details.get("traceback") or ():
        for part in str(line).splitlines():
            yield Text(f"  | {clean(part, ascii)}", "dim")
    yield from _table(("node", "lacks", "needed", "free", "held by"), _shortages(failure), ascii)
    if hint := failure.hint:
        yield _hanging("hint: ", clean(hint, ascii))
    if not failure.details.get("lost") and not launch.dry_run:
        yield Text("Everything was taken back." if launch.confirmed else "Nothing was started.")


def _ranks(launch: Launch) -> Iterator[tuple[str, ...]]:
    workers = {name: worker_of(launch.plan, name) for name in launch.plan.components}
    for one in launch.expected:
        component = launch.plan.components.get(one["component"])
        share = component.rank_share(one["rank"]) if component and one["rank"] < component.world_size else None
        yield (
            f"{one['component']}:{one['rank']}",
            f"{one['node_rank']}  {one['node']}",
            gpu_text(one["gpu_ids"], one["planned"]),
            "" if share is None else share_figure(share),
            workers.get(one["component"], ""),
        )


def _moves(launch: Launch) -> Iterator[tuple[str, ...]]:
    for one in launch.moved:
        yield f"{one['component']}:{one['rank']}", str(one["node_rank"]), _gpus(one["planned"]), _gpus(one["got"])


def _gpus(positions: Sequence[int]) -> str:
    return f"GPU {','.join(map(str, positions))}"


def _shortages(failure: Failure) -> Iterator[tuple[str, ...]]:
    for one in failure.details.get("shortages", ()):
        held: Mapping[str, Any] = one
        yield (
            f"{held['node_rank']}  {held['node']}",
            str(held["resource"]),
            f"{held['needed']:g}",
            f"{held['free']:g} of {held['total']:g}",
            listing(held.get("held_by", ()), 4),
        )


def _table(headings: Sequence[str], rows: Iterator[tuple[str, ...]], ascii: bool) -> Iterator[Text]:
    """Rows in columns; nothing if there are none."""
    shown = [tuple(clean(cell, ascii) for cell in row) for row in rows]
    if not shown:
        return
    left = len(shown) - MOST_ROWS
    del shown[MOST_ROWS:]
    widths = [max(len(row[column]) for row in (headings, *shown)) for column in range(len(headings))]
    yield Text(_row(headings, widths), "dim", no_wrap=True, overflow="ellipsis")
    for row in shown:
        yield Text(_row(row, widths), no_wrap=True, overflow="ellipsis")
    if left > 0:
        yield Text(f"and {left} more", "dim")


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
