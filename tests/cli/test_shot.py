"""`placetui shot`: the dashboard as a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from placetui.cli.main import main
from placetui.document import Document, plan_document
from placetui.observe.recording.writer import Recorder
from placetui.observe.simulation import Simulation, layout_of

SAMPLES = Path(__file__).parents[2] / "sample_configs"


def shot(*arguments: object) -> int:
    return main(["shot", *map(str, arguments)])


def test_the_dashboard_with_a_simulated_cluster(tmp_path: Path) -> None:
    out = tmp_path / "X.svg"
    assert shot(SAMPLES / "collocated.yaml", "--size", "90x26", "--theme", "placetui-light", "--demo", "-o", out) == 0
    svg = out.read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert all(word in svg for word in ("collocated.yaml", "node1"))


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
    assert "processes" in first


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
