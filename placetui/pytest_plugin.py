"""Grids as snapshot tests: the fixture `placetui_snapshot` and the option `--placetui-update`.

Loaded by every pytest run of an environment that has placetui, so it imports nothing until a test asks for it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from placetui.grid import Density

FOLDER = "__snapshots__"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--placetui-update`."""
    group = parser.getgroup("placetui")
    group.addoption("--placetui-update", action="store_true", help="store the grids that placetui_snapshot compares")


@pytest.fixture
def placetui_snapshot(request: pytest.FixtureRequest) -> GridSnapshot:
    """Compare the grid of a file with the one stored in `__snapshots__` beside the test.

    `placetui_snapshot("conf.yaml", cluster="2x8")` fails with the difference; `pytest --placetui-update` stores the
    grid. A file is looked for beside the test first, then where pytest was started.
    """
    return GridSnapshot(request.path, request.node.name, bool(request.config.getoption("--placetui-update")))


class GridSnapshot:
    """What the fixture gives: call it with a file."""

    def __init__(self, test: Path, name: str, update: bool) -> None:
        self._test = test
        self._name = name
        self._update = update
        self._used: set[Path] = set()

    def __call__(
        self,
        file: str | os.PathLike[str],
        *,
        cluster: str | os.PathLike[str] | None = None,
        mode: str | None = None,
        density: Density | Literal["full", "compact"] = "tile",
        width: int | None = None,
        nodes: str | None = None,
        ascii: bool = False,
        name: str | None = None,
    ) -> None:
        """Draw a file and compare.

        Args:
            file: An RLinf or slime-style file.
            cluster: `2x8`, or a file with a topology.
            mode: See the file format; by default what the file says.
            density: `card`, `tile` (or `full`), `small`, `letters` (or `compact`) or `heat`.
            width: Columns to fill; by default what the drawing takes.
            nodes: Draw only these: `0-3,8`.
            ascii: Draw with nothing but ASCII.
            name: Of the stored grid; by default from the names of test and file.

        Raises:
            AssertionError: the grid is not stored, or drawn differently now.
            PlacementError: a component cannot be placed, or the file cannot be read.
        """
        __tracebackhide__ = True
        from placetui.document import load
        from placetui.grid import density_named
        from placetui.placement.ranks import parse_node_ranks
        from placetui.snapshot import RenderOptions, difference, read_snapshot, render, write_snapshot

        plan = load(self._find(file), cluster=cluster if cluster is None else self._find(cluster), mode=mode)
        shown = None if nodes is None else parse_node_ranks(nodes, range(len(plan.nodes)))
        drawn = render(plan, RenderOptions("text", density_named(density) or "tile", width, shown, ascii))
        path = self._test.parent / FOLDER / f"{name or self._default_name(file)}.txt"
        if path in self._used:
            pytest.fail(f"{path.name} is compared twice in this test: give one of them a name=", pytrace=False)
        self._used.add(path)
        stored = read_snapshot(path)
        if self._update:
            if stored is None or difference(stored, drawn, path.name):
                write_snapshot(path, drawn)
        elif stored is None:
            pytest.fail(f"{path} is not there: store it with pytest --placetui-update", pytrace=False)
        elif changes := difference(stored, drawn, path.name):
            pytest.fail(f"the grid changed; if that is meant, pytest --placetui-update\n\n{changes}", pytrace=False)

    def _find(self, file: str | os.PathLike[str]) -> str | os.PathLike[str]:
        beside = self._test.parent / file
        return beside if beside.exists() else file

    def _default_name(self, file: str | os.PathLike[str]) -> str:
        wanted = f"{self._test.stem}-{self._name}-{Path(file).stem}"
        return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in wanted)
