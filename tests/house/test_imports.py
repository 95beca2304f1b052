"""Who may import whom: the pure core stays pure, and commands that print load neither Textual nor Ray.

Checked twice: in the source, where also an import inside a function counts, and in a fresh interpreter, where also
what the imported modules import counts.
"""

from __future__ import annotations

import ast
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import placetui

PACKAGE = Path(placetui.__file__).parent

HEAVY = frozenset({"textual", "rich", "ray", "yaml", "pynvml", "aiohttp", "textual_serve", "hydra", "omegaconf"})


@dataclass(frozen=True)
class May:
    """What a part of the package may import besides itself and the standard library."""

    parts: frozenset[str] = frozenset()
    libraries: frozenset[str] = frozenset()


def may(parts: str = "", libraries: str = "") -> May:
    return May(frozenset(parts.split()), frozenset(libraries.split()))


CONTRACT = {
    "placement": may(),
    "frameworks": may("masking placement"),
    "observe": may("frameworks placement"),
    "grid": may("observe placement"),
    "document": may("frameworks locations placement", "hydra omegaconf yaml"),
    "settings": may("document grid locations placement"),
    "bridge": may("observe placement"),
    "telemetry": may("bridge masking observe", "pynvml"),
    "runtime": may("bridge document frameworks masking observe placement telemetry", "ray grpc"),
    "tui": may("document frameworks grid locations observe placement resources", "textual rich"),
    "cli": may(
        "bridge document frameworks grid locations observe placement resources settings snapshot tui web", "shtab"
    ),
    "web": may("", "aiohttp textual_serve"),
    "resources": may(),
    "locations": may(),
    "masking": may(),
    "snapshot": may("grid placement"),
    "pytest_plugin": may("document grid placement snapshot", "pytest"),
    "__main__": may("cli"),
    # The lazy public API: it names what it offers, and loads it when somebody asks.
    "__init__": may("document frameworks placement runtime"),
}
"""The one place that says which part may know which. A part that is not listed fails the test."""

PURE = frozenset({"placement", "frameworks", "observe", "grid", "bridge"})


def part_of(path: Path) -> str:
    """The top-level part of the package that a source file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def present(*parts: str) -> list[str]:
    """Those of the parts (default: all) that exist by now."""
    there = {part_of(path) for path in sources()}
    return sorted(there.intersection(parts) if parts else there)


def imported_names(source: str, package: str) -> Iterator[str]:
    """Dotted names of everything a module of `package` imports, wherever in its text the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in {"import_module", "importlib.import_module", "__import__"}
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


def offences(part: str, names: Iterator[str]) -> Iterator[str]:
    """Those of the imported names that `part` may not import."""
    allowed = CONTRACT[part]
    for name in names:
        top, _, rest = name.partition(".")
        if top == "placetui":
            target = rest.partition(".")[0]
            if target not in {part, "__version__", *allowed.parts}:
                yield name
        elif top not in sys.stdlib_module_names and top not in allowed.libraries:
            yield name


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import ray.util as u, json", ["ray.util", "json"]),
        ("from textual.app import App", ["textual.app.App"]),
        ("def f():\n    import yaml", ["yaml"]),
        ("from . import ranks", ["placetui.placement.ranks"]),
        ("from .ranks import parse", ["placetui.placement.ranks.parse"]),
        ("from ..observe import drift", ["placetui.observe.drift"]),
        ("from .. import tui", ["placetui.tui"]),
        ("import importlib\nimportlib.import_module('pynvml')", ["importlib", "pynvml"]),
    ],
)
def test_every_way_to_import_is_seen(source: str, names: list[str]) -> None:
    assert list(imported_names(source, "placetui.placement")) == names


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("placement", "yaml"),
        ("placement", "placetui.document.read"),
        ("placement", "placetui"),
        ("grid", "textual.app.App"),
        ("document", "ray"),
        ("tui", "placetui.bridge.client"),
        ("cli", "placetui.runtime"),
    ],
)
def test_what_breaks_the_contract_is_an_offence(part: str, name: str) -> None:
    assert list(offences(part, iter([name]))) == [name]


