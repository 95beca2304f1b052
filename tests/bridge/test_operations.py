"""Operations over a real child process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from placetui.bridge.client import Bridge
from placetui.bridge.operations import BridgeOperations
from placetui.observe.operations import Failure, Nothing, Operations, Refusing

_CHILD = """
import os
from placetui.bridge.child import run
from placetui.bridge.work import Interrupted

class Wrong(ValueError):
    pass

def ask(body, work):
    return {"answer": work.ask(1e12, step="check", question="launch")}

def fail(body, work):
    work.report(step="failed", message="it does not fit", hint="request less", rank=3)
    raise Wrong("it does not fit")

def wait(body, work):
    work.report(step="waiting")
    work.interrupted.wait(60)
    raise Interrupted

def die(body, work):
    os._exit(7)

run({}, jobs={"up": ask, "call": fail, "logs": wait, "kill": die, "ps": lambda body, work: {"jobs": [body["address"]]}})
"""


class Reports:
    """A reporter that can be waited for."""

    def __init__(self) -> None:
        self.steps: SimpleQueue[Mapping[str, Any]] = SimpleQueue()
        self._outcomes: SimpleQueue[Mapping[str, Any] | Failure] = SimpleQueue()

    def told(self, step: Mapping[str, Any]) -> None:
        self.steps.put(step)

    def finished(self, outcome: Mapping[str, Any] | Failure) -> None:
        self._outcomes.put(outcome)

    @property
    def outcome(self) -> Mapping[str, Any] | Failure:
        return self._outcomes.get(timeout=20)


@pytest.fixture
def operations(tmp_path: Path) -> Iterator[Operations]:
    with Bridge(tmp_path, [sys.executable, "-c", _CHILD]) as bridge:
        yield BridgeOperations(bridge, "look at the list")


def test_a_result_comes_back(operations: Operations) -> None:
    reports = Reports()
    operations.begin("ps", reports, address="auto")
    assert reports.outcome == {"jobs": ["auto"]}


def test_a_question_waits_for_its_answer(operations: Operations) -> None:
    reports = Reports()
    operation = operations.begin("up", reports)
    assert reports.steps.get(timeout=20) == {"step": "check", "question": "launch"}
    operation.answer(True)
    assert reports.outcome == {"answer": True}


def test_a_failure_has_its_hint_and_details(operations: Operations) -> None:
    reports = Reports()
    operations.begin("call", reports)
    assert reports.outcome == Failure("it does not fit", "request less", details={"rank": 3})


def test_what_is_interrupted_says_so(operations: Operations) -> None:
    reports = Reports()
    operation = operations.begin("logs", reports)
    assert reports.steps.get(timeout=20)["step"] == "waiting"
    operation.interrupt()
    assert reports.outcome == Failure("interrupted", interrupted=True)


def test_a_child_that_dies_is_a_failure(operations: Operations) -> None:
    reports = Reports()
    operations.begin("kill", reports)
    outcome = reports.outcome
    assert isinstance(outcome, Failure)
    assert "ended" in outcome.message
    assert "exit code 7" in outcome.message
    assert (outcome.hint, outcome.details) == ("look at the list", {"lost": True})


def test_without_permission_only_looking_is_done(operations: Operations) -> None:
    refusing = Refusing(operations, "started without --write")
    for kind in ("up", "down", "call", "kill", "restart"):
        reports = Reports()
        assert isinstance(refusing.begin(kind, reports), Nothing)
        assert reports.outcome == Failure("started without --write", hint="start placetui with --write")
    reports = Reports()
    refusing.begin("ps", reports, address="auto")
    assert reports.outcome == {"jobs": ["auto"]}
