"""`docs/rules.md` lists every rule that the product can report, and each of its examples gives its rule."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import placetui
from placetui.document import Document, PlanRequest, plan_document
from placetui.document.options import read_cluster_option
from placetui.placement.problems import PlacementError, Problem

ROOT = Path(__file__).parents[2]
RULES = ROOT / "docs" / "rules.md"

REPORTERS = frozenset({"Problem", "error", "warning", "info", "fail", "refuse", "RankError", "_once"})
"""Calls whose first argument is a rule id."""

NO_REPORTERS = frozenset(
    {
        "_log.warning",
        "self._logger.info",
        "parser.error",
        "pytest.fail",
        "self._logger.error",
        "self.error",
        "self._logger.warning",
        # The dashboard shows why an edit is refused; its argument is the refusal.
        "self._workspace.refuse",
        "workspace.refuse",
    }
)
"""Calls of that name that have nothing to do with rules."""

INDIRECT = frozenset(
    {
        # Which id a grammar error gets depends on what is counted.
        "resource_range_reversed",
        "process_range_reversed",
        "node_ranks_reversed",
        "node_ranks_out_of_range",
        # What YAML makes of a text is decided first and reported in one place.
        "yaml_base60",
        "yaml_bool",
        "yaml_number",
        "yaml_octal",
        "mp_inference_tp",
        # f"mp_missing_{role}" and f"mp_{role}_tp".
        "mp_missing_actor",
        "mp_missing_rollout",
        "mp_missing_reward",
        "mp_actor_tp",
        "mp_rollout_tp",
    }
)
"""Ids that reach a reporter in a variable or are put together."""

FORWARDERS = frozenset(
    {
        ("parsing.py", "rule"),
        ("model_parallel.py", "f'mp_missing_{role}'"),
        ("model_parallel.py", "rule or f'mp_{role}_tp'"),
        ("problems.py", "rule"),
        ("ranks.py", "rule"),
        ("ranks.py", "rules.reversed"),
        ("ranks.py", "rules.out_of_range"),
        ("report.py", "rule"),
        ("placing.py", "rule"),
        ("misreadings.py", "rule"),
        ("values.py", "rule"),
        # Not an id: what the dashboard shows of an edit that is refused.
        ("main.py", "refusal"),
        ("session.py", "why.rule"),
        ("workspace.py", "result"),
        ("workspace.py", "Refusal(result.message, result.hint)"),
    }
)
"""Places that pass an id on; whoever adds one looks whether `INDIRECT` is still complete."""


OF_CLUSTERS = frozenset({"verl_shared_transfer_queue"})
"""Rules about what runs on a cluster: no file gives them."""


@dataclass(frozen=True)
class Entry:
    """One rule of the document."""

    rule: str
    severity: str
    text: str

    @property
    def examples(self) -> list[tuple[str, str]]:
        """Info string and content of its fenced blocks."""
        return re.findall(r"^```(\w[^\n]*)\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)


def read_entries() -> list[Entry]:
    pieces = re.split(r"^### `(\w+)` \((error|warning|info)\)$", RULES.read_text(), flags=re.MULTILINE)
    return [Entry(*pieces[start : start + 3]) for start in range(1, len(pieces), 3)]


ENTRIES = read_entries()


def reporting_calls() -> Iterator[tuple[Path, ast.expr]]:
    """Every call that reports a problem, with the expression of its rule id."""
    for path in sorted((ROOT / "placetui").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = ast.unparse(node.func)
            if name in NO_REPORTERS or name.startswith("RankFailure") or name == "failure.error":
                continue
            if name.split(".")[-1] in REPORTERS:
                yield path, node.args[0]


def literals(expression: ast.expr) -> list[str]:
    """The ids that an expression can only be; none when they come from elsewhere."""
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        return [expression.value]
    if isinstance(expression, ast.IfExp):
        return [*literals(expression.body), *literals(expression.orelse)]
    return []


def run_yaml(text: str, options: list[str]) -> list[Problem]:
    given = dict(zip(options[::2], options[1::2], strict=True))
    cluster = given.pop("--cluster", None)
    plan_request = PlanRequest(
        nodes=None if cluster is None else tuple(read_cluster_option(cluster)), mode=given.pop("--mode", None)
    )
    assert not given, "options that this test does not know"
    return plan_document(Document(text), plan_request).problems


def run_python(text: str) -> list[Problem]:
    with pytest.raises(PlacementError) as caught:
        exec(compile(text, "docs/rules.md", "exec"), {"placetui": placetui})
    return caught.value.problems


def run_shell(text: str, folder: Path) -> list[tuple[str, str]]:
    """Severity and rule of what the commands print."""
    command = folder / "bin" / "placetui"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m placetui "$@"\n')
    command.chmod(0o755)
    path = os.pathsep.join((str(command.parent), os.environ.get("PATH", os.defpath)))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", text], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in (1, 2), done.stderr
    return re.findall(r"(error|warning)\[(\w+)\]", done.stdout + done.stderr)


def test_the_document_lists_exactly_the_rules_of_the_source() -> None:
    found = {rule for _, expression in reporting_calls() for rule in literals(expression)}
    documented = [entry.rule for entry in ENTRIES]
    assert sorted(documented) == sorted(found | INDIRECT)


def test_ids_that_are_no_literals_are_accounted_for() -> None:
    forwarded = {(path.name, ast.unparse(it)) for path, it in reporting_calls() if not literals(it)}
    assert forwarded == FORWARDERS


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.rule)
def test_every_example_gives_its_rule(entry: Entry, tmp_path: Path) -> None:
    assert entry.examples or entry.rule in OF_CLUSTERS, "a rule needs an example"
    for info, text in entry.examples:
        language, *options = info.split()
        if language == "sh":
            found = run_shell(text, tmp_path)
        else:
            problems = run_python(text) if language == "python" else run_yaml(text, options)
            found = [(problem.severity, problem.rule) for problem in problems]
        assert (entry.severity, entry.rule) in found


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.rule)
def test_messages_speak_with_one_voice(entry: Entry) -> None:
    for info, text in entry.examples:
        language, *options = info.split()
        if language != "yaml":
            continue
        for problem in run_yaml(text, options):
            assert problem.hint, problem.rule
            for sentence in (problem.message, problem.hint):
                assert not sentence.endswith("."), sentence
                assert sentence[0] == "`" or not sentence[0].isupper() or sentence.startswith("RLinf"), sentence
                assert sentence.count("`") % 2 == 0, sentence
