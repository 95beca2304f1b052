"""The real server, and a real browser that looks at it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyte
import pytest
from aiohttp import ClientSession, ClientWebSocketResponse

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds; a browser starts slowly on a machine that does something else."""

# What pyte takes for text: keyboard protocols and questions about modes.
UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b_.*?\x1b\\|\x1bP.*?\x1b\\")


class Served:
    """`placetui serve` in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "placetui", "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.end(signal.SIGKILL)
        self.base, _, self.token = self.url.partition("/?token=")

    def dashboards(self) -> set[int]:
        """The processes of its tabs."""
        found: set[int] = set()
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(FileNotFoundError):  # a thread that ended since
                found |= {int(pid) for pid in (task / "children").read_text().split()}
        return found

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Exit code, and everything else that it said."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out + err


@pytest.fixture
def served() -> Iterator[Callable[..., Served]]:
    """Starts servers."""
    started: list[Served] = []

    def start(*arguments: str) -> Served:
        started.append(Served(*arguments))
        return started[-1]

    yield start
    for one in started:
        if not one.process.stdout or not one.process.stdout.closed:
            one.end()


class Page:
    """A tab of the browser, and the screen that its socket paints."""

    def __init__(self, send: Callable[..., Awaitable[dict[str, Any]]]) -> None:
        self.send = send
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self.screen)
        self.problems: list[str] = []
        """What the browser complains about."""

        self.requests: list[dict[str, Any]] = []

    def hear(self, method: str, event: dict[str, Any]) -> None:
        if method == "Network.webSocketFrameReceived" and event["response"]["opcode"] == 2:
            self._stream.feed(UNKNOWN.sub(b"", base64.b64decode(event["response"]["payloadData"])))
        elif method == "Network.webSocketFrameSent" and event["response"]["opcode"] == 1:
            kind, *rest = json.loads(event["response"]["payloadData"])
            if kind == "resize":
                self.screen.resize(rest[0]["height"], rest[0]["width"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"])
        elif method == "Log.entryAdded":
            self.problems.append(event["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(event["exceptionDetails"]))

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"did not happen: {what}\n{self.problems}\n{self.text}"
            await asyncio.sleep(0.05)

    async def sees(self, *words: str) -> None:
        await self.until(lambda: all(word in self.text for word in words), f"{words} on the screen")

    async def go(self, url: str) -> None:
        await self.send("Page.navigate", url=url)

    async def shows(self, text: str) -> None:
        """Wait until the page consists of nothing but this."""
        end = time.monotonic() + PATIENCE
        while (shown := await self.ask("document.body && document.body.innerText")) != text:
            assert time.monotonic() < end, shown
            await asyncio.sleep(0.05)

    async def ask(self, expression: str) -> Any:
        """What an expression is in the page."""
        answer = await self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        return answer["result"].get("value")

    async def size(self, width: int, height: int) -> None:
        """Resize the window; in pixels."""
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    async def click(self, column: int, line: int) -> None:
        """Click a cell of the terminal, both from 0."""
        box = await self.ask("(r => [r.x, r.y, r.width, r.height])"
                             "(document.querySelector('.xterm-screen').getBoundingClientRect())")  # fmt: skip
        x = box[0] + (column + 0.5) * box[2] / self.screen.columns
        y = box[1] + (line + 0.5) * box[3] / self.screen.lines
        await self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def picture(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode((await self.send("Page.captureScreenshot"))["data"])


class Browser:
    """Chromium, spoken to in its DevTools protocol."""

    def __init__(self, socket: ClientWebSocketResponse[bool]) -> None:
        self._socket = socket
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._listener = asyncio.create_task(self._listen())

    async def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        number = len(self._answers) + 1
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        await self._socket.send_json(message if session is None else {**message, "sessionId": session})
        return await asyncio.wait_for(answer, PATIENCE)

    async def open(self) -> Page:
        """A new tab."""
        target = (await self.send("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]

        async def send(method: str, **params: Any) -> dict[str, Any]:
            return await self.send(method, session, **params)

        page = self._pages[session] = Page(send)
        for domain in ("Page", "Network", "Log", "Runtime"):
            await send(f"{domain}.enable")
        return page

    async def _listen(self) -> None:
        async for message in self._socket:
            said = message.json()
            if "id" in said:
                assert "error" not in said, said
                self._answers[said["id"]].set_result(said["result"])
            elif page := self._pages.get(said.get("sessionId", "")):
                page.hear(said["method"], said["params"])


@pytest.fixture
def in_browser(tmp_path: Path) -> Iterator[Callable[[Callable[[Browser], Awaitable[None]]], None]]:
    """Plays a scene in a browser; skips where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium here: on Debian, `apt install chromium` brings it")
    profile = Path(tempfile.mkdtemp(prefix="placetui-browser-"))
    log = (tmp_path / "chromium.log").open("w")
    process = subprocess.Popen(
        [
            program,
            "--headless=new",
            "--no-sandbox",  # or it would not start as root
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--hide-scrollbars",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            "about:blank",
        ],
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )

    async def play(scene: Callable[[Browser], Awaitable[None]]) -> None:
        end = time.monotonic() + PATIENCE
        note = profile / "DevToolsActivePort"
        while not note.exists() or len(note.read_text().split()) < 2:
            assert process.poll() is None, (tmp_path / "chromium.log").read_text()
            assert time.monotonic() < end, "chromium did not start"
            await asyncio.sleep(0.05)
        port, path = note.read_text().split()
        async with ClientSession() as client:
            address = f"ws://127.0.0.1:{port}{path}"
            async with client.ws_connect(address, max_msg_size=0) as socket:
                await scene(Browser(socket))

    yield lambda scene: asyncio.run(play(scene))
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
    log.close()
    shutil.rmtree(profile, ignore_errors=True)
