"""Whatever happens while saving: the file is the old one or the new one, whole."""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.document.splice import NO_NEWLINE, unified_diff
from placetui.document.storage.save import (
    NO_FILE,
    STEPS,
    TEMPORARY_SUFFIX,
    Conflict,
    FileStamp,
    NotSaved,
    Saved,
    read_with_stamp,
    save,
    stamp_of,
)

ROOT = Path(__file__).parents[2]
OLD = "actor: 0-7\n"
NEW = "actor: 0-3 # é\r\nlast line"

as_root = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conf.yaml"
    path.write_bytes(OLD.encode())
    return path


def left_over(path: Path) -> list[str]:
    return [one.name for one in path.parent.iterdir() if one.name.endswith(TEMPORARY_SUFFIX)]


def test_saving_and_saving_again(file: Path) -> None:
    first = save(file, NEW, expected=stamp_of(file))
    assert first == Saved(FileStamp.of(NEW.encode()))
    assert file.read_bytes() == NEW.encode()
    assert save(file, OLD, expected=first.stamp) == Saved(FileStamp.of(OLD.encode()))
    assert [one.name for one in file.parent.iterdir()] == ["conf.yaml"]


def test_a_byte_order_mark_stays(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + OLD.encode())
    text, stamp = read_with_stamp(file)
    assert isinstance(save(file, text.text + "x", expected=stamp, bom=text.bom), Saved)
    assert file.read_bytes() == b"\xef\xbb\xbf" + OLD.encode() + b"x"


def test_mode_stays_and_a_new_file_gets_the_usual_one(file: Path) -> None:
    for mode in (0o600, 0o640, 0o755, 0o666):
        file.chmod(mode)
        assert isinstance(save(file, OLD + str(mode), expected=stamp_of(file)), Saved)
        assert stat.S_IMODE(file.stat().st_mode) == mode
    before = os.umask(0o027)
    try:
        assert isinstance(save(file.with_name("new.yaml"), NEW, expected=NO_FILE), Saved)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.with_name("new.yaml").stat().st_mode) == 0o640


def test_nobody_may_read_more_while_it_is_written(file: Path) -> None:
    file.chmod(0o600)
    seen: list[int] = []

    def look(step: str) -> None:
        seen.extend(stat.S_IMODE((file.parent / name).stat().st_mode) & 0o077 for name in left_over(file))

    save(file, NEW, expected=stamp_of(file), before_step=look)
    assert seen
    assert not any(seen)


@pytest.mark.skipif(not as_root, reason="only root may give files away")
def test_the_owner_stays(file: Path) -> None:
    os.chown(file, 12345, 23456)
    assert isinstance(save(file, NEW, expected=stamp_of(file)), Saved)
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 23456)


