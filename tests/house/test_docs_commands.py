"""Every command and every piece of Python in the documentation works as it stands there.

Lines of `sh` blocks run one after the other in a folder with what they speak of, on a machine with eight GPUs. What
needs a cluster, a terminal or the network cannot run there: such commands are held against the parser of the command,
and `test_docs_on_ray.py` runs them on a cluster.
A block whose first line says `# not run: …` is left out, for the reason that every reader sees.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from placetui.cli.parser import command_parser
from tests.house.documents import NOT_RUN, blocks, command_of, lines, words
from tests.telemetry.standin import StandIn

ROOT = Path(__file__).parents[2]
# The blocks of the rules have a test of their own.
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name != "rules.md"),
]

CONF = """\
cluster:
  num_nodes: 2
  component_placement:
    actor: 0-7
    rollout: 8-15
  node_groups:
    - {label: a800, node_ranks: 0-1}
"""
ONE_NODE = "cluster: {num_nodes: 1, component_placement: {actor: 0-7}}\n"

ON_A_CLUSTER = ("up", "ps", "down", "call", "logs", "stack", "pending", "submit", "serve")
ELSEWHERE = ("make", "pip", "pipx", "uvx", "uv", "apt", "sudo", "ssh", "source", "python", "ray", ".ci/run")
"""Commands that set things up, or need a network: only those of make can be checked, by their targets."""

ON_RAY = "python.md"
"""Its blocks belong together and need a cluster: `tests/runtime/test_programs.py` runs them there."""


def can_run(line: str) -> bool:
    found = words(line)
    if found[0] in ELSEWHERE:
        return False
    if found[0] != "placetui":
        return True
    command = command_of(line)
    if not command:
        return found[1:] in (["--version"], ["--help"])
    without_ray = {"top": "--no-ray", "preflight": "--cluster"}
    return command not in ON_A_CLUSTER and without_ray.get(command, command) in found


def check(line: str) -> None:
    """Whether its words are understood."""
    found = words(line)
    if found[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert all(word in targets or "=" in word for word in found[1:]), line
    elif found[0] == "placetui":
        command = command_of(line)
        try:
            command_parser(command).parse_args(found[2 if command else 1 :])
        except SystemExit as ended:
            pytest.fail(f"{line}: exit {ended.code}")


@pytest.fixture
def sandbox(tmp_path: Path, standin: StandIn) -> tuple[Path, dict[str, str]]:
    """A folder with what the documentation speaks of, and surroundings in which `placetui` is a command."""
    folder = tmp_path / "desk"
    shutil.copytree(ROOT / "sample_configs", folder / "sample_configs")
    (folder / "configs").mkdir()
    for name, text in {"conf.yaml": CONF, "FILE": ONE_NODE, "configs/train.yaml": CONF}.items():
        (folder / name).write_text(text)
    for number, name in enumerate(["A", "B", "a.yaml", "b.yaml", "before.yaml", "after.yaml"]):
        (folder / name).write_text(CONF.replace("0-7", f"0-{6 + number % 2}"))
    program = tmp_path / "bin" / "placetui"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m placetui "$@"\n')
    program.chmod(0o755)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    origin = ["update-ref", "refs/remotes/origin/main", "HEAD"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], origin) if shutil.which("git") else ():
        subprocess.run([*git, *command], cwd=folder, check=True, timeout=60)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    return folder, {**standin.environment, "PATH": path, "PYTHONUTF8": "1", "TERM": "dumb"}


@pytest.mark.parametrize(("name", "block"), blocks("sh", DOCUMENTS), ids=lambda value: value if len(value) < 40 else "")
def test_commands_of_the_documentation(name: str, block: str, sandbox: tuple[Path, dict[str, str]]) -> None:
    if block.startswith(NOT_RUN):
        pytest.skip(block.splitlines()[0].removeprefix(NOT_RUN).strip())
    if any(words(line)[0] == "git" for line in lines(block)) and not shutil.which("git"):
        pytest.skip("there is no git here")
    folder, environment = sandbox
    assert list(lines(block))
    for line in lines(block):
        if not can_run(line):
            check(line)
            continue
        written = line.replace("/tmp/", f"{folder}/")
        # What runs until somebody ends it gets a moment, then Ctrl-C.
        endless = command_of(line) == "top" and "--once" not in words(line)
        limit = ["timeout", "--signal=INT", "4"] if endless else []
        done = subprocess.run(
            [*limit, "bash", "-c", f"exec {written}" if endless else written],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if endless:
            # On a busy machine it may have been ended before it began; that its words are wrong it says at once.
            assert done.returncode != 2, f"{line}\n{done.stderr}"
        else:
            assert done.returncode in (0, 1), f"{line}\n{done.stderr}"
            assert "Traceback" not in done.stderr, line


@pytest.mark.parametrize(
    ("name", "block"), blocks("python", DOCUMENTS), ids=lambda value: value if len(value) < 40 else ""
)
def test_python_of_the_documentation(name: str, block: str, sandbox: tuple[Path, dict[str, str]]) -> None:
    folder, environment = sandbox
    compile(block, name, "exec")
    if block.startswith(NOT_RUN) or name.startswith(ON_RAY):
        return
    file = folder / ("test_block.py" if "def test_" in block else "block.py")
    file.write_text(block)
    plugin = ["-p", "no:cacheprovider", "-p", "placetui.pytest_plugin", "--placetui-update"]
    # An installed placetui brings its plugin with it; twice would be once too many.
    environment = {**environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = ["-m", "pytest", "-q", *plugin, file.name] if file.name.startswith("test_") else [file.name]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
