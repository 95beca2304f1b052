"""`placetui call` before it talks to anybody, and how it shows what it is told."""

from __future__ import annotations

import json

import pytest

from placetui.cli.commands.cluster.call import Results
from placetui.cli.parser import parse


def test_results_on_stdout_and_the_rest_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Results(parse(["call", "job", "actor", "save"]))
    screen.show({"step": "result", "component": "actor", "rank": 1, "value": {"loss": 0.5}})
    screen.show({"step": "result", "component": "actor", "rank": 0, "error": "OSError: full", "traceback": ["raise"]})
    assert screen.sum_up({"results": {"1": {"loss": 0.5}}, "failed": {"0": "OSError: full"}, "waiting": [2, 3]}) == 3
    out, err = capsys.readouterr()
    assert out == 'actor:1         {"loss": 0.5}\n'
    assert err.splitlines() == [
        "placetui call: actor:0 failed: OSError: full",
        "  | raise",
        "placetui call: no answer within 60 s from actor:2 and actor:3",
        "  hint: save may still run there; wait longer with --timeout",
    ]


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Results(parse(["call", "job", "actor", "save", "--json"]))
    screen.show({"step": "result", "component": "actor", "rank": 0, "value": None})
    assert screen.sum_up({"address": "h:1", "results": {"0": None}, "failed": {}, "waiting": []}) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": 1,
        "job": "job",
        "component": "actor",
        "method": "save",
        "results": {"0": None},
        "failed": {},
        "waiting": [],
    }
