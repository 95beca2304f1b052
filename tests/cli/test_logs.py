"""How `placetui logs` and `stack` show what they are told."""

from __future__ import annotations

import pytest

from placetui.cli import main
from placetui.cli.commands.cluster.logs import LogLines
from placetui.cli.parser import parse


@pytest.mark.parametrize(
    ("typed", "target"),
    [
        ([], ("", None)),
        (["actor"], ("actor", None)),
        (["actor:3"], ("actor", [3])),
        (["teacher:math:0"], ("teacher:math", [0])),
        (["teacher:math"], ("teacher:math", None)),
        (["actor:0-2,2,8"], ("actor", [0, 1, 2, 8])),
    ],
)
def test_ranks(typed: list[str], target: tuple[str, list[int] | None]) -> None:
    assert parse(["logs", "job", *typed]).target == target


def test_lines_are_data_and_the_state_is_narration(capsys: pytest.CaptureFixture[str]) -> None:
    shown = LogLines(prefixed=False)
    shown.show({"step": "lines", "component": "actor", "rank": 3, "stream": "err", "lines": ["one", "[two]"]})
    shown.show({"step": "rank", "component": "actor", "rank": 3, "state": "dead", "reason": "node lost"})
    shown.show({"step": "rank", "component": "actor", "rank": 3, "state": "alive", "reason": None})
    shown.show({"step": "note", "message": "actor:4 has no log"})
    expected = "actor:3 is dead: node lost\nactor:3 is alive\nnote: actor:4 has no log\n"
    assert capsys.readouterr() == ("one\n[two]\n", expected)


def test_lines_of_several_ranks_begin_with_their_rank(capsys: pytest.CaptureFixture[str]) -> None:
    shown = LogLines(prefixed=True)
    for rank in (1, 10, 2):
        shown.show({"step": "lines", "component": "actor", "rank": rank, "stream": "out", "lines": ["x", ""]})
    assert capsys.readouterr().out.splitlines() == [
        "actor:1 | x",
        "actor:1 | ",
        "actor:10 | x",
        "actor:10 | ",
        "actor:2  | x",
        "actor:2  | ",
    ]


def test_a_stack_is_data(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("placetui.cli.cluster.RUNTIME", "tests.cli.two_jobs")
    assert main(["stack", "mine", "actor:1"]) == 0
    assert capsys.readouterr() == ("Thread 1\n  in wait\n", "actor:1, read by py-spy\n")
