"""The names of the source documents, importable from `placetui` without paying for what is not used."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import placetui
from placetui import PlacementError, Problem

NAMES = """
AcceleratorType Cluster ClusterError ComponentPlacement FlexiblePlacementStrategy GroupError HybridComponentPlacement
ModelParallelComponentPlacement Node NodePlacementStrategy PackedPlacementStrategy Placement PlacementError
PlacementMode PlacementStrategy Plan Problem Worker attach create_placement_groups load node_ip_and_free_port resolve
sort_key
""".split()


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, placetui; print([name for name in sys.modules if name.startswith('placetui.')])"
    assert run(code) == "[]"


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name: str) -> None:
    assert name in placetui.__all__
    assert name in dir(placetui)
    assert getattr(placetui, name) is getattr(placetui, name)
    assert getattr(placetui, name).__doc__


def test_a_star_import_brings_them_all() -> None:
    code = f"from placetui import *; print(all(name in globals() for name in {NAMES!r}))"
    assert run(code) == "True"


def test_resolving_needs_neither_yaml_nor_textual_nor_ray() -> None:
    code = (
        "import sys, placetui\n"
        "placetui.resolve({'cluster': {'num_nodes': 1, 'component_placement': {'actor': '0-7'}}})\n"
        "print([name for name in ('yaml', 'textual', 'ray', 'rich', 'pynvml') if name in sys.modules])"
    )
    assert run(code) == "[]"


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(placetui, "nonsense")  # noqa: B009
    with pytest.raises(ImportError):
        exec("from placetui import nonsense")


def test_the_version_is_text() -> None:
    assert placetui.__version__.split(".")[0].isdecimal()


def test_modes_and_accelerators() -> None:
    assert [mode.name for mode in placetui.PlacementMode] == ["COLLOCATED", "DISAGGREGATED", "HYBRID", "AUTO"]
    assert [mode.value for mode in placetui.PlacementMode] == ["collocated", "disaggregated", "hybrid", "auto"]
    kinds = "NV_GPU AMD_GPU INTEL_GPU NPU MUSA_GPU KUNLUN_XPU NO_ACCEL".split()
    assert [kind.value for kind in placetui.AcceleratorType] == kinds
    assert placetui.AcceleratorType.NV_GPU == "NV_GPU"


def test_the_error_is_a_value_error_with_problems() -> None:
    problems = [Problem("one", "first"), Problem("two", "second", hint="do this")]
    error = PlacementError(problems)
    assert isinstance(error, ValueError)
    assert error.problems == problems
    assert str(error) == "error[one]: first\nerror[two]: second\n  hint: do this"


def test_the_error_and_what_it_holds_can_be_sent_elsewhere() -> None:
    error = PlacementError([Problem("one", "first", path=("cluster", 0), span=(1, 2))])
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is PlacementError
    assert again.problems == error.problems
    assert str(again) == str(error)
