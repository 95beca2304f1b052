"""Whatever a file holds, `check` says so in words, soon, and without filling the memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import placetui

MEMORY = 1 << 30
"""Bytes of address space that the program gets."""

SECONDS = 2.0
"""CPU time, which a busy machine does not change as it does the clock."""

HEAD = "cluster:\n  num_nodes: 1\n  component_placement:\n"
FINE = f"{HEAD}    actor: 0-7\n"
MANY_NODES = "cluster:\n  num_nodes: 65536\n  component_placement: {actor: 0-7}\n"


def bomb(section: str) -> str:
    """Nine lines that ask for 9^9 values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    return "\n".join(lines) + f"\n{section}\n"


def laughs(number: int) -> str:
    """The same with interpolations."""
    return "".join(f'v{n}: "${{v{n + 1}}}${{v{n + 1}}}"\n' for n in range(number)) + f"v{number}: 1\n"


TEXTS: dict[str, tuple[str | bytes, int, str]] = {
    # name: what it holds, exit code, a rule that is named
    "empty": ("", 1, "empty_file"),
    "blank": ("\n\n  \n", 1, "empty_file"),
    "comment": ("# nothing\n", 1, "empty_file"),
    "null": ("null\n", 1, "not_a_mapping"),
    "not-yaml": ("this: is: not\n yaml: [\n", 1, "yaml_syntax"),
    "prose": ("Dear reader, there is nothing here.\n", 1, "not_a_mapping"),
    "list": ("- 1\n- 2\n", 1, "not_a_mapping"),
    "two-documents": (f"{FINE}---\n{FINE}", 1, "multiple_documents"),
    "binary": (bytes(range(256)) * 64, 2, "file_not_text"),
    "not-utf-8": (b"cluster: \xff\xfe\n", 2, "file_not_text"),
    "utf-16": (FINE.encode("utf-16"), 2, "file_not_text"),
    "control": ("a: \x07\n", 1, "yaml_character"),
    "bom": ("\ufeff" + FINE, 0, ""),
    "bom-only": ("\ufeff", 1, "empty_file"),
    "crlf": (FINE.replace("\n", "\r\n"), 0, ""),
    "crlf-broken": (FINE.replace("0-7", "0-9").replace("\n", "\r\n"), 1, ":4:12: error[resource_out_of_range]"),
    "cr": (FINE.replace("\n", "\r"), 0, ""),
    "tabs": (FINE.replace("    actor", "\tactor"), 1, "yaml_syntax"),
    "duplicate-keys": (f"{FINE}    actor: 0-3\n", 1, "duplicate_key"),
    "duplicate-sections": (FINE + FINE, 1, "duplicate_key"),
    "merge-keys": (f"base: &b {{actor: 0-7}}\n{HEAD}    <<: *b\n    env: 0-3\n", 0, ""),
    "merge-of-itself": (f"{HEAD}    x: &x\n      <<: *x\n      placement: 0\n", 1, "recursive_alias"),
    "alias-of-itself": ("cluster: &c\n  num_nodes: 1\n  component_placement: *c\n", 1, "recursive_alias"),
    "unknown-alias": (f"{HEAD}    actor: *nowhere\n", 1, "undefined_alias"),
    "alias-bomb": (bomb(f"{HEAD}    actor: *a9"), 1, "too_many_values"),
    "alias-bomb-as-groups": (bomb(f"{FINE}  node_groups: *a9"), 1, "too_many_values"),
    "alias-bomb-elsewhere": (bomb(FINE), 0, ""),
    "interpolation-bomb": (f"{HEAD}    actor: ${{v0}}\n{laughs(60)}", 1, "interpolation"),
    "interpolation-nested": (f"{HEAD}    actor: '{'${' * 100_000}{'}' * 100_000}'\n", 1, "interpolation"),
    "interpolation-product": (f"{HEAD}    actor: ${{multiply:a,99999999999}}\n", 1, "interpolation"),
    "deep-flow": ("cluster: " + "[" * 100_000, 1, "yaml_too_deep"),
    "deep-flow-closed": ("cluster: " + "[" * 100_000 + "]" * 100_000, 1, "yaml_too_deep"),
    "deep-flow-mapping": ("cluster: " + "{a: " * 100_000 + "}" * 100_000, 1, "yaml_too_deep"),
    "deep-block": ("cluster:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 2500)), 1, "yaml_too_deep"),
    "deep-block-list": ("- " * 100_000, 1, "error["),
    "many-devices": (f"{HEAD}    actor: 0-999999999999\n", 1, "resource_out_of_range"),
    "many-processes": (f"{HEAD}    actor: 0:0-999999999999\n", 1, "too_many_processes"),
    "more-processes-than-a-word": (f"{HEAD}    actor: 0:0-{'9' * 30}\n", 1, "too_many_processes"),
    "many-components": (HEAD + "".join(f"    c{n}: 0:0-{n + 200_000}\n" for n in range(20)), 1, "too_many_processes"),
    "many-nodes": ("cluster:\n  num_nodes: 999999999999\n  component_placement: {actor: 0}\n", 1, "num_nodes_invalid"),
    "many-nodes-in-groups": (
        "cluster:\n  num_nodes: 999999999999\n  component_placement: {actor: 0}\n"
        "  node_groups: [{label: a, node_ranks: all}]\n",
        1,
        "num_nodes_invalid",
    ),
    "many-groups": (
        f"{MANY_NODES}  node_groups:\n" + "".join(f"    - {{label: g{n}, node_ranks: all}}\n" for n in range(2000)),
        1,
        "too_many_values",
    ),
    "many-pieces": (f"{MANY_NODES}  node_groups: [{{label: a, node_ranks: '{'0-65535,' * 50_000}'}}]\n", 0, ""),
    "many-labels": (
        f"cluster:\n  num_nodes: 65536\n  component_placement:\n"
        f"    a: {{node_group: '{'cluster,' * 50_000}node', placement: 0}}\n",
        1,
        "too_many_values",
    ),
    "large-topology": (
        f"{MANY_NODES}placetui: {{topology: {{nodes: 65536, gpus_per_node: 1024}}}}\n",
        1,
        "topology_invalid",
    ),
    "large-slime": ("slime: {actor_num_nodes: 999999999999, actor_num_gpus_per_node: 8}\n", 1, "error[slime"),
    "many-problems": (HEAD + "".join(f"    c{n}: x\n" for n in range(5_000)), 1, "rank_format"),
    "many-robots-elsewhere": (
        f"{MANY_NODES}  node_groups:\n    - label: a\n      node_ranks: all\n      hardware:\n        type: Turtle2\n"
        "        configs:\n" + "".join(f"          - node_rank: {n}\n" for n in range(70_000, 75_000)),
        1,
        "hardware_rank_not_in_group",
    ),
    "many-digits": (f"{HEAD}    actor: {'9' * 5000}\n", 1, "error["),
    "many-digits-quoted": (f"{HEAD}    actor: '{'9' * 5000}'\n", 1, "rank_format"),
    "large-share": (f"{FINE}placetui: {{shares: {{actor: 1e308}}}}\n", 1, "share_invalid"),
    "long-line": (f"{HEAD}    actor: '{'x' * 1_000_000}'\n", 1, "rank_format"),
    "long-key": (f"{HEAD}    {'x' * 1000}: y\n", 1, "rank_format"),
    "long-rule": (f"{HEAD}    actor: '{','.join(map(str, range(300_000)))}'\n", 1, "resource_out_of_range"),
    "large": ("# filler\n" * (20 * 1024 * 1024 // 9), 2, "file_too_large"),
    "nearly-too-large": (FINE + "# filler\n" * (4 * 1024 * 1024 // 9 - 20), 0, ""),
}


def check(path: Path, seconds: float = SECONDS) -> tuple[int, str, str]:
    """Exit code, output and narration of `placetui check`, with little memory and little time."""
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))\n"
        "from placetui.cli import main\n"
        "code = main(['check', sys.argv[1]])\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(placetui.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert "Traceback" not in done.stderr
    *narration, used = done.stderr.splitlines()
    assert float(used) < seconds
    return done.returncode, done.stdout, "\n".join(narration)


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_file(name: str, tmp_path: Path) -> None:
    content, expected, rule = TEXTS[name]
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, _ = check(path)
    assert code == expected
    assert rule in out
    assert len(out) < 300_000
    assert all(len(line) < 1_500 for line in out.splitlines())


def directory(path: Path) -> None:
    path.mkdir()


def nothing(path: Path) -> None:
    """There is no such file."""


@pytest.mark.parametrize("make", [directory, os.mkfifo, nothing], ids=["directory", "fifo", "missing"])
def test_what_is_no_file(make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "thing.yaml"
    make(path)
    code, out, _ = check(path)
    assert code == 2
    assert out.startswith(f"{path}: error[file_")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no /dev/zero")
def test_a_device_without_end() -> None:
    code, out, _ = check(Path("/dev/zero"))
    assert code == 2
    assert "file_unreadable" in out


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.yaml"))
    path.write_text(FINE.replace("0-7", "0-9"), encoding="utf-8")
    code, out, _ = check(path)
    assert code == 1
    assert "resource_out_of_range" in out
