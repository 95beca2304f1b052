"""Work that takes long, with a real child: progress, questions, interruption, and what happens when the asker goes."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from placetui.bridge.client import Bridge, RequestRefused
from placetui.bridge.messages import Message

Open = Callable[..., Bridge]
Script = Callable[[str], list[str]]

WORKER = """
import pathlib, sys, time
from placetui.bridge.child import run
from placetui.bridge.work import Interrupted

def count(body, work):
    for number in range(body["to"]):
        work.report(step=number)
    return {"sum": body["to"]}

def ask(body, work):
    return {"answer": work.ask(time.monotonic() + 20, question="really?")}

def wait(body, work):
    work.report(step="waiting")
    work.interrupted.wait(60)
    time.sleep(0.3)  # to be undone
    pathlib.Path(body["undone"]).write_text("yes")
    raise Interrupted

def fail(body, work):
    raise (ValueError if body["error"] == "value" else KeyError)("no good")

run({}, jobs={"count": count, "ask": ask, "wait": wait, "fail": fail})
"""


@pytest.fixture
def bridge(open_bridge: Open, script: Script) -> Bridge:
    bridge = open_bridge(script(WORKER), patience=10.0)
    bridge.start()
    return bridge


def test_progress_comes_in_order_and_then_the_result(bridge: Bridge) -> None:
    told: list[Any] = []
    call = bridge.begin("count", progress=lambda message: told.append(message.body["step"]), timeout=20, to=5)
    assert call.future.result(20).body["sum"] == 5
    assert told == [0, 1, 2, 3, 4]


def test_a_question_gets_its_answer(bridge: Bridge) -> None:
    told: SimpleQueue[Message] = SimpleQueue()
    call = bridge.begin("ask", progress=told.put, timeout=20)
    assert told.get(timeout=20).body["question"] == "really?"
    call.answer({"yes": True})
    assert call.future.result(20).body["answer"] == {"yes": True}


def test_other_requests_are_answered_meanwhile_and_interruption_is_waited_for(bridge: Bridge, tmp_path: Path) -> None:
    told: SimpleQueue[Message] = SimpleQueue()
    call = bridge.begin("wait", progress=told.put, timeout=60, undone=str(tmp_path / "undone"))
    told.get(timeout=20)
    assert bridge.begin("count", timeout=20, to=1).future.result(20).body["sum"] == 1
    call.interrupt()
    with pytest.raises(RequestRefused, match="interrupted"):
        call.future.result(20)
    assert (tmp_path / "undone").exists()


@pytest.mark.parametrize("kind", ["value", "key"])
def test_what_fails_is_refused_with_the_reason(bridge: Bridge, kind: str) -> None:
    with pytest.raises(RequestRefused, match="no good"):
        bridge.begin("fail", timeout=20, error=kind).future.result(20)


def test_closing_waits_until_all_is_undone(bridge: Bridge, tmp_path: Path) -> None:
    told: SimpleQueue[Message] = SimpleQueue()
    bridge.begin("wait", progress=told.put, timeout=60, undone=str(tmp_path / "undone"))
    told.get(timeout=20)
    begun = time.monotonic()
    bridge.close()
    assert time.monotonic() - begun < 20
    assert (tmp_path / "undone").exists()


def test_the_child_of_a_dead_parent_undoes_its_work(script: Script, tmp_path: Path) -> None:
    child = subprocess.Popen(script(WORKER), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdin is not None
    assert child.stdout is not None
    request = {"type": "wait", "id": 1, "undone": str(tmp_path / "undone")}
    child.stdin.write(json.dumps(request).encode() + b"\n")
    child.stdin.flush()
    while json.loads(child.stdout.readline())["type"] != "progress":
        pass
    # As when the parent is killed: both pipes end.
    child.stdin.close()
    child.stdout.close()
    child.wait(20)
    assert (tmp_path / "undone").exists()
