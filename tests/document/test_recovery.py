from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placetui.document.storage.recovery import (
    LOCK_SUFFIX,
    announce,
    discard,
    find,
    keep,
    others,
    unsaved_dir,
    withdraw,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conf.yaml"
    path.write_text("actor: 0-7\n")
    return path


def test_work_is_kept_found_and_discarded(file: Path) -> None:
    assert find(file) is None
    assert keep(file, "actor: 0-3\r\n\ud800é", "digest")
    found = find(file)
    assert found is not None
    assert (found.text, found.base, found.path) == ("actor: 0-3\r\n\ud800é", "digest", str(file))
    assert abs(found.time - time.time()) < 60
    assert keep(file, "later", "digest")
    again = find(file)
    assert again is not None
    assert again.text == "later"
    assert find(file.with_name("other.yaml")) is None
    discard(file)
    discard(file)
    assert find(file) is None


def test_a_relative_path_is_the_same_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    keep("conf.yaml", "text", "")
    assert find(file) is not None


def test_only_the_owner_may_read_it(file: Path) -> None:
    keep(file, "secret", "")
    (record,) = unsaved_dir().iterdir()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(unsaved_dir().stat().st_mode) == 0o700


def test_where_nothing_can_be_kept_nothing_breaks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    assert not keep(file, "text", "")
    assert find(file) is None
    discard(file)
    assert not keep("a\0b", "text", "")
    assert find("a\0b") is None


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"text": 3}',
        b'{"text": "x", "base": "", "time": true}',
    ],
)
def test_garbage_is_no_work(file: Path, garbage: bytes) -> None:
    keep(file, "text", "")
    (record,) = unsaved_dir().iterdir()
    record.write_bytes(garbage)
    assert find(file) is None
    assert keep(file, "text", "")
    assert find(file) is not None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_any_json_is_tolerated(file: Path, found: Any) -> None:
    keep(file, "text", "")
    (record,) = unsaved_dir().iterdir()
    record.write_text(json.dumps(found))
    assert find(file) is None
    note = file.parent / f".conf.yaml.somewhere.1{LOCK_SUFFIX}"
    note.write_text(json.dumps(found))
    assert others(file) == []


def test_a_pipe_in_its_place_does_not_hang(file: Path) -> None:
    keep(file, "text", "")
    (record,) = unsaved_dir().iterdir()
    record.unlink()
    os.mkfifo(record)
    assert find(file) is None


# Two people, one file


OPEN = """
import sys
from placetui.document.storage.recovery import announce
announce(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def test_another_process_is_noticed_until_it_is_gone(file: Path) -> None:
    link = file.with_name("link.yaml")
    link.symlink_to(file)
    assert announce(link)
    assert others(file) == []  # this one does not count
    command = [sys.executable, "-c", OPEN, str(file)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        (holder,) = others(link)
        assert (holder.pid, holder.host) == (other.pid, socket.gethostname())
        assert str(other.pid) in str(holder)
        other.kill()
        other.wait()
    assert others(file) == []
    withdraw(link)
    assert [one.name for one in file.parent.iterdir() if one.name.endswith(LOCK_SUFFIX)] == []


def note_of(file: Path, **changed: Any) -> Path:
    fields = {"user": "ann", "host": "elsewhere", "pid": 4242, "started": "1", "opened": time.time(), **changed}
    path = file.parent / f".conf.yaml.{fields['host']}.{fields['pid']}{LOCK_SUFFIX}"
    path.write_text(json.dumps(fields))
    return path


def test_a_note_from_another_machine_counts_for_some_days(file: Path) -> None:
    note = note_of(file)
    (holder,) = others(file)
    assert str(holder) == "ann on elsewhere (process 4242)"
    note_of(file, opened=time.time() - 30 * 24 * 3600)
    assert others(file) == []
    assert not note.exists()


def test_a_process_that_only_has_the_number_does_not_count(file: Path) -> None:
    note = note_of(file, host=socket.gethostname(), pid=os.getppid(), started="long ago")
    assert others(file) == []
    assert not note.exists()


def test_where_no_note_can_be_left_nothing_breaks(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "conf.yaml"
    assert not announce(nowhere)
    assert others(nowhere) == []
    withdraw(nowhere)


def test_a_pipe_where_the_note_would_stand_does_not_hang(file: Path) -> None:
    assert announce(file)
    (note,) = (one for one in file.parent.iterdir() if one.name.endswith(LOCK_SUFFIX))
    note.unlink()
    os.mkfifo(note)
    assert not announce(file)
