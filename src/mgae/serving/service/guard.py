"""Who may come in, and how much they may bring."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mgae.serving.service.limits import MOST_BYTES
from mgae.serving.service.problems import problem

_OPEN = ("/health",)
_HEADERS = {
    "Cache-Control": "no-cache",  # the page must not outlive the service that it belongs to
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Door:
    """The token, and the session that a browser gets for it.

    A browser cannot send a token with the address of a page. It shows the token once, in a header
    and never in an address, and gets a cookie that is worth nothing after a restart.
    """

    def __init__(self, token: str | None) -> None:
        self.token = token
        self.session = secrets.token_urlsafe(32)
        # A browser does not tell ports apart: services on one machine need names of their own.
        self.cookie = f"mgae_{secrets.token_hex(4)}"

    def lets_in(self, headers: Headers) -> bool:
        """Whether a request has the token or the session, compared in constant time."""
        if self.token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), self.token):
            return True
        return _same(_cookie(headers, self.cookie), self.session)


class Guard:
    """Refuses requests without the token, from foreign names, and larger than the limit.

    Without a token only the service's own names are answered: otherwise a web page elsewhere
    could give its own name this machine's address and read everything (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, door: Door, hosts: frozenset[str], sign_in: str) -> None:
        self.app, self.door, self.hosts, self.sign_in = app, door, hosts, sign_in
        self.sign_in_policy = _inline_policy(sign_in)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or pass the request on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        send = _with_headers(send)
        _keep_slashes(scope)
        refusal = self._refusal(scope)
        if refusal is not None:
            return await refusal(scope, receive, send)
        return await self.app(scope, _bounded(receive), send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if self.door.token is None and _name(headers.get("host", "")) not in self.hosts:
            return problem(421, "this service answers to its own address only; see --host")
        if scope["path"] not in _OPEN and not self.door.lets_in(headers):
            return self._unauthorized(scope, headers)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MOST_BYTES:
            return _too_large()
        return None

    def _unauthorized(self, scope: Scope, headers: Headers) -> Response:
        challenge = {"WWW-Authenticate": 'Bearer realm="mgae"'}
        if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            policy = {"Content-Security-Policy": self.sign_in_policy}
            return HTMLResponse(self.sign_in, 401, {**challenge, **policy})
        return problem(401, "this needs the header Authorization: Bearer TOKEN", headers=challenge)


def _inline_policy(page: str) -> str:
    """Allows a page its own inline script and style by their hashes: it can load no other file."""

    def digests(tag: str) -> str:
        found = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in found)
        return " ".join(f"'sha256-{digest.decode()}'" for digest in hashes)

    return (
        f"default-src 'none'; script-src {digests('script')}; style-src {digests('style')}; "
        "img-src data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _cookie(headers: Headers, name: str) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _name(host: str) -> str:
    """The host without its port.

    >>> _name("LocalHost:8000"), _name("[::1]:8000")
    ('localhost', '[::1]')
    """
    name, _, port = host.rpartition(":")
    return (name if name and port.isdecimal() else host).lower()


def _keep_slashes(scope: Scope) -> None:
    """Let a slash in an id, written %2F, stay in its segment of the path; see `segment_text`."""
    raw = scope.get("raw_path")
    if raw and raw.startswith(b"/nodes/"):
        parts = (unquote_to_bytes(part).decode("utf-8", "replace") for part in raw.split(b"/"))
        scope["path"] = "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


def segment_text(segment: str) -> str:
    """What a segment of the path says.

    >>> segment_text("10%252 a%2Fb")
    '10%2 a/b'
    """
    return segment.replace("%2F", "/").replace("%25", "%")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _bounded(receive: Receive) -> Receive:
    """The same body; a longer one than allowed is refused, also where no length was announced."""
    seen = 0

    async def receiving() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BYTES:
            raise HTTPException(413, f"a request may have {MOST_BYTES:,} bytes")
        return message

    return receiving


def _too_large() -> Response:
    return problem(413, f"a request may have {MOST_BYTES:,} bytes")
