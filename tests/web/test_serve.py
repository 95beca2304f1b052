"""The command: what it says, what it refuses, and what is left when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiohttp import ClientSession, CookieJar

if TYPE_CHECKING:
    from tests.web.conftest import Served

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "sample_configs" / "collocated.yaml")
PATIENCE = 30.0


def run(*arguments: str, before: str = "pass") -> subprocess.CompletedProcess[str]:
    code = f"import sys; {before}; from placetui.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)


def test_without_the_extra_it_says_what_to_install() -> None:
    done = run(SAMPLE, before="sys.modules['aiohttp'] = None")
    assert done.returncode == 2
    assert done.stderr == "placetui serve: aiohttp is not installed here\n  hint: pip install 'placetui[web]'\n"


def test_what_would_keep_the_dashboard_from_opening_is_said_at_once(tmp_path: Path) -> None:
    missing = run(str(tmp_path / "missing.yaml"))
    assert missing.returncode == 2
    assert "missing.yaml" in missing.stderr
    theme = run(SAMPLE, "--theme", "no-such-theme")
    assert theme.returncode == 2
    assert "there is no theme no-such-theme" in theme.stderr
    recording = run(SAMPLE, "--replay", str(tmp_path / "missing.rec"))
    assert recording.returncode == 2
    assert "missing.rec" in recording.stderr
    mistyped = run(SAMPLE, "--them", "nord")
    assert mistyped.returncode == 2
    assert "--them" in mistyped.stderr
    assert missing.stdout == mistyped.stdout == ""


def test_a_port_that_is_taken_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(SAMPLE, "--port", str(port))
    assert done.returncode == 2
    assert f"port {port} of 127.0.0.1 is in use" in done.stderr
    assert "--port 0" in done.stderr


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--port", "99999"], "cannot listen on port 99999"),
        (["--host", "203.0.113.7"], "203.0.113.7 is not an address of this machine"),
        (["--host", "no.such.host.invalid"], "unknown host no.such.host.invalid"),
    ],
)
def test_what_cannot_be_listened_on_is_a_sentence(more: list[str], sentence: str) -> None:
    done = run(SAMPLE, *more)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_others_may_reach_it_only_if_that_is_said_and_then_it_warns(served: Callable[..., Served]) -> None:
    closed, opened = served(SAMPLE), served(SAMPLE, "--host", "0.0.0.0", "--write")
    assert closed.base.startswith("http://127.0.0.1:")
    assert listens_on(closed) == {"0100007F"}
    assert listens_on(opened) == {"00000000"}
    code, said = closed.end()
    assert code == 0
    assert "can look, but not change anything" in said
    assert "encrypted" not in said
    code, said = opened.end(signal.SIGTERM)
    assert code == 0
    assert "can edit and launch" in said
    assert "0.0.0.0 can be reached by others, and nothing is encrypted" in said
    assert opened.token not in said


def listens_on(server: Served) -> set[str]:
    """Addresses, as the kernel writes them, that a server's port is open on."""
    port = f"{int(server.base.rpartition(':')[2]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[1].endswith(f":{port}")}


def gone(pids: set[int]) -> None:
    end = time.monotonic() + PATIENCE
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def with_a_tab(server: Served, scene: Callable[[set[int]], None]) -> None:
    """Do something while a tab is open, told the processes of its dashboard."""

    async def play() -> None:
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
            async with client.get(server.url) as answer:
                assert answer.status == 200
            async with client.ws_connect(f"{server.base}/ws", origin=server.base) as tab:
                await tab.receive_bytes(timeout=PATIENCE)
                scene(server.dashboards())

    asyncio.run(play())


def test_no_secret_is_where_other_users_can_see_it(served: Callable[..., Served]) -> None:
    server = served(SAMPLE)

    def look(dashboards: set[int]) -> None:
        (pid,) = dashboards
        for file in ("cmdline", "environ"):
            assert server.token.encode() not in Path(f"/proc/{pid}/{file}").read_bytes()

    with_a_tab(server, look)


def test_ctrl_c_ends_the_dashboards_too(served: Callable[..., Served]) -> None:
    server = served(SAMPLE)

    def interrupt(dashboards: set[int]) -> None:
        assert len(dashboards) == 1
        server.process.send_signal(signal.SIGINT)
        gone(dashboards)

    with_a_tab(server, interrupt)
    assert server.process.wait(PATIENCE) == 0


@pytest.mark.slow
def test_dashboards_end_by_themselves_when_the_server_is_killed(served: Callable[..., Served]) -> None:
    server = served(SAMPLE)

    def kill(dashboards: set[int]) -> None:
        assert len(dashboards) == 1
        server.process.kill()
        gone(dashboards)

    with_a_tab(server, kill)


@pytest.mark.slow
def test_a_dashboard_that_hangs_is_ended_with_its_tab(served: Callable[..., Served]) -> None:
    server = served(SAMPLE, "--demo")
    hanging: set[int] = set()

    def hang(dashboards: set[int]) -> None:
        hanging.update(dashboards)
        for pid in dashboards:
            os.kill(pid, signal.SIGSTOP)

    with_a_tab(server, hang)
    assert len(hanging) == 1
    gone(hanging)
