"""Ray is imported once and completely, whichever threads need it first."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import placetui.runtime

RUNTIME = Path(placetui.runtime.__path__[0])

AT_ONCE = """
import json, sys, threading, time
from placetui.bridge.work import Work
from placetui.runtime.child import JOBS

answers = {}

def ask(kind, module):
    # Each comes while another one is in the middle of importing Ray.
    while module and module not in sys.modules:
        time.sleep(0.0005)
    try:
        answers[kind] = dict(JOBS[kind]({"address": "auto", "job": "one"}, Work(0, lambda kind, **body: None)))
    except Exception as problem:
        answers[kind] = {"error": f"{type(problem).__name__}: {problem}"}

asked = {"versions": "", "clusters": "ray._private", "logs": "ray.core", "ps": "ray"}
threads = [threading.Thread(target=ask, args=one) for one in asked.items()]
for one in threads:
    one.start()
for one in threads:
    one.join()
answers["first"] = answers["clusters"]
ask("clusters", "")
print(json.dumps(answers))
"""

INTERRUPTED = """
import json, sys
from placetui.runtime.gcs.importing import import_ray

class Once:
    failed = False

    def find_spec(self, name, path=None, target=None):
        if name == "ray.util" and not self.failed:
            self.failed = True
            raise ImportError("a file system that was away")

sys.meta_path.insert(0, Once())
try:
    import_ray()
except ImportError as problem:
    first = str(problem)
services, ray = import_ray("ray._private.services"), import_ray()
print(json.dumps([first, ray._private.services is services, callable(ray.init)]))
"""


def result_of(program: str) -> Any:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_requests_that_come_at_once_see_a_ray_that_is_complete() -> None:
    answers = result_of(AT_ONCE)
    assert "clusters" in answers["first"], answers["first"]
    assert "clusters" in answers["clusters"], answers["clusters"]
    assert answers["versions"]["ray"]
    # Whether there is a cluster is another question.
    assert "Ray cannot be used" not in f"{answers['logs']} {answers['ps']}"


@pytest.mark.slow
def test_an_import_that_failed_can_be_tried_again() -> None:
    assert result_of(INTERRUPTED) == ["a file system that was away", True, True]


def test_all_of_runtime_imports_ray_through_one_function() -> None:
    others = [
        f"{path.relative_to(RUNTIME)}:{node.lineno}"
        for path in RUNTIME.rglob("*.py")
        if path.parent.name != "remote" and path.name != "importing.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and any(one.name.partition(".")[0] == "ray" for one in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("ray", "importlib"))
    ]
    assert others == []
