"""One tab: a dashboard of its own, which ends with the tab."""

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

DRIVER = "placetui.tui.web_driver:TabDriver"

GRACE = 5.0
"""Seconds that a dashboard has to leave."""

# The dashboard and nothing else: a file may have the name of a command.
_BOOT = """
import json, sys
_, path, *arguments = sys.argv
sys.path = json.loads(path)
from placetui.cli.app import run
sys.exit(run(arguments))
"""


def dashboard_command(arguments: Sequence[str]) -> list[str]:
    """How to run the dashboard with the very modules that this process has."""
    return [sys.executable, "-c", _BOOT, json.dumps(sys.path), *arguments]


class Tab(AppService):
    """A dashboard process behind a socket.

    textual-serve starts it through a shell, leaves it alone when it hangs or when the socket breaks first, and says
    nothing to the browser when it ends without a word: here it is certain to end, and the browser is told.
    """

    def __init__(self, arguments: Sequence[str], socket: web.WebSocketResponse, downloads: DownloadManager) -> None:
        async def send_bytes(data: bytes) -> None:
            # What comes after the browser has gone is read nevertheless, or the dashboard would wait for us for ever.
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
        # The browser knows every character, whatever this machine's locale says.
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
        """End the dashboard: at its own pace, or else without asking."""
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
