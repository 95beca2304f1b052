"""What docs/security.md promises: each heading there has its tests here, or in the file that it names."""

from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import placetui
from placetui import locations
from placetui.bridge.process import Log
from placetui.document.storage import recovery
from placetui.observe.recording.writer import Recorder
from placetui.settings import state

ROOT = Path(__file__).parents[2]
PACKAGE = Path(placetui.__file__).parent

# A file from somebody who wants more than to be looked at.
TRAP = """
cluster:
  num_nodes: 1
  component_placement:
    actor: 0-3
placetui:
  topology: {gpus_per_node: 8}
  launch: {actor: {worker: "trap:Worker"}}
"""


TRUSTED = {"runtime/jobs/rank_spec.py": {"pickle.loads"}, "runtime/remote/rank_actor.py": {"pickle.loads"}}
"""What a launch left in the cluster's own store, read in the child or in a rank: whoever writes there may run anything
there."""


def calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)
            yield from (f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in node.keywords)


def test_nothing_in_the_package_runs_text_as_code() -> None:
    forbidden = {
        *("eval", "exec", "compile", "os.system", "os.popen", "shell=True", "marshal.loads"),
        *("pickle.load", "pickle.loads", "yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load"),
    }
    for path in PACKAGE.rglob("*.py"):
        found = forbidden.intersection(calls(path))
        assert not found - TRUSTED.get(path.relative_to(PACKAGE).as_posix(), set()), path


def test_only_the_safe_loader_is_ever_named() -> None:
    for path in PACKAGE.rglob("*.py"):
        named = set(re.findall(r"\byaml\.(C?\w*Loader)\b", path.read_text(encoding="utf-8")))
        assert named <= {"SafeLoader", "CSafeLoader"}, path


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "FILE"],
        ["show", "FILE"],
        ["explain", "FILE", "actor:0"],
        ["diff", "FILE", "FILE"],
        ["up", "FILE"],
        ["up", "FILE", "--address", "local"],
    ],
    ids=" ".join,
)
def test_looking_at_a_file_never_imports_what_it_names(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "trap.py").write_text("open('sprung', 'w')\nclass Worker: pass\n")
    (tmp_path / "trap.yaml").write_text(TRAP)
    words = ["trap.yaml" if word == "FILE" else word for word in arguments]
    done = subprocess.run(
        [sys.executable, "-m", "placetui", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == (2 if "up" in arguments else 0), done.stderr
    assert not (tmp_path / "sprung").exists()


def test_what_is_kept_is_for_its_owner_alone(tmp_path: Path, quiet_environment: Path) -> None:
    before = os.umask(0)
    try:
        log = Log(locations.logs_dir())
        log.write("said by a child")
        log.close()
        assert state.update(lambda remembered: remembered.opened(tmp_path / "secret project.yaml"))
        assert recovery.keep(tmp_path / "plan.yaml", "unsaved", "")
        Recorder(tmp_path / "seen.jsonl").close()
    finally:
        os.umask(before)
    found = [path for path in (quiet_environment / "state").rglob("*") if path.name != "state"]
    assert {path.name for path in found} >= {"placetui", "logs", "unsaved", "state.json"}
    for path in [*found, tmp_path / "seen.jsonl"]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path} has {mode:o}"


def test_the_dependencies_are_those_of_the_document() -> None:
    written = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[(.*?)^\]", written, re.MULTILINE | re.DOTALL)
    assert block
    needed = set(re.findall(r'^  "([a-z0-9-]+)', block[1], re.MULTILINE))
    document = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `([a-z0-9-]+)` \|", document, re.MULTILINE))
    assert explained == needed


def test_tests_that_the_document_names_are_there() -> None:
    document = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)`", document)
    assert named
    assert all((ROOT / name).is_file() for name in named)
