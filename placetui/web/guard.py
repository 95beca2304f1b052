"""Access control. textual-serve lets everybody in, so this guards everything it offers.

The token is in the address once. The page that it opens sets a cookie and redirects to an address without the token, so
that it appears in no history, log or Referer. Cookies ignore ports, and a page of another local server counts as the
same site: a socket must also come from this very origin.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

REFUSAL = "placetui: open the address that placetui serve printed; it contains the token\n"

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "placetui",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every response, also of refusals: nothing is cached, framed, or loaded from anywhere else."""

# Not an HTTP redirect: after a click on another site, the browser would follow it without the cookie.
_WELCOME = """<!DOCTYPE html>
<meta charset="utf-8"><title>placetui</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0; url=/">
"""


class Guard:
    """Lets requests with the token in, and refuses all others."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.cookie = f"placetui-{secrets.token_hex(4)}"
        """A name per server: a browser keeps one set of cookies for all ports of a host."""

    def protect(self, app: web.Application) -> None:
        """Check every request to an app, also for paths that do not exist."""
        app.middlewares.append(self._check)
        app.on_response_prepare.append(_harden)

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == "/" and "token" in request.query:
            return self._welcome() if self._is_token(request.query["token"]) else _refuse()
        if not self._is_token(request.cookies.get(self.cookie, "")):
            return _refuse()
        if "Upgrade" in request.headers and not _is_own_page(request):
            return _refuse()
        return await handler(request)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self.token.encode())

    def _welcome(self) -> web.Response:
        response = web.Response(text=_WELCOME, content_type="text/html")
        response.set_cookie(self.cookie, self.token, path="/", httponly=True, samesite="Strict")
        return response


def _is_own_page(request: web.Request) -> bool:
    """Browsers send the origin of the page that opens a socket; only ours may."""
    return urlsplit(request.headers.get("Origin", "")).netloc == request.host


def _refuse() -> web.Response:
    return web.Response(status=403, text=REFUSAL)


async def _harden(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
