"""One tab: its own dashboard process, which ends with the tab."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

DRIVER = "placetui.tui.terminal.web_driver:TabDriver"

GRACE = 5.0
"""Seconds that a dashboard has to quit."""

# Always the dashboard: a file may have the name of a command.
_BOOT = """
import json, sys
_, path, *arguments = sys.argv
sys.path = json.loads(path)
from placetui.cli.main import execute
from placetui.cli.parser import program_parser
sys.exit(execute(program_parser().parse_args(arguments)))
"""


def dashboard_command(arguments: Sequence[str]) -> list[str]:
    """How to run the dashboard with the same modules that this process has."""
    return [sys.executable, "-c", _BOOT, json.dumps(sys.path), *arguments]


class Tab(AppService):
    """A dashboard process behind a socket.

    textual-serve starts it through a shell, leaves it running when it hangs or the socket breaks first, and does not
    notify the browser when it exits silently. Here it always ends, and the browser learns of it.
    """

    def __init__(self, arguments: Sequence[str], socket: web.WebSocketResponse, downloads: DownloadManager) -> None:
        async def send_bytes(data: bytes) -> None:
            # Read also after the browser has gone, or the dashboard would block on a full pipe.
            with suppress(ConnectionError, RuntimeError):
                await socket.send_bytes(data)

        async def send_text(text: str) -> None:
            with suppress(ConnectionError, RuntimeError):
                await socket.send_str(text)

        async def close() -> None:
            await socket.close()

        super().__init__("", write_bytes=send_bytes, write_str=send_text, close=close, download_manager=downloads)
        self._arguments = arguments

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        # The browser shows every character, whatever the locale of this machine.
        return {**super()._build_environment(width, height), "TEXTUAL_DRIVER": DRIVER, "PYTHONIOENCODING": "utf-8"}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        self._process = await asyncio.create_subprocess_exec(
            *dashboard_command(self._arguments),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._build_environment(width, height),
            start_new_session=True,
        )
        self._stdin = self._process.stdin
        return self._process

    async def run(self) -> None:
        await super().run()
        await self.remote_close()

    async def stop(self) -> None:
        """Ask the dashboard to quit, and kill it after a while."""
        process, self._process = self._process, None
        if process is None:
            return
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        await self.send_meta({"type": "quit"})
        self.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), GRACE)
        except asyncio.TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if self._task is not None:
            await self._task
