"""The pytest plugin, used as a project that installed placetui would use it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

FILE = "cluster: {num_nodes: 2, component_placement: {actor: 0-15, rollout: 0-7}}\n"
TEST = """
def test_grid(placetui_snapshot):
    placetui_snapshot("conf.yaml", cluster="2x8")
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with a file and a test; whatever else is installed stays out of its runs."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.path.joinpath("conf.yaml").write_text(FILE, encoding="utf-8")
    pytester.makepyfile(test_grids=TEST)
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-p", "placetui.pytest_plugin", "-p", "no:cacheprovider", *arguments)


def grids(project: pytest.Pytester) -> list[str]:
    return sorted(path.name for path in project.path.glob("__snapshots__/*"))


def test_store_compare_change(project: pytest.Pytester) -> None:
    missing = run(project)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*is not there: store it with pytest --placetui-update"])
    assert grids(project) == []

    run(project, "--placetui-update").assert_outcomes(passed=1)
    assert grids(project) == ["test_grids-test_grid-conf.txt"]
    run(project).assert_outcomes(passed=1)

    project.path.joinpath("conf.yaml").write_text(FILE.replace("0-7", "8-15"), encoding="utf-8")
    changed = run(project)
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(
        ["the grid changed*", "--- test_grids-test_grid-conf.txt (stored)", "-R *0-7*", "+R *8-15*"]
    )
    assert "Traceback" not in changed.stdout.str()
    run(project, "--placetui-update").assert_outcomes(passed=1)
    run(project).assert_outcomes(passed=1)


def test_a_test_may_draw_in_several_ways(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_grids="""
        import pytest

        @pytest.mark.parametrize("density", ["full", "compact", "heat"])
        def test_grid(placetui_snapshot, density):
            placetui_snapshot("conf.yaml", density=density)
            placetui_snapshot("conf.yaml", density=density, name=f"ascii-{density}", ascii=True, nodes="1", width=80)

        def test_twice(placetui_snapshot):
            placetui_snapshot("conf.yaml")
            with pytest.raises(pytest.fail.Exception, match="name="):
                placetui_snapshot("conf.yaml")
        """
    )
    run(project, "--placetui-update").assert_outcomes(passed=4)
    run(project).assert_outcomes(passed=4)
    assert "ascii-heat.txt" in grids(project)
    assert "test_grids-test_grid-heat--conf.txt" in grids(project)
    for path in project.path.glob("__snapshots__/ascii-*"):
        assert path.read_text(encoding="utf-8").isascii()
        assert "node0" not in path.read_text(encoding="utf-8")


def test_a_file_that_cannot_be_placed_fails_with_its_problems(project: pytest.Pytester) -> None:
    project.path.joinpath("conf.yaml").write_text(FILE.replace("0-15", "0-99"), encoding="utf-8")
    broken = run(project, "--placetui-update")
    broken.assert_outcomes(failed=1)
    broken.stdout.fnmatch_lines(["*conf.yaml:1:*: error[[]resource_out_of_range[]]*"])
    assert grids(project) == []


def test_files_are_found_beside_the_test_wherever_pytest_starts(project: pytest.Pytester) -> None:
    below = project.mkdir("below")
    (below / "test_below.py").write_text(TEST, encoding="utf-8")
    (below / "conf.yaml").write_text(FILE, encoding="utf-8")
    run(project, "--placetui-update", "below").assert_outcomes(passed=1)
    assert [path.name for path in below.glob("__snapshots__/*")] == ["test_below-test_grid-conf.txt"]


def test_loading_the_plugin_loads_nothing_else() -> None:
    code = (
        "import sys, pytest; before = {*sys.modules}; import placetui.pytest_plugin; "
        "print(*sorted({*sys.modules} - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["placetui", "placetui.pytest_plugin"]


def test_the_plugin_is_registered() -> None:
    project = Path(__file__).parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\nplacetui = "placetui.pytest_plugin"\n' in project
