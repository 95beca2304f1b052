"""Reading what a process wrote: the last lines, what came since, and where to go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.runtime.remote.log_files import CHUNK, read_file
from placetui.runtime.remote.rank_actor import TEXT_LIMIT, plain


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "worker.out"
    path.write_bytes(b"one\ntwo\nthree\nhal")
    return path


def test_the_last_lines(log: Path) -> None:
    assert read_file(str(log), None, 2, rest=True) == (["three", "hal"], 17, False)
    assert read_file(str(log), None, 2, rest=False) == (["two", "three"], 14, True)
    assert read_file(str(log), None, 0, rest=False) == ([], 14, True)


def test_a_line_waits_for_its_end(log: Path) -> None:
    assert read_file(str(log), 14, 0, rest=False) == ([], 14, False)
    with log.open("ab") as file:
        file.write(b"f\n")
    assert read_file(str(log), 14, 0, rest=False) == (["half"], 19, False)


def test_a_file_that_was_begun_anew(log: Path) -> None:
    log.write_bytes(b"new\n")
    assert read_file(str(log), 17, 0, rest=False) == (["new"], 4, False)


def test_a_progress_bar_is_its_last_state(log: Path) -> None:
    log.write_bytes(b"10 %\r20 %\r\n")
    assert read_file(str(log), 0, 0, rest=False)[0] == ["20 %"]


def test_much_text_comes_in_pieces(log: Path) -> None:
    log.write_bytes(b"x" * (CHUNK + 10) + b"\nend\n")
    first, place, more = read_file(str(log), 0, 0, rest=False)
    assert (len(first[0]), place, more) == (CHUNK, CHUNK, True)
    assert read_file(str(log), place, 0, rest=False) == (["x" * 10, "end"], CHUNK + 15, False)
    assert read_file(str(log), None, 5, rest=True)[0][-1] == "end"


Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(Json)
def test_what_json_has_is_sent_as_it_is(value: object) -> None:
    assert plain(value) == value


def test_what_json_has_not_is_shown_and_cut() -> None:
    assert plain({1: {2}, "inf": float("inf")}) == {"1": "{2}", "inf": "inf"}
    assert plain(("y", object)) == ["y", "<class 'object'>"]
    assert len(plain("x" * 1_000, limit=10)) == TEXT_LIMIT + 1
    circle: list[object] = []
    circle.append(circle)
    assert "[...]" in str(plain(circle))
