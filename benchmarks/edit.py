"""What a keystroke in a rule costs: splice, document, plan and the visible window of the drawing.

python benchmarks/edit.py [--repeat N]

Each keystroke leaves a rule that was not there before, so that its component is resolved anew; two others stay.
`grid edit` is the whole way of an edit in the grid: proposed, written, read again, resolved and checked.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time

from placetui.document import Document, PlanRequest, plan_document
from placetui.document.edit import Edited, attempt
from placetui.document.splice import Splice
from placetui.frameworks.planner import Planner
from placetui.grid import Drawing
from placetui.placement.edits import Resize

SIZES = (8, 128, 1024)
GPUS = 8
WINDOW = 60
LINES = 20_000


def text_for(nodes: int, other_lines: int = 0) -> str:
    last = nodes * GPUS - 1
    rules = f"    actor: all\n    rollout: 0-{last}\n    env: 0-{last - 1}\n"
    head = f"cluster:\n  num_nodes: {nodes}\n  component_placement:\n{rules}"
    sections = "".join(
        f"section{number}:\n" + "".join(f"  key{line}: {{name: value {line}, size: {line}}}\n" for line in range(99))
        for number in range(other_lines // 100)
    )
    return f"{head}{sections}placetui:\n  topology: {{nodes: {nodes}, gpus_per_node: {GPUS}}}\n"


class Typist:
    """Types in the rule of `env`, each time another one."""

    def __init__(self, nodes: int, other_lines: int) -> None:
        self._nodes = nodes
        self.document = Document(text_for(nodes, other_lines))
        self.plan_request = PlanRequest(planner=Planner())
        self.plan = plan_document(self.document, self.plan_request)
        self._turn = 0

    def splice(self) -> Splice:
        self._turn += 1
        span = self.document.span(("cluster", "component_placement", "env"))
        assert span is not None
        return Splice(*span, f"0-{self._nodes * GPUS - 2 - self._turn % 50}")

    def read(self) -> None:
        self.document = self.document.change([self.splice()])

    def resolve(self) -> None:
        self.plan = plan_document(self.document, self.plan_request)

    def draw(self) -> None:
        drawing = Drawing(self.plan, "full", width=160)
        for _ in drawing.lines(0, WINDOW):
            pass

    def edit(self) -> None:
        self._turn += 1
        found = attempt(self.document, self.plan, Resize("env", -1), self.plan_request)
        assert isinstance(found, Edited)


def timed(work: Callable[[], None]) -> float:
    start = process_time()
    work()
    return process_time() - start


def measure(nodes: int, other_lines: int, repeat: int) -> tuple[list[float], float]:
    """Least CPU milliseconds of reading, resolving and drawing after a keystroke, and of an edit in the grid."""
    typist = Typist(nodes, other_lines)
    rounds = [[timed(typist.read), timed(typist.resolve), timed(typist.draw)] for _ in range(repeat)]
    edits = [timed(typist.edit) for _ in range(repeat)]
    return [min(times) * 1e3 for times in zip(*rounds, strict=True)], min(edits) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    repeat = parser.parse_args().repeat
    print(f"{'nodes':>6} {'lines':>7} {'read ms':>9} {'plan ms':>9} {'draw ms':>9} {'keystroke':>10} {'grid edit':>10}")
    for nodes, other_lines in [*((size, 0) for size in SIZES), (8, LINES)]:
        parts, edit = measure(nodes, other_lines, repeat)
        lines = text_for(nodes, other_lines).count("\n")
        read, plan, draw = parts
        print(f"{nodes:>6} {lines:>7} {read:>9.1f} {plan:>9.1f} {draw:>9.1f} {sum(parts):>10.1f} {edit:>10.1f}")


if __name__ == "__main__":
    main()
