"""`make compat`: the tests that matter on the oldest and newest of what placetui supports, where it can be had.

Each case has an environment of its own, which is gone afterwards. What a case said stays in `.compat/CASE.json` and
`.compat/CASE.log`, so that a later run, perhaps of other cases only, adds to it. `--report FILE` writes all that is
known as a table into a document, between its two marks.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / ".compat"
BEGIN, END = "<!-- compat: begin -->", "<!-- compat: end -->"
LIMIT = 1800
"""Seconds for the tests of one case."""

CORE = (
    "tests/placement",
    "tests/frameworks",
    "tests/document",
    "tests/grid",
    "tests/observe",
    "tests/bridge",
    "tests/api",
)
SCREEN = ("tests/tui", "tests/grid")
CLUSTER = ("tests/runtime",)


@dataclass(frozen=True)
class Case:
    """Something to be compatible with."""

    name: str
    tests: Sequence[str]
    python: str = ""
    """As in 3.10; by default the one that runs this."""

    packages: Sequence[str] = ()
    """Instead of the newest that placetui allows."""


CASES = (
    Case("python-3.10", CORE, "3.10"),
    Case("python-3.12", CORE, "3.12"),
    Case("python-3.13", CORE, "3.13"),
    Case("textual-oldest", SCREEN, packages=("textual==8.2.5",)),
    Case("textual-newest", SCREEN),
    Case("ray-oldest", CLUSTER, packages=("ray==2.49.0",)),
    Case("ray-older", CLUSTER, packages=("ray==2.54.1",)),
    Case("ray-newest", CLUSTER),
)


@dataclass(frozen=True)
class Result:
    """What came of a case."""

    case: str
    date: str
    python: str
    textual: str
    ray: str
    tests: str
    """The folders."""

    outcome: str
    """As pytest says it; or why there is none."""

    passed: bool


def interpreter(version: str) -> str | None:
    """A Python of this version, if there is one: on the path, or among pyenv's."""
    if not version:
        return sys.executable
    shelves = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), reverse=True)
    found = [shutil.which(f"python{version}"), *map(str, shelves)]
    return next((one for one in found if one and _answers(one, version)), None)


def _answers(python: str, version: str) -> bool:
    # pyenv's own stand-ins are on the path also for versions that nobody has chosen.
    ask = [python, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(ask, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() == version


def run(case: Case) -> Result:
    """Make an environment, run the tests in it, remove it."""
    python = interpreter(case.python)
    if python is None:
        return _result(case, {}, f"not run: there is no Python {case.python} here", passed=False)
    with tempfile.TemporaryDirectory(prefix=f"placetui-{case.name}-") as folder, _log(case).open("w") as log:
        subprocess.run([python, "-m", "venv", folder], check=True, stdout=log, stderr=log)
        mine = f"{folder}/bin/python"
        install = [mine, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*install, "--editable", ".[dev]", *case.packages], cwd=ROOT, stdout=log, stderr=log)
        if done.returncode:
            return _result(case, {}, "not run: it cannot be installed here", passed=False)
        versions = _versions(mine)
        pytest = [mine, "-m", "pytest", "-q", "-m", "not slow and not soak", "-p", "no:cacheprovider", *case.tests]
        try:
            done = subprocess.run(pytest, cwd=ROOT, stdout=log, stderr=log, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return _result(case, versions, f"not finished within {LIMIT} s", passed=False)
    last = _log(case).read_text(errors="replace").strip().splitlines()[-1]
    outcome = re.sub(r" in [0-9.]+s.*|[=]+ ?", "", last).strip()
    return _result(case, versions, outcome, passed=done.returncode == 0)


def _versions(python: str) -> dict[str, str]:
    code = (
        "import json, platform; from importlib.metadata import version;"
        "print(json.dumps({'python': platform.python_version(), 'textual': version('textual'), 'ray': version('ray')}))"
    )
    found: dict[str, str] = json.loads(subprocess.check_output([python, "-c", code], text=True))
    return found


def _result(case: Case, versions: dict[str, str], outcome: str, *, passed: bool) -> Result:
    known = {name: versions.get(name, "-") for name in ("python", "textual", "ray")}
    folders = ", ".join(folder.removeprefix("tests/") for folder in case.tests)
    today = datetime.date.today().isoformat()
    return Result(case.name, today, tests=folders, outcome=outcome, passed=passed, **known)


def _log(case: Case) -> Path:
    return RESULTS / f"{case.name}.log"


def known() -> Iterator[Result]:
    """Everything that was run here, in the order of the cases."""
    for case in CASES:
        file = RESULTS / f"{case.name}.json"
        if file.exists():
            yield Result(**json.loads(file.read_text()))


def table(results: Sequence[Result]) -> str:
    """As Markdown."""
    heads = ("case", "Python", "Textual", "Ray", "tests", "outcome", "run on")
    rows = [(one.case, one.python, one.textual, one.ray, one.tests, one.outcome, one.date) for one in results]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows))


def write_report(file: Path, results: Sequence[Result]) -> None:
    text = file.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    file.write_text(f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests on old and new versions.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(case.name for case in CASES))
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the table into this document")
    args = parser.parse_args()
    names = [case.name for case in CASES]
    if strange := [name for name in args.cases if name not in names]:
        parser.error(f"there is no case {', '.join(strange)}; there are {', '.join(names)}")
    RESULTS.mkdir(exist_ok=True)
    os.environ.pop("VIRTUAL_ENV", None)
    failed = False
    for case in CASES:
        if args.cases and case.name not in args.cases:
            continue
        start = time.monotonic()
        result = run(case)
        failed |= not result.passed and not result.outcome.startswith("not run")
        (RESULTS / f"{case.name}.json").write_text(json.dumps(asdict(result)))
        print(f"{case.name}: {result.outcome} ({time.monotonic() - start:.0f} s, {_log(case)})", flush=True)
    print(f"\n{table(list(known()))}")
    if args.report:
        write_report(args.report, list(known()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
