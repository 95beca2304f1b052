"""`placetui show`: drawings, snapshots and colours, the same bytes for the same input."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from placetui.cli import main
from placetui.document import load
from placetui.grid import cell_width

FILE = """\
cluster:
  num_nodes: 4
  component_placement:
    actor: 0-31
    rollout: 0-31:0-15
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "conf.yaml"
    path.write_text(FILE, encoding="utf-8")
    return str(path)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    path = tmp_path / "broken.yaml"
    path.write_text(FILE.replace("actor: 0-31", "actor: 0-99"), encoding="utf-8")
    return str(path)


def show(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["show", *arguments]) == code
    return capsys.readouterr().out


def test_the_file_and_its_topology_stand_above_the_drawing(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(capsys, file).startswith("conf.yaml: 4 nodes × 8 GPUs, assumed\n\nnode")
    assert show(capsys, file, "--cluster", "4x8").startswith("conf.yaml: 4 nodes × 8 GPUs\n\nnode")


@pytest.mark.parametrize("density", ["full", "compact", "heat"])
@pytest.mark.parametrize("color", ["always", "never"])
def test_ascii_is_nothing_but_ascii(file: str, density: str, color: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = show(capsys, file, "--ascii", "--density", density, "--color", color)
    assert out.isascii()
    assert ("\x1b[" in out) == (color == "always")


def test_densities_differ(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    full, compact, heat = (show(capsys, file, "--density", density) for density in ("full", "compact", "heat"))
    assert len(full.splitlines()) > len(compact.splitlines()) > len(heat.splitlines())


@pytest.mark.parametrize(("width", "drawn"), [(150, "card"), (110, "tile"), (60, "small"), (40, "letters")])
def test_a_width_holds(file: str, width: int, drawn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", file, "--density", "card", "--width", str(width)]) == 0
    out, err = capsys.readouterr()
    assert max(map(cell_width, out.splitlines())) <= width
    assert err == "" if drawn == "card" else f"drawn as {drawn}" in err


@pytest.mark.parametrize(
    ("nodes", "drawn"), [("2", {2}), ("1-2", {1, 2}), ("0-1,3", {0, 1, 3}), ("all", {0, 1, 2, 3}), ("3,3", {3})]
)
def test_nodes_limit_the_drawing(file: str, nodes: str, drawn: set[int], capsys: pytest.CaptureFixture[str]) -> None:
    out = show(capsys, file, "--nodes", nodes)
    assert {node for node in range(4) if f"\nnode{node} " in out} == drawn


@pytest.mark.parametrize("nodes", ["4", "2-1", "x", "-1"])
def test_nodes_that_are_not_there_are_wrong_usage(file: str, nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", file, f"--nodes={nodes}"]) == 2
    assert "hint:" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--width", "0"], ["--width", "x"], ["--update"], ["--format", "png"]])
def test_wrong_options_are_wrong_usage(file: str, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["show", file, *arguments])
    assert caught.value.code == 2


def test_width_is_kept(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    narrow, wide = show(capsys, file, "--width", "60"), show(capsys, file, "--width", "160")
    assert max(map(len, narrow.splitlines())) < max(map(len, wide.splitlines())) <= 160


def test_json_is_the_plan(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(show(capsys, file, "--format", "json")) == json.loads(json.dumps(load(file).to_dict()))


def test_svg_is_a_picture_with_a_legend(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    root = ElementTree.fromstring(show(capsys, file, "--format", "svg"))
    assert root.tag.endswith("svg")
    text = " ".join(root.itertext())
    assert "conf.yaml" in text
    assert "rollout" in text


def test_a_plan_with_problems_is_drawn_as_far_as_it_resolves(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", broken]) == 1
    out, err = capsys.readouterr()
    assert "rollout" in out
    assert "actor" not in out
    assert "error[resource_out_of_range]" in err


def test_a_file_without_any_yaml_is_drawn_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text(": : {", encoding="utf-8")
    for density in ("full", "compact", "heat"):
        show(capsys, str(path), "--density", density, code=1)
    show(capsys, str(path), "--format", "svg", code=1)


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show(capsys, str(tmp_path / "none.yaml"), code=2)


class TestSnapshot:
    def test_a_missing_one_asks_for_update(self, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["show", file, "--snapshot", str(tmp_path / "grid.txt")]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "--update" in err
        assert not (tmp_path / "grid.txt").exists()

    def test_update_stores_the_drawing_and_says_so(
        self, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        grid = tmp_path / "grids" / "grid.txt"
        assert main(["show", file, "--snapshot", str(grid), "--update"]) == 0
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"{grid}: stored\n")
        assert grid.read_text(encoding="utf-8") == show(capsys, file)
        assert main(["show", file, "--snapshot", str(grid)]) == 0
        assert main(["show", file, "--snapshot", str(grid), "--update"]) == 0
        assert capsys.readouterr().err == f"{grid}: unchanged\n"
        assert [path.name for path in grid.parent.iterdir()] == ["grid.txt"], "no temporary file is left"

    def test_a_change_is_a_unified_difference(
        self, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        grid = str(tmp_path / "grid.txt")
        main(["show", file, "--snapshot", grid, "--update"])
        capsys.readouterr()
        changed = ["show", file, "--snapshot", grid, "--set", "cluster.component_placement.rollout=0-31"]
        assert main(changed) == 1
        out, err = capsys.readouterr()
        assert out.startswith(f"--- {grid} (stored)\n+++ {grid} (drawn now)\n@@")
        assert any(line.startswith("-R") for line in out.splitlines())
        assert "--update" in err
        assert main([*changed, "--update"]) == 0
        assert main(changed) == 0

    def test_kinds_of_line_break_do_not_count(self, file: str, tmp_path: Path) -> None:
        grid = tmp_path / "grid.txt"
        main(["show", file, "--snapshot", str(grid), "--update"])
        grid.write_bytes(grid.read_bytes().replace(b"\n", b"\r\n"))
        assert main(["show", file, "--snapshot", str(grid)]) == 0

    def test_a_stored_grid_keeps_its_permissions_and_its_link(self, file: str, tmp_path: Path) -> None:
        real, link = tmp_path / "real.txt", tmp_path / "link.txt"
        real.write_text("old", encoding="utf-8")
        real.chmod(0o640)
        link.symlink_to(real)
        assert main(["show", file, "--snapshot", str(link), "--update"]) == 0
        assert link.is_symlink()
        assert real.stat().st_mode & 0o777 == 0o640
        assert "conf.yaml" in real.read_text(encoding="utf-8")

    def test_where_nothing_can_be_written(self, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["show", file, "--snapshot", str(tmp_path), "--update"]) == 2
        assert str(tmp_path) in capsys.readouterr().err

    def test_problems_count_although_the_drawing_is_the_same(self, broken: str, tmp_path: Path) -> None:
        grid = str(tmp_path / "grid.txt")
        assert main(["show", broken, "--snapshot", grid, "--update"]) == 1
        assert main(["show", broken, "--snapshot", grid]) == 1

    @pytest.mark.parametrize("form", ["json", "svg"])
    def test_other_formats_can_be_kept_too(self, file: str, tmp_path: Path, form: str) -> None:
        grid = str(tmp_path / f"grid.{form}")
        assert main(["show", file, "--format", form, "--snapshot", grid, "--update"]) == 0
        assert main(["show", file, "--format", form, "--snapshot", grid]) == 0


def run(file: str, *arguments: str, **environment: str) -> bytes:
    """Output of `show` in a process of its own."""
    command = [sys.executable, "-m", "placetui", "show", file, *arguments]
    return subprocess.run(
        command, env={**os.environ, **environment}, check=True, capture_output=True, timeout=60
    ).stdout


def test_the_bytes_depend_on_nothing_but_the_input(file: str, tmp_path: Path) -> None:
    plain = run(file)
    assert plain == run(file, COLUMNS="40", LANG="C", PYTHONIOENCODING="latin-1", PYTHONHASHSEED="1", TERM="dumb")
    color = run(file, "--color", "always")
    assert color == run(file, "--color", "always", TERM="xterm", COLORTERM="", NO_COLOR="1", COLORFGBG="0;15")
    assert color != plain


def terminal(file: str, *arguments: str, **environment: str) -> str:
    """Output of `show` on a terminal."""
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "placetui", "show", file, *arguments]
    with subprocess.Popen(command, stdout=its, env={**os.environ, **environment}) as process:
        os.close(its)
        received = b""
        while True:
            try:
                block = os.read(ours, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not block:
                break
            received += block
        assert process.wait(60) == 0
    os.close(ours)
    return received.decode()


def test_colours_on_a_terminal_unless_unwanted(file: str) -> None:
    assert "\x1b[38;5;" in (text := terminal(file, TERM="xterm-256color", COLORTERM="")), text
    assert "\x1b[38;2;" in terminal(file, TERM="xterm-256color", COLORTERM="truecolor")
    assert "\x1b" not in terminal(file, TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in terminal(file, "--color", "never", TERM="xterm")
    assert "\x1b" not in terminal(file, TERM="dumb")


def test_a_terminal_is_filled(file: str) -> None:
    def widest(columns: str) -> int:
        return max(map(len, terminal(file, "--color", "never", TERM="xterm", COLUMNS=columns).splitlines()))

    assert widest("90") <= 90 < widest("140") <= 140


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "FILE"],
        ["show", "FILE", "--format", "svg"],
        ["explain", "FILE", "actor:0"],
        ["diff", "FILE", "FILE"],
        ["import-slime", "--", "--colocate"],
    ],
    ids=" ".join,
)
def test_commands_that_print_load_neither_textual_nor_ray(file: str, arguments: list[str]) -> None:
    code = "import sys; from placetui.cli import main; code = main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    words = [file if word == "FILE" else word for word in arguments]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert loaded & {"textual", "rich", "ray", "pynvml", "asyncio", "http"} == set()
