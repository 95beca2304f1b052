"""Reading text files, with a clear message for everything that can go wrong."""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from placetui.document.report import DocumentError, refuse

MAX_BYTES = 4 * 1024 * 1024
"""Largest file that is read."""

BOM = "\ufeff"


class FileText(NamedTuple):
    """The content of a text file."""

    text: str
    """Without the byte order mark; line endings are kept as they are."""

    source: str
    """The path, printable."""

    bom: bool = False
    """Whether the file begins with a byte order mark."""


def read_text(path: str | os.PathLike[str]) -> FileText:
    """Read a text file.

    Raises:
        DocumentError: `file_not_found`, `file_unreadable`, `file_too_large` or `file_not_text`.
    """
    source = printable(path)
    data = _read_bytes(path, source)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and b"\0" in data:
        raise refuse("file_not_text", f"`{source}` is UTF-16 text, not UTF-8", "save it as UTF-8", source)
    if b"\0" in data:
        message = f"`{source}` is a binary file: it contains NUL bytes"
        raise refuse("file_not_text", message, "pass a YAML file", source)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"`{source}` is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line} is not valid"
        raise refuse("file_not_text", message, "save it as UTF-8", source) from None
    bom = text.startswith(BOM)
    return FileText(text[1:] if bom else text, source, bom)


def printable(path: str | os.PathLike[str]) -> str:
    """A path as text that can always be encoded."""
    return os.fspath(path).encode("utf-8", "backslashreplace").decode("utf-8")


def _read_bytes(path: str | os.PathLike[str], source: str) -> bytes:
    try:
        # A device may act on being opened, so look first; the file may change in between, so look again.
        _check(os.stat(path), source)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            _check(os.fstat(descriptor), source)
            data = file.read(MAX_BYTES + 1)
    except DocumentError:
        raise
    except OSError as error:
        raise _explain(error, source) from None
    except ValueError:
        message = f"`{source!r}` cannot be the name of a file"
        raise refuse("file_not_found", message, "check the path", source) from None
    if len(data) > MAX_BYTES:
        raise _too_large(len(data), source)
    return data


def _check(status: os.stat_result, source: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise refuse("file_unreadable", f"`{source}` is a directory", "pass one of the files inside it", source)
    if not stat.S_ISREG(status.st_mode):
        message = f"`{source}` is a pipe, a socket or a device, not a file"
        raise refuse("file_unreadable", message, "write it to a file first", source)
    if status.st_size > MAX_BYTES:
        raise _too_large(status.st_size, source)


def _too_large(size: int, source: str) -> DocumentError:
    message = f"`{source}` has {size / 1024 / 1024:.1f} MiB; files of up to {MAX_BYTES // 1024 // 1024} MiB are read"
    return refuse("file_too_large", message, "keep the placement in a separate file", source)


def _explain(error: OSError, source: str) -> DocumentError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return refuse("file_not_found", f"there is no file `{source}`", "check the path", source)
    if error.errno in (errno.EACCES, errno.EPERM):
        message, hint = f"no permission to read `{source}`", "check its owner and permissions"
    else:
        message = f"`{source}` cannot be read: {error.strerror or type(error).__name__}"
        hint = "copy it elsewhere and try again"
    return refuse("file_unreadable", message, hint, source)
