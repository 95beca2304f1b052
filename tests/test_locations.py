from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from placetui import locations

ALL = (
    locations.config_dir,
    locations.config_file,
    locations.themes_dir,
    locations.state_dir,
    locations.state_file,
    locations.logs_dir,
)


def test_the_xdg_directories_are_used(quiet_environment: Path) -> None:
    home = quiet_environment
    assert locations.config_file() == home / "config" / "placetui" / "config.yaml"
    assert locations.themes_dir() == home / "config" / "placetui" / "themes"
    assert locations.state_file() == home / "state" / "placetui" / "state.json"
    assert locations.logs_dir() == home / "state" / "placetui" / "logs"


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_without_a_usable_variable_the_home_directory_decides(
    value: str, quiet_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, value)
    assert locations.config_dir() == quiet_environment / ".config" / "placetui"
    assert locations.state_dir() == quiet_environment / ".local" / "state" / "placetui"


def test_asking_creates_nothing(quiet_environment: Path) -> None:
    for ask in ALL:
        assert ask().is_absolute()
    assert list(quiet_environment.iterdir()) == []


def test_new_directories_are_closed_to_others_and_old_ones_left_alone(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir(mode=0o755)
    before = os.umask(0o022)
    try:
        made = locations.make_private(old / "new" / "newer")
    finally:
        os.umask(before)
    assert made.is_dir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (made, made.parent)] == [0o700, 0o700]
    assert stat.S_IMODE(old.stat().st_mode) == 0o755
    assert locations.make_private(made) == made


def test_a_file_in_the_way_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        locations.make_private(tmp_path / "file" / "below")
