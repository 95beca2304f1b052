"""Atomic saving that never overwrites changes made by others."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from placetui.document.report import DocumentError
from placetui.document.storage.files import BOM, FileText, printable, read_text

StepHook: TypeAlias = Callable[[str], None]
"""Called with the name of each step before it runs; lets tests kill the process there."""

STEPS = ("check", "create", "write", "keep_mode", "sync", "check_again", "replace", "sync_directory")

TEMPORARY_SUFFIX = ".placetui-tmp"
STALE_SECONDS = 600.0
"""Temporary files older than this were left behind by a killed process."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Identifies the content of a file; modification times are not reliable."""

    digest: str
    """Of all its bytes; empty when there was no file."""

    @classmethod
    def of(cls, data: bytes) -> FileStamp:
        return cls(hashlib.sha256(data).hexdigest())

    @property
    def exists(self) -> bool:
        return bool(self.digest)


NO_FILE = FileStamp("")
"""The file does not exist yet."""


@dataclass(frozen=True, slots=True)
class Saved:
    """The text was written."""

    stamp: FileStamp
    """Pass it as `expected` to the next save."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """The file changed since it was read; nothing was written."""

    mine: str
    theirs: str | None
    """None: the file is gone, or is no longer text."""

    stamp: FileStamp
    """Of the file on disk; pass it as `expected` to overwrite."""


@dataclass(frozen=True, slots=True)
class NotSaved:
    """Nothing was written; the file is unchanged."""

    message: str
    hint: str = ""


def read_with_stamp(path: str | os.PathLike[str]) -> tuple[FileText, FileStamp]:
    """The text of a file and its stamp; `DocumentError` if it cannot be read."""
    file = read_text(path)
    return file, FileStamp.of(encoded(file.text, file.bom))


def stamp_of(path: str | os.PathLike[str]) -> FileStamp:
    """The stamp of a file on disk; `NO_FILE` if it does not exist or cannot be read."""
    try:
        return read_with_stamp(path)[1]
    except DocumentError:
        return NO_FILE


def encoded(text: str, bom: bool = False) -> bytes:
    """A text as the bytes of a file, line endings as they are; `UnicodeEncodeError` for a lone surrogate."""
    return ((BOM if bom else "") + text).encode("utf-8")


def save(
    path: str | os.PathLike[str],
    text: str,
    *,
    expected: FileStamp,
    bom: bool = False,
    before_step: StepHook = lambda step: None,
) -> Saved | Conflict | NotSaved:
    """Write a text to a file in one step, if the file still holds what is `expected`.

    A symbolic link stays, and its target is written. Mode, owner and extended attributes stay where possible.
    """
    source = printable(path)
    try:
        data = encoded(text, bom)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        return NotSaved(f"line {line} contains a lone surrogate, which cannot be encoded", "remove it")
    try:
        # One path for all that follows: a link that changes meanwhile must not lead elsewhere.
        target = os.path.realpath(path)
        before_step("check")
        status = _status(target)
        refusal = _refuse(status, target, source) or _conflict(target, text, expected)
        return refusal or _write(target, data, text, expected, status, before_step)
    except OSError as error:
        return _explain(error, source)
    except ValueError:
        return NotSaved(f"`{source!r}` cannot be the name of a file", "choose another name")


def _status(target: str) -> os.stat_result | None:
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


def _refuse(status: os.stat_result | None, target: str, source: str) -> NotSaved | None:
    if status is None:
        return None
    elsewhere = "save it under another name"
    if stat.S_ISDIR(status.st_mode):
        return NotSaved(f"`{source}` is a directory", elsewhere)
    if not stat.S_ISREG(status.st_mode):
        return NotSaved(f"`{source}` is a pipe, a socket or a device, not a file", elsewhere)
    if status.st_nlink > 1:
        return NotSaved(f"`{source}` has {status.st_nlink} hard links, and saving would separate them", elsewhere)
    if not os.access(target, os.W_OK):
        return NotSaved(f"no permission to write `{source}`", "check its owner and permissions, or save it elsewhere")
    return None


def _conflict(target: str, mine: str, expected: FileStamp) -> Conflict | None:
    """The conflict if the content is not the expected one; a file that is not text always conflicts."""
    try:
        file, now = read_with_stamp(target)
        theirs: str | None = file.text
    except DocumentError:
        theirs, now = None, _stamp_of_bytes(target)
    return None if now == expected else Conflict(mine, theirs, now)


def _stamp_of_bytes(target: str) -> FileStamp:
    """The stamp of a file that is not text, or too large."""
    status = _status(target)
    if status is None:
        return NO_FILE
    if not stat.S_ISREG(status.st_mode):
        return FileStamp("not a file")
    try:
        with open(target, "rb") as file:
            digest = hashlib.sha256()
            while piece := file.read(1 << 20):
                digest.update(piece)
            return FileStamp(digest.hexdigest())
    except OSError:
        return FileStamp("unreadable")


def _write(
    target: str, data: bytes, text: str, expected: FileStamp, status: os.stat_result | None, before_step: StepHook
) -> Saved | Conflict:
    directory, name = os.path.split(target)
    _remove_stale(directory, name)
    before_step("create")
    temporary = os.path.join(directory, f".{name[:180]}.{os.getpid()}.{time.time_ns():x}{TEMPORARY_SUFFIX}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    # A new file gets what the user's umask leaves; of an old one nobody may read more than before, at any time.
    descriptor = os.open(temporary, flags, 0o666 if status is None else 0o600)
    try:
        with open(descriptor, "wb") as file:
            before_step("write")
            file.write(data)
            file.flush()
            before_step("keep_mode")
            if status is not None:
                _keep(descriptor, target, status)
            before_step("sync")
            os.fsync(descriptor)
        before_step("check_again")
        if conflict := _conflict(target, text, expected):
            os.unlink(temporary)
            return conflict
        before_step("replace")
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    before_step("sync_directory")
    _sync(directory)
    return Saved(FileStamp.of(data))


def _keep(descriptor: int, target: str, status: os.stat_result) -> None:
    """Copy owner, mode and extended attributes of the old file where permitted."""
    # First the owner: changing it takes set-user-id bits away.
    for owner, group in ((status.st_uid, status.st_gid), (-1, status.st_gid)):
        with suppress(OSError):
            os.fchown(descriptor, owner, group)
            break
    with suppress(OSError):
        for attribute in os.listxattr(target):
            with suppress(OSError):
                os.setxattr(descriptor, attribute, os.getxattr(target, attribute))
    mode = stat.S_IMODE(status.st_mode)
    if os.fstat(descriptor).st_gid != status.st_gid:
        # What the old group was allowed is nothing to another one.
        mode &= ~(stat.S_IRWXG | stat.S_ISGID)
    os.fchmod(descriptor, mode)


def _sync(directory: str) -> None:
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_stale(directory: str, name: str) -> None:
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(f".{name[:180]}.") and entry.name.endswith(TEMPORARY_SUFFIX):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE_SECONDS:
                        os.unlink(entry.path)


_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space, or save it elsewhere"),
    errno.EDQUOT: ("the disk quota is exceeded", "free some space, or save it elsewhere"),
    errno.EFBIG: ("the file would be too large", "save it elsewhere"),
    errno.EROFS: ("the file system is read-only", "save it elsewhere"),
    errno.EACCES: ("no permission to write there", "check the permissions of the directory, or save it elsewhere"),
    errno.EPERM: ("no permission to write there", "check the permissions of the directory, or save it elsewhere"),
    errno.ENOENT: ("there is no such directory", "create it first, or save it elsewhere"),
    errno.ENOTDIR: ("there is no such directory", "create it first, or save it elsewhere"),
    errno.ELOOP: ("the symbolic links form a loop", "save it elsewhere"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
}


def _explain(error: OSError, source: str) -> NotSaved:
    reason, hint = _REASONS.get(
        error.errno or 0, (error.strerror or type(error).__name__, "save it elsewhere and try again")
    )
    return NotSaved(f"`{source}` was not saved: {reason}; the file is unchanged", hint)
