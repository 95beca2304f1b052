"""The same surroundings for every test, whatever terminal, home directory or cluster it is started beside."""

from __future__ import annotations

import os
import signal
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.telemetry.standin"]

# The same examples on every run: a failure on one machine is a failure on all of them.
settings.register_profile("placetui", derandomize=True, deadline=None)
settings.load_profile("placetui")

# Shells have commands in the background ignore Ctrl-C, and so would everything that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

STEERING_VARIABLES = frozenset({"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CUDA_VISIBLE_DEVICES"})
STEERING_PREFIXES = ("XDG_", "TEXTUAL", "RAY_", "PLACETUI_", "NVML_STANDIN")

_numbers = count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start clusters come first, then dashboards: the short tests at the end keep every core busy."""
    on_ray = {item.path for item in items if item.get_closest_marker("ray")}
    items.sort(key=lambda item: (item.path not in on_ray, "tui" not in item.path.parts))


@pytest.fixture(autouse=True)
def quiet_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test, and no variable that would change what placetui does or how it looks."""
    home = tmp_path_factory.getbasetemp() / f"home{next(_numbers)}"
    home.mkdir()
    for name in list(os.environ):
        if name in STEERING_VARIABLES or name.startswith(STEERING_PREFIXES):
            monkeypatch.delenv(name)
    # Another test may run a cluster at the same time.
    monkeypatch.setenv("RAY_ADDRESS", "local")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    return home
