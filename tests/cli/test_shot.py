"""`placetui shot`: the dashboard as a picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from placetui import locations
from placetui.cli.main import main
from placetui.document import Document, PlanRequest, plan_document
from placetui.document.splice import Splice
from placetui.observe.recording.writer import Recorder
from placetui.observe.simulation import Simulation, layout_of
from placetui.tui.editor import Editor
from placetui.tui.session import Session

SAMPLES = Path(__file__).parents[2] / "sample_configs"


def shot(*arguments: object) -> int:
    return main(["shot", *map(str, arguments)])


def test_the_dashboard_with_a_simulated_cluster(tmp_path: Path) -> None:
    out = tmp_path / "X.svg"
    assert shot(SAMPLES / "collocated.yaml", "--size", "90x26", "--theme", "placetui-light", "--demo", "-o", out) == 0
    svg = out.read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert all(word in svg for word in ("collocated.yaml", "node1"))


def test_the_simulated_cluster_tells_a_story(tmp_path: Path) -> None:
    out = tmp_path / "X.svg"
    assert shot(SAMPLES / "collocated.yaml", "--size", "120x36", "--demo", "-o", out) == 0
    text = re.sub(r"<[^>]*>|&#160;", " ", out.read_text(encoding="utf-8"))
    assert re.search(r"14 +s +✗", text), "a rank has been dead for a while"
    assert re.search(r"30 +s +≠", text), "and something else was wrong before"
    assert "foreign" in text


def test_a_recording_and_the_same_bytes_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, recorded = SAMPLES / "disaggregated.yaml", tmp_path / "r.ptrec"
    simulation = Simulation(layout_of(plan_document(Document.from_file(str(file)))))
    with Recorder(recorded) as recorder:
        for second in range(3):
            recorder.write(simulation.step(1_000_000.0 + second))
    assert shot(file, "--size", "80x24", "--replay", recorded, "--press", "right,3") == 0
    first = capsys.readouterr().out
    assert shot(file, "--size", "80x24", "--replay", recorded, "--press", "right,3") == 0
    assert first == capsys.readouterr().out
    assert "Processes" in first


def test_keys_that_edit_leave_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unsaved work would be offered to the next dashboard, and in the next picture."""
    file = tmp_path / "plan.yaml"
    file.write_text((SAMPLES / "disaggregated.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    edit = (file, "--size", "100x30", "--press", "c,right_square_bracket")
    assert shot(*edit) in (0, 1)
    first = capsys.readouterr().out
    assert "edited" in first
    assert not list(locations.state_dir().rglob("*")), "no state was stored"
    editor = Editor(Session.open(str(file), PlanRequest()), write=False)
    editor.history.apply(Splice(0, 0, "# unsaved"), "typing")
    editor.keep()
    assert shot(*edit) in (0, 1)
    assert capsys.readouterr().out == first, "unsaved work of a dashboard is not in the picture"
    assert editor.lost_work() is None, "it is still stored"


def test_problems_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "X.svg"
    assert shot(SAMPLES / "broken-out-of-range.yaml", "--size", "80x24", "-o", out) == 1
    assert "error[resource_out_of_range]" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "FILE is missing"),
        (("f.yaml", "--size", "big"), "expected columns x lines"),
        (("f.yaml", "--size", "10x2"), "from 20x5 to 500x200"),
        (("f.yaml", "--theme", "placetui-drak"), "did you mean placetui-dark?"),
        (("no-such-file.yaml",), "no-such-file.yaml"),
        ((str(SAMPLES / "collocated.yaml"), "-o", "/no/such/folder/x.svg"), "No such file"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = shot(*arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    assert words in capsys.readouterr().err
