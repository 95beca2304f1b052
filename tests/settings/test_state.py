from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui import locations
from placetui.settings import state
from placetui.settings.state import State


def test_what_is_remembered_comes_back() -> None:
    remembered = State("nord", ("/tmp/a.yaml", "/tmp/b.yaml"))
    assert state.update(lambda _: remembered)
    assert state.load() == remembered


def test_nothing_is_remembered_at_first() -> None:
    assert state.load() == State()
    assert not locations.state_dir().exists()


def test_the_file_and_its_directory_are_private() -> None:
    state.update(lambda old: old.opened("a.yaml"))
    assert stat.S_IMODE(locations.state_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(locations.state_dir().stat().st_mode) == 0o700
    assert [path.name for path in locations.state_dir().iterdir()] == ["state.json"]


def test_recent_files_are_absolute_latest_first_each_once_and_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    now = State()
    for number in range(30):
        now = now.opened(f"{number}.yaml")
    now = now.opened("15.yaml")
    assert len(now.recent) == state.MOST_RECENT
    assert now.recent[:3] == tuple(str(tmp_path / name) for name in ("15.yaml", "29.yaml", "28.yaml"))
    assert len(set(now.recent)) == len(now.recent)


def test_two_dashboards_do_not_forget_for_each_other() -> None:
    state.update(lambda old: old.opened("/one.yaml"))
    state.update(lambda old: replace(old, theme="nord"))
    state.update(lambda old: old.opened("/two.yaml"))
    assert state.load() == State(theme="nord", recent=("/two.yaml", "/one.yaml"))


def test_file_names_that_are_not_utf8_survive() -> None:
    name = os.fsdecode(b"/tmp/\xff.yaml")
    assert state.update(lambda old: old.opened(name))
    assert state.load().recent == (name,)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.binary()
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries({}, optional={"theme": JSON, "recent": st.lists(JSON)}).map(
        lambda value: json.dumps(value).encode()
    )
)
def test_garbage_is_as_good_as_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "garbage.json"
    file.write_bytes(data)
    found = state.load(file)
    assert found.theme is None or found.theme
    assert len(found.recent) <= state.MOST_RECENT
    assert all(os.path.isabs(path) for path in found.recent)


def _directory(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.write_bytes(b'{"theme": "' + b"x" * state.MOST_BYTES + b'"}')


def _deep(path: Path) -> None:
    path.write_text("[" * 100_000)


@pytest.mark.parametrize("make", [_directory, _pipe, _endless, _deep])
def test_what_is_no_state_file_is_passed_over(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "state.json")
    assert state.load(tmp_path / "state.json") == State()


def test_what_is_usable_in_a_damaged_file_is_used(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text('{"theme": "nord", "recent": ["/a.yaml", 3, "b.yaml", "/a.yaml"], "more": {}}')
    assert state.load(file) == State(theme="nord", recent=("/a.yaml",))


def test_where_nothing_can_be_written_nothing_happens(tmp_path: Path) -> None:
    # A file where the directory should be stops everybody, also a superuser whom permissions do not.
    (tmp_path / "file").write_text("")
    assert not state.update(lambda old: old.opened("a.yaml"), tmp_path / "file" / "state.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not stop a superuser")
def test_a_directory_that_is_read_only_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert not state.update(lambda old: old.opened("a.yaml"), tmp_path / "state.json")
    finally:
        tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_replace_the_file_leaves_no_rubbish(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    assert not state.update(lambda old: old.opened("a.yaml"), tmp_path / "state.json")
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_nothing_new_is_not_written() -> None:
    state.update(lambda old: old.opened("/a.yaml"))
    before = locations.state_file().stat().st_ino
    assert state.update(lambda old: old.opened("/a.yaml"))
    assert locations.state_file().stat().st_ino == before