def test_every_part_is_in_the_contract() -> None:
    assert set(present()) <= set(CONTRACT), "say in CONTRACT what the new part may import"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_source_keeps_the_contract(path: Path) -> None:
    part = part_of(path)
    if part not in CONTRACT:
        pytest.skip("not in CONTRACT, which fails a test of its own")
    package = ".".join(["placetui", *path.relative_to(PACKAGE).parent.parts])
    assert list(offences(part, imported_names(path.read_text(encoding="utf-8"), package))) == []


SHIPPED = "placetui.runtime.remote."
IN_THE_PROGRAM = {("worker.py", "placetui.runtime.api.worker_group.WorkerGroup")}
"""`Worker.create_group` runs where the program does, never on a node."""


@pytest.mark.parametrize("path", sorted((PACKAGE / "runtime" / "remote").glob("*.py")), ids=lambda path: str(path.name))
def test_what_is_shipped_to_nodes_imports_nothing_else_of_placetui(path: Path) -> None:
    names = imported_names(path.read_text(encoding="utf-8"), "placetui.runtime.remote")
    others = {name for name in names if name.startswith("placetui") and not name.startswith(SHIPPED)}
    assert {name for name in others if (path.name, name) not in IN_THE_PROGRAM} == set()


def loaded_after(code: str, *arguments: str) -> set[str]:
    """Top-level modules a fresh interpreter holds after running `code`."""
    report = "import json, sys\nprint(json.dumps([*sys.modules]), file=sys.stderr)"
    command = [sys.executable, "-c", f"{code}\n{report}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}


def import_all_of(part: str) -> str:
    """Code that imports a part and every module below it."""
    target = PACKAGE / part
    below = pkgutil.walk_packages([str(target)], f"placetui.{part}.") if target.is_dir() else []
    names = [f"placetui.{part}", *(module.name for module in below if not module.name.endswith("__main__"))]
    return "\n".join(f"import {name}" for name in names)


def test_the_package_itself_loads_nothing_heavy() -> None:
    assert loaded_after("import placetui") & HEAVY == set()


@pytest.mark.parametrize("part", present(*PURE))
def test_the_pure_core_loads_nothing_heavy(part: str) -> None:
    assert loaded_after(import_all_of(part)) & HEAVY == set()


@pytest.mark.parametrize("part", present("document"))
def test_reading_a_file_loads_yaml_and_nothing_else_heavy(part: str) -> None:
    assert loaded_after(import_all_of(part)) & HEAVY <= {"yaml"}


def test_check_loads_neither_textual_nor_ray(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text("cluster:\n  num_nodes: 1\n  component_placement:\n    actor: 0-7\n", encoding="utf-8")
    run_check = "\n".join(
        [
            "import runpy, sys",
            "try:",
            "    runpy.run_module('placetui', run_name='__main__', alter_sys=True)",
            "except SystemExit as done:",
            "    assert done.code in (0, None), done.code",
        ]
    )
    assert loaded_after(run_check, "check", str(file)) & HEAVY <= {"yaml"}


BY_NAME = frozenset({"__init__.py", "runtime/api/placement_groups.py"})
"""The public API, whose names and functions are those of one framework."""


def test_only_the_public_api_imports_a_framework_by_name() -> None:
    frameworks = [path.name for path in (PACKAGE / "frameworks").iterdir() if (path / "framework.py").exists()]
    assert {"rlinf", "slime"} <= set(frameworks)
    wanted = tuple(f"placetui.frameworks.{name}" for name in frameworks)
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in sources()
        if part_of(path) != "frameworks"
        and any(name.startswith(wanted) for name in imported_names(path.read_text(encoding="utf-8"), "placetui"))
    }
    assert found <= BY_NAME
