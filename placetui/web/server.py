"""The server: a page, a socket per tab, and textual-serve's own files, all behind the guard."""

from __future__ import annotations

import asyncio
import errno
import html
import ipaddress
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from aiohttp import WSCloseCode, web
from textual_serve.server import Server, to_int

from placetui.web.guard import Guard
from placetui.web.tab import Tab

_HEARTBEAT = 15.0
"""Seconds between pings to the browser."""

_PATIENCE = 10.0
"""Seconds for open tabs to close at shutdown: more than a dashboard has to quit."""

_PAGE_FILES = {"start.js": "text/javascript", "page.css": "text/css"}


class CannotServe(Exception):
    """The server cannot listen; the message says why."""


@dataclass(eq=False)
class Tabs(Server):
    """The page, its files, and a socket per tab."""

    arguments: Sequence[str]
    """Of the dashboards."""

    title: str
    sockets: set[web.WebSocketResponse] = field(default_factory=set)
    endings: set[asyncio.Task[None]] = field(default_factory=set)
    """Dashboards that are quitting."""

    def __post_init__(self) -> None:
        super().__init__("placetui", title=self.title)

    def app(self, guard: Guard) -> web.Application:
        app = web.Application()
        guard.protect(app)
        app.router.add_get("/", self.handle_index)
        app.router.add_get("/ws", self.handle_websocket)
        app.router.add_get("/download/{key}", self.handle_download)
        app.router.add_get("/page/{name}", self._page_file)
        app.router.add_static("/static", self.statics_path)
        app.on_shutdown.append(self.on_shutdown)
        app.on_cleanup.append(self._wait_for_dashboards)
        return app

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        text = _read("index.html").replace("{title}", html.escape(self.title))
        size = to_int(request.query.get("fontsize", ""), 16)
        return web.Response(text=text.replace("{size}", str(size)), content_type="text/html")

    async def _page_file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in _PAGE_FILES:
            raise web.HTTPNotFound
        return web.Response(text=_read(name), content_type=_PAGE_FILES[name])

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Serve a tab for as long as it is open."""
        socket = web.WebSocketResponse(heartbeat=_HEARTBEAT)
        await socket.prepare(request)
        self.sockets.add(socket)
        tab = Tab(self.arguments, socket, self.download_manager)
        try:
            await tab.start(to_int(request.query.get("width", ""), 80), to_int(request.query.get("height", ""), 24))
            await self._process_messages(socket, tab)
        except (AssertionError, LookupError, TypeError, ValueError):
            await socket.close(code=WSCloseCode.UNSUPPORTED_DATA)  # our page sends no such thing
        finally:
            self.sockets.discard(socket)
            ending = asyncio.create_task(tab.stop())
            self.endings.add(ending)
            ending.add_done_callback(self.endings.discard)
            await asyncio.shield(ending)
        return socket

    async def on_shutdown(self, app: web.Application) -> None:
        await asyncio.gather(*(one.close(code=WSCloseCode.GOING_AWAY) for one in list(self.sockets)))

    async def _wait_for_dashboards(self, app: web.Application) -> None:
        await asyncio.gather(*self.endings, return_exceptions=True)


async def serve(arguments: Sequence[str], title: str, host: str, port: int, listening: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        arguments: Of the dashboards.
        title: Of the page.
        host: To listen on.
        port: To listen on; 0 for a free one.
        listening: Called with the address and its token as soon as it works.

    Raises:
        CannotServe: before `listening` is called.
    """
    guard = Guard()
    # No access log: it would hold the token.
    runner = web.AppRunner(Tabs(arguments, title).app(guard), access_log=None, shutdown_timeout=_PATIENCE)
    await runner.setup()
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except (OSError, OverflowError) as problem:
            raise CannotServe(_why(host, port, problem)) from problem
        listening(f"http://{_authority(host, runner.addresses[0][1])}/?token={guard.token}")
        await end.wait()
    finally:
        await runner.cleanup()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _authority(host: str, port: int) -> str:
    """The host and port of an address; for the unspecified host, the name of this machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"{host}:{port}"
    if address.is_unspecified:
        return f"{socket.gethostname()}:{port}"
    return f"[{host}]:{port}" if address.version == 6 else f"{host}:{port}"


def _why(host: str, port: int, problem: BaseException) -> str:
    if isinstance(problem, socket.gaierror):
        return f"unknown host `{host}`"
    number = problem.errno if isinstance(problem, OSError) else None
    if number == errno.EADDRINUSE:
        return f"port {port} of {host} is in use"
    if number == errno.EADDRNOTAVAIL:
        return f"`{host}` is not an address of this machine"
    if number == errno.EACCES:
        return f"port {port} needs more privileges"
    return f"cannot listen on port {port} of {host}: {problem}"


def _read(name: str) -> str:
    return (files("placetui.web") / "page" / name).read_text(encoding="utf-8")
