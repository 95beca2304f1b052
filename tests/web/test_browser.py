"""In a real browser: the dashboard is there and works, and a stranger gets nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from placetui.web.guard import REFUSAL

if TYPE_CHECKING:
    from tests.web.conftest import Browser, Page, Served

    Play = Callable[[Callable[[Browser], Awaitable[None]]], None]

pytestmark = pytest.mark.slow

SAMPLE = str(Path(__file__).parents[2] / "sample_configs" / "collocated.yaml")

OPEN_A_SOCKET = """new Promise(done => {
  const socket = new WebSocket("%s/ws?width=80&height=24");
  socket.onopen = () => done("open");
  socket.onmessage = () => done("message");
  socket.onerror = () => done("refused");
})"""


def place_of(page: Page, word: str) -> tuple[int, int]:
    """Column and line of a word on the screen."""
    return next((line.index(word), y) for y, line in enumerate(page.screen.display) if word in line)


def socket_of(base: str) -> str:
    return OPEN_A_SOCKET % base.replace("http", "ws")


def test_the_dashboard_works(in_browser: Play, served: Callable[..., Served]) -> None:
    server = served(SAMPLE, "--cluster", "2x8")

    async def scene(browser: Browser) -> None:
        page = await browser.open()
        await page.size(1200, 800)
        await page.go(server.url)
        await page.sees("collocated.yaml", "read-only", "node0 · GPU 0", "A15")
        wide = page.screen.columns

        # The token is gone from the address, scripts cannot read it, and nobody else is asked for anything.
        assert await page.ask("location.href") == f"{server.base}/"
        assert await page.ask("document.cookie") == ""
        assert await page.ask("document.title") == "placetui collocated.yaml"
        assert all(one["url"].startswith(server.base) for one in page.requests)
        assert {one["headers"].get("Referer", "") for one in page.requests} == {""}
        assert not [one for one in page.problems if "WebGL" not in one]

        before = await page.picture()
        await page.click(*place_of(page, "A10"))
        await page.sees("node1 · GPU 2", "actor 10")
        await page.until(lambda: server.dashboards(), "a dashboard")
        assert await page.picture() != before

        await page.size(800, 600)
        await page.until(lambda: page.screen.columns < 100, "fewer columns")
        await page.sees("node1 · GPU 2")
        await page.size(1200, 800)
        await page.until(lambda: page.screen.columns == wide, "as many columns as before")
        await page.sees("node1 · GPU 2", "A15")

        # A second tab has a dashboard of its own, where keys work without a click; each ends with its tab.
        other = await browser.open()
        await other.go(f"{server.base}/")
        await other.sees("node0 · GPU 0")
        await other.send("Input.dispatchKeyEvent", type="keyDown", key="l", text="l")
        await other.sees("node0 · GPU 1")
        assert len(server.dashboards()) == 2
        await other.send("Page.close")
        await page.until(lambda: len(server.dashboards()) == 1, "one dashboard")
        await page.go("about:blank")
        await page.until(lambda: not server.dashboards(), "no dashboard")

    in_browser(scene)
    code, said = server.end()
    assert code == 0
    assert server.token not in said


def test_a_stranger_gets_nothing(in_browser: Play, served: Callable[..., Served]) -> None:
    server = served(SAMPLE)

    async def scene(browser: Browser) -> None:
        page = await browser.open()
        for address in (server.base, f"{server.base}/static/js/textual.js", f"{server.base}/?token=wrong"):
            await page.go(address)
            await page.shows(REFUSAL)
            assert await page.ask("location.href") != "about:blank"
            assert await page.ask("document.cookie") == ""
        assert await page.ask("fetch('/static/css/xterm.css').then(answer => answer.status)") == 403
        assert await page.ask(socket_of(server.base)) == "refused"

        # With the cookie in the browser, a page of another server on this machine is still a stranger.
        await page.go(server.url)
        await page.sees("node0 · GPU 0")
        assert len(server.dashboards()) == 1
        elsewhere = web.Application()
        elsewhere.router.add_get("/", _hello)
        async with TestServer(elsewhere) as neighbour:
            other = await browser.open()
            await other.go(str(neighbour.make_url("/")))
            await other.shows("hello")
            assert await other.ask(socket_of(server.base)) == "refused"
            script = f"fetch('{server.base}/', {{credentials: 'include'}}).then(a => a.text()).catch(() => 'nothing')"
            assert await other.ask(script) == "nothing"
        assert len(server.dashboards()) == 1

    in_browser(scene)


async def _hello(request: web.Request) -> web.Response:
    return web.Response(text="hello", content_type="text/html")
