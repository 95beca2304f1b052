"""Who gets in: everybody with the token, and nobody else, whatever they ask for."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar, WSServerHandshakeError
from aiohttp.test_utils import TestServer
from yarl import URL

from placetui.web.guard import HEADERS, REFUSAL, Guard
from placetui.web.server import Tabs, is_loopback

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "sample_configs" / "collocated.yaml")
PATIENCE = 30.0
EVERYTHING = ["/", "/ws", "/static/js/textual.js", "/static/", "/page/start.js", "/download/x", "/nothing/here"]


class Visit:
    """A server with nobody in it yet, and a client."""

    def __init__(self, server: TestServer, client: ClientSession, guard: Guard) -> None:
        self.server, self.client, self.guard = server, client, guard
        self.origin = str(server.make_url("/").origin())

    def url(self, path: str) -> URL:
        return self.server.make_url(path)

    async def enter(self) -> None:
        async with self.client.get(self.url(f"/?token={self.guard.token}")) as answer:
            assert answer.status == 200


def visit(scene: Callable[[Visit], Awaitable[None]], *arguments: str) -> None:
    """Play a scene."""

    async def play() -> None:
        guard = Guard()
        server = TestServer(Tabs(arguments, "placetui").app(guard))
        # Cookies of a bare address are kept only when asked for.
        async with server, ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
            await scene(Visit(server, client, guard))

    asyncio.run(play())


def dashboards() -> set[int]:
    """The processes that this one has started and not yet buried."""
    tasks = Path(f"/proc/{os.getpid()}/task").iterdir()
    return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}


async def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


def test_a_stranger_gets_the_same_refusal_for_everything() -> None:
    async def scene(here: Visit) -> None:
        for path in EVERYTHING:
            for method in ("GET", "POST", "OPTIONS"):
                async with here.client.request(method, here.url(path)) as answer:
                    assert (answer.status, await answer.text()) == (403, REFUSAL), (method, path)
                    assert "Set-Cookie" not in answer.headers
                    assert "aiohttp" not in str(answer.headers)

    visit(scene)


@pytest.mark.parametrize("token", ["", "wrong", "é\udc00", "a" * 43])
def test_a_wrong_token_opens_nothing(token: str) -> None:
    async def scene(here: Visit) -> None:
        sent = token.encode("utf-8", "replace").decode()
        async with here.client.get(here.url("/").with_query(token=sent)) as answer:
            assert (answer.status, await answer.text()) == (403, REFUSAL)
        async with here.client.get(here.url("/"), cookies={here.guard.cookie: "a" * 43}) as answer:
            assert answer.status == 403

    visit(scene)


def test_the_token_is_taken_at_the_door_only() -> None:
    async def scene(here: Visit) -> None:
        async with here.client.get(here.url(f"/static/js/textual.js?token={here.guard.token}")) as answer:
            assert answer.status == 403

    visit(scene)


def test_the_token_becomes_a_cookie_and_leaves_the_address() -> None:
    async def scene(here: Visit) -> None:
        async with here.client.get(here.url(f"/?token={here.guard.token}")) as answer:
            cookie = answer.cookies[here.guard.cookie]
            assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
            assert not cookie["expires"]
            assert not cookie["max-age"]
            text = await answer.text()
            assert 'url=/"' in text
            assert here.guard.token not in text
            assert answer.headers["Referrer-Policy"] == "no-referrer"
        async with here.client.get(here.url("/")) as answer:
            assert answer.status == 200
            assert here.guard.token not in await answer.text()

    visit(scene)


def test_nothing_is_kept_or_framed_or_loaded_from_elsewhere() -> None:
    async def scene(here: Visit) -> None:
        await here.enter()
        for path in ["/", "/static/js/textual.js", "/static/css/xterm.css", "/page/start.js", "/page/page.css"]:
            async with here.client.get(here.url(path)) as answer:
                assert answer.status == 200
                assert {name: answer.headers[name] for name in HEADERS} == HEADERS
                if not path.endswith("textual.js"):
                    assert "https://" not in (await answer.text()).replace("https://github.com", "")

    visit(scene)


def test_what_is_not_there_is_not_there() -> None:
    async def scene(here: Visit) -> None:
        await here.enter()
        for path in ["/static/", "/static/../server.py", "/page/index.html", "/page/..%2fguard.py", "/download/x"]:
            async with here.client.get(here.url(path)) as answer:
                assert answer.status in (403, 404), path

    visit(scene)


@pytest.mark.parametrize("origin", [None, "", "null", "http://evil.example", "http://127.0.0.1:1", "http://localhost"])
def test_a_socket_from_another_page_is_refused(origin: str | None) -> None:
    async def scene(here: Visit) -> None:
        await here.enter()
        with pytest.raises(WSServerHandshakeError) as refused:
            await here.client.ws_connect(here.url("/ws"), origin=origin)
        assert refused.value.status == 403
        assert not dashboards()

    visit(scene)


def test_a_socket_without_the_cookie_is_refused() -> None:
    async def scene(here: Visit) -> None:
        with pytest.raises(WSServerHandshakeError) as refused:
            await here.client.ws_connect(here.url("/ws"), origin=here.origin)
        assert refused.value.status == 403
        assert not dashboards()

    visit(scene)


def test_each_tab_has_a_dashboard_that_ends_with_it() -> None:
    async def scene(here: Visit) -> None:
        await here.enter()
        one, two = [await here.client.ws_connect(here.url("/ws"), origin=here.origin) for _ in range(2)]
        for tab in (one, two):
            assert await tab.receive_bytes(timeout=PATIENCE)
        both = dashboards()
        assert len(both) == 2
        await one.close()
        await until(lambda: len(dashboards()) == 1)
        # Nonsense ends a tab as well.
        await two.send_str("nonsense")
        while not (await two.receive(timeout=PATIENCE)).type.name.startswith("CLOS"):
            pass
        await until(lambda: not dashboards())

    visit(scene, SAMPLE)


def test_a_file_with_the_name_of_a_command_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(here: Visit) -> None:
        await here.enter()
        async with here.client.ws_connect(here.url("/ws"), origin=here.origin) as tab:
            painted = b""
            end = time.monotonic() + PATIENCE
            while b"node0" not in painted:
                assert time.monotonic() < end
                painted += await tab.receive_bytes(timeout=PATIENCE)

    (tmp_path / "up").write_text("cluster: {num_nodes: 1, component_placement: {actor: 0-7}}\n")
    monkeypatch.chdir(tmp_path)
    visit(scene, "up")


def test_a_tab_is_told_that_its_dashboard_cannot_start(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def scene(here: Visit) -> None:
        await here.enter()
        tab = await here.client.ws_connect(here.url("/ws"), origin=here.origin)
        assert (await tab.receive(timeout=PATIENCE)).type.name.startswith("CLOS")

    visit(scene, str(tmp_path / "gone.yaml"))
    assert "gone.yaml" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("host", "only_here"),
    [("127.0.0.1", True), ("127.0.0.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_what_only_this_machine_can_reach(host: str, only_here: bool) -> None:
    assert is_loopback(host) == only_here


def test_each_server_has_a_token_and_a_cookie_of_its_own() -> None:
    one, two = Guard(), Guard()
    assert one.token != two.token
    assert one.cookie != two.cookie
    assert len(one.token) >= 43