def test_links_stay_and_their_target_is_written(file: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    one, two = tmp_path / "there" / "one.yaml", tmp_path / "two.yaml"
    one.symlink_to("../conf.yaml")
    two.symlink_to(one)
    assert isinstance(save(two, NEW, expected=stamp_of(two)), Saved)
    assert two.is_symlink()
    assert one.is_symlink()
    assert file.read_bytes() == NEW.encode()
    dangling = tmp_path / "dangling"
    dangling.symlink_to("there/fresh.yaml")
    assert isinstance(save(dangling, NEW, expected=NO_FILE), Saved)
    assert (tmp_path / "there" / "fresh.yaml").read_bytes() == NEW.encode()


def test_a_change_on_disk_is_not_overwritten(file: Path) -> None:
    stamp = stamp_of(file)
    times = file.stat()
    file.write_bytes(b"theirs\n ")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # the clock says that nothing happened
    conflict = save(file, NEW, expected=stamp)
    assert isinstance(conflict, Conflict)
    assert (conflict.mine, conflict.theirs) == (NEW, "theirs\n ")
    assert file.read_bytes() == b"theirs\n "
    assert isinstance(save(file, NEW, expected=conflict.stamp), Saved)  # keep mine


def test_touching_is_no_change(file: Path) -> None:
    stamp = stamp_of(file)
    os.utime(file)
    assert isinstance(save(file, NEW, expected=stamp), Saved)


def test_a_change_in_the_last_moment_is_seen(file: Path) -> None:
    def meanwhile(step: str) -> None:
        if step == "check_again":
            file.write_bytes(b"theirs\n")

    conflict = save(file, NEW, expected=stamp_of(file), before_step=meanwhile)
    assert isinstance(conflict, Conflict)
    assert conflict.theirs == "theirs\n"
    assert file.read_bytes() == b"theirs\n"
    assert not left_over(file)


def test_files_that_come_and_go(file: Path) -> None:
    assert isinstance(save(file, NEW, expected=NO_FILE), Conflict)  # it must not exist, but does
    stamp = stamp_of(file)
    file.unlink()
    gone = save(file, NEW, expected=stamp)
    assert isinstance(gone, Conflict)
    assert gone.theirs is None
    assert isinstance(save(file, NEW, expected=gone.stamp), Saved)
    file.write_bytes(b"\0binary")
    binary = save(file, NEW, expected=stamp)
    assert isinstance(binary, Conflict)
    assert binary.theirs is None
    file.write_bytes(b"\0other")
    assert isinstance(save(file, NEW, expected=binary.stamp), Conflict)


def refused(path: Path, text: str = NEW, expected: FileStamp = NO_FILE) -> NotSaved:
    found = save(path, text, expected=expected)
    assert isinstance(found, NotSaved), found
    assert found.hint
    return found


def test_what_must_not_be_replaced(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(file, tmp_path / "second name")
    assert "2 hard links" in refused(file, expected=stamp_of(file)).message
    assert file.read_bytes() == OLD.encode()
    assert "is a directory" in refused(tmp_path).message
    os.mkfifo(tmp_path / "pipe")
    assert "a pipe, a socket or a device" in refused(tmp_path / "pipe").message
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # the name of a socket must be short
        server.bind("socket")
        assert "a pipe, a socket or a device" in refused(tmp_path / "socket").message
    (tmp_path / "loop").symlink_to("loop")
    assert "loop" in refused(tmp_path / "loop").message
    assert "no such directory" in refused(tmp_path / "nowhere" / "conf.yaml").message
    assert "too long" in refused(tmp_path / ("x" * 300)).message
    assert "cannot be the name" in refused(Path("a\0b")).message
    assert "line 2 contains a lone surrogate" in refused(tmp_path / "half", "a\n\ud800").message


@pytest.mark.parametrize("step", STEPS[:-1])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_failure_at_any_step_leaves_the_old_file(file: Path, step: str, code: int) -> None:
    def fail(at: str) -> None:
        if at == step:
            raise OSError(code, os.strerror(code))

    found = save(file, NEW, expected=stamp_of(file), before_step=fail)
    assert isinstance(found, NotSaved)
    assert "the file is unchanged" in found.message
    assert file.read_bytes() == OLD.encode()
    assert not left_over(file)


FULL = """
import resource, signal, sys
from placetui.document.storage.save import save, stamp_of
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
print(save(sys.argv[1], "x" * 100_000, expected=stamp_of(sys.argv[1])))
"""


def test_a_write_that_stops_in_the_middle(file: Path) -> None:
    """The kernel refuses what is beyond 1,000 bytes, as a full disk would."""
    command = [sys.executable, "-c", FULL, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "would be too large" in done.stdout
    assert file.read_bytes() == OLD.encode()
    assert not left_over(file)


def in_child(work: Callable[[], None]) -> int:
    """Do something in a process of its own; how it ended."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_without_permission() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory, file = Path(name), Path(name) / "conf.yaml"
        file.write_text(OLD)

        def work() -> None:
            if as_root:  # who may write everywhere
                os.setgid(65534)
                os.setuid(65534)
            assert "no permission to write" in refused(file, expected=stamp_of(file)).message

        directory.chmod(0o777)
        file.chmod(0o444)
        assert in_child(work) == 0
        file.chmod(0o666)
        directory.chmod(0o555)
        assert in_child(work) == 0
        directory.chmod(0o700)
        assert file.read_text() == OLD


@pytest.mark.skipif(not as_root, reason="only root may give files away")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_another_group_gets_nothing_of_what_the_old_one_had() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory, file = Path(name), Path(name) / "conf.yaml"
        file.write_text(OLD)
        os.chown(directory, 65534, 65534)
        os.chown(file, 65534, 23456)
        file.chmod(0o2664)

        def work() -> None:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            assert isinstance(save(file, NEW, expected=stamp_of(file)), Saved)

        assert in_child(work) == 0
        assert file.stat().st_gid == 65534
        assert stat.S_IMODE(file.stat().st_mode) == 0o604


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("step", STEPS)
def test_kill_9_before_any_step_leaves_a_whole_file(file: Path, step: str) -> None:
    def die(at: str) -> None:
        if at == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        save(file, NEW, expected=stamp_of(file), before_step=die)

    assert in_child(work) == -signal.SIGKILL
    assert file.read_bytes() == (NEW if step == "sync_directory" else OLD).encode()
    # What the dead process left behind goes when it is old enough not to be in use.
    for name in left_over(file):
        os.utime(file.parent / name, (0, 0))
    assert isinstance(save(file, OLD, expected=stamp_of(file)), Saved)
    assert not left_over(file)


# The difference that is shown before saving


def patched(old: str, lines: list[str]) -> str:
    """What `patch` makes of a unified difference."""
    before = old.split("\n")
    before = [f"{line}\n" for line in before[:-1]] + [line for line in before[-1:] if line]
    after: list[str] = []
    at = 0
    for line, next_line in zip(lines[2:], [*lines[3:], ""], strict=False):
        kind, text = line[:1], line[1:] + ("" if next_line == NO_NEWLINE else "\n")
        if kind == "@":
            start, _, length = line.split()[1][1:].partition(",")
            begin = int(start) - (length != "0")
            after += before[at:begin]
            at = begin
        if kind in " -":
            assert before[at] == text
            at += 1
        if kind in " +":
            after.append(text)
    return "".join([*after, *before[at:]])


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "d\r"]), max_size=25).map("\n".join)


@given(TEXTS, TEXTS)
def test_the_difference_leads_from_one_text_to_the_other(old: str, new: str) -> None:
    lines = unified_diff(old, new, "conf.yaml")
    assert bool(lines) == (old != new)
    assert patched(old, lines) == new


def test_the_difference_reads_like_diff() -> None:
    old = "".join(f"line {number}\n" for number in range(20_000))
    new = old.replace("line 12345\n", "line x\n")
    assert unified_diff(old, new, "conf.yaml") == [
        "--- conf.yaml",
        "+++ conf.yaml",
        "@@ -12343,7 +12343,7 @@",
        " line 12342",
        " line 12343",
        " line 12344",
        "-line 12345",
        "+line x",
        " line 12346",
        " line 12347",
        " line 12348",
    ]
    assert unified_diff("a\nb\n", "a\nb", "f")[2:] == ["@@ -1,2 +1,2 @@", " a", "-b", "+b", NO_NEWLINE]
    assert unified_diff("", "a\n", "f")[2:] == ["@@ -0,0 +1 @@", "+a"]
