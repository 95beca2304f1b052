"""`placetui FILE` for a file that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from placetui.cli import main


def test_a_missing_file_is_an_error_without_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new.yaml"
    assert main([str(path)]) == 2
    assert "new.yaml" in capsys.readouterr().err
    assert not path.exists()


def test_with_write_it_needs_a_terminal_to_ask_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new.yaml"
    assert main([str(path), "--write"]) == 2
    assert "needs a terminal" in capsys.readouterr().err
    assert not path.exists()


def test_its_name_may_be_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--write"]) == 2
    assert "needs a terminal" in capsys.readouterr().err
    assert main(["plan"]) == 2
    assert "unknown command plan" in capsys.readouterr().err


def test_a_link_that_leads_nowhere_is_not_a_new_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to("nowhere.yaml")
    assert main([str(link), "--write"]) == 2
    assert "link.yaml" in capsys.readouterr().err
