"""Reading files: every failure is a `DocumentError`, and nothing blocks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from placetui.document import DocumentError, read_text
from placetui.document.storage.files import MAX_BYTES
from placetui.placement.problems import PlacementError


def refused(path: str | Path) -> str:
    with pytest.raises(DocumentError) as caught:
        read_text(path)
    (problem,) = caught.value.problems
    assert problem.message
    assert not problem.message.endswith(".")
    assert problem.file
    return problem.rule


def test_line_endings_and_bom_are_kept_apart(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    read = read_text(file)
    assert read.text == "a: 1\r\nb: 2\r\n"
    assert read.bom
    assert read.source == str(file)


def test_missing_files(tmp_path: Path) -> None:
    assert refused(tmp_path / "missing.yaml") == "file_not_found"
    (tmp_path / "file").write_text("a: 1\n")
    assert refused(tmp_path / "file" / "below") == "file_not_found"
    assert refused("a\0b") == "file_not_found"
    assert refused("lone \ud800 surrogate") == "file_not_found"


def test_what_is_no_file_is_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert refused(tmp_path) == "file_unreadable"
    assert refused(tmp_path / "fifo") == "file_unreadable"
    assert refused("/dev/zero") == "file_unreadable"
    (tmp_path / "loop").symlink_to("loop")
    assert refused(tmp_path / "loop") == "file_unreadable"
    assert refused("x" * 5000) == "file_unreadable"


READ_AS_NOBODY = """
import os, sys
from placetui.document import DocumentError, read_text
if os.geteuid() == 0:
    os.setuid(65534)  # root may read everything
try:
    read_text(sys.argv[1])
except DocumentError as error:
    sys.stdout.write(error.problems[0].rule)
"""


def test_no_permission(tmp_path: Path) -> None:
    file = tmp_path / "secret.yaml"
    file.write_text("a: 1\n")
    file.chmod(0)
    script = [sys.executable, "-c", READ_AS_NOBODY, str(file)]
    assert subprocess.run(script, capture_output=True, text=True, check=True).stdout == "file_unreadable"


def test_size_limit(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(b"#" * MAX_BYTES)
    assert len(read_text(file).text) == MAX_BYTES
    file.write_bytes(b"#" * (MAX_BYTES + 1))
    assert refused(file) == "file_too_large"
    with file.open("wb") as sparse:
        sparse.truncate(20_000_000_000)
    assert refused(file) == "file_too_large"


@pytest.mark.parametrize("data", [b"a: \xff\n", b"\x7fELF\0\0", "a: 1\n".encode("utf-16"), b"a: \xed\xa0\x80"])
def test_what_is_not_text(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "binary.yaml"
    file.write_bytes(data)
    assert refused(file) == "file_not_text"


def test_a_document_error_is_a_placement_error() -> None:
    with pytest.raises(PlacementError):
        read_text("/nowhere/at/all")
