"""Refuse requests without the token, from foreign names, or larger than the limit.

Starlette's TrustedHostMiddleware and RequestBodyLimitMiddleware answer in plain text and with their
own words; a client of this service gets every refusal as RFC 9457 has it.
"""

from __future__ import annotations

import hmac
import secrets
from importlib import resources
from urllib.parse import parse_qs, unquote_to_bytes

from markupsafe import Markup
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mgae.serving.service.problems import problem
from mgae.serving.service.shapes import MOST_BYTES
from mgae.serving.templates import open_templates, palette, source_of

_OPEN = ("/health",)
_BY_QUERY = (b"/node", b"/node/recommendations", b"/node/similar")
_TOO_LARGE = f"a request may have {MOST_BYTES:,} bytes"
_HEADERS = {
    "Cache-Control": "no-cache",  # the page must not outlive the service that it belongs to
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Credentials:
    """The token, and the session that a browser gets for it.

    A browser cannot send a token with the address of a page. It shows the token once, in a header
    and never in an address, and gets a cookie that is worth nothing after a restart.
    """

    def __init__(self, token: str | None) -> None:
        self.token = token
        self.session = secrets.token_urlsafe(32)
        # A browser does not tell ports apart: services on one machine need names of their own.
        self.cookie = f"mgae_{secrets.token_hex(4)}"

    def accept(self, request: HTTPConnection) -> bool:
        """Return whether a request has the token or the session, compared in constant time."""
        if self.token is None:
            return True
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), self.token):
            return True
        return _same(request.cookies.get(self.cookie, ""), self.session)


class SignInPage:
    """The page that asks for the token, whole: without the token it can load no other file.

    Attributes:
        html: the page with its script and style inline.
        policy: the Content-Security-Policy that allows those two by their hashes.
    """

    def __init__(self) -> None:
        folder = resources.files("mgae.serving.service") / "templates"
        script = (folder / "sign-in.js").read_text(encoding="utf-8")
        style = palette() + (folder / "sign-in.css").read_text(encoding="utf-8")
        template = open_templates("mgae.serving.service").get_template("sign-in.html")
        self.html = template.render(style=Markup(style), script=Markup(script))
        self.policy = (
            f"default-src 'none'; script-src {source_of(script)}; style-src {source_of(style)}; "
            "img-src data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
        )


class Guard:
    """Answer a refusal, or pass the request on with its body bounded.

    Without a token only the service's own names are answered: otherwise a web page elsewhere
    could give its own name this machine's address and read everything (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, credentials: Credentials, hosts: frozenset[str]) -> None:
        self.app, self.credentials, self.hosts = app, credentials, hosts
        self.sign_in = SignInPage()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or pass the request on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        send = _with_headers(send)
        _keep_slashes(scope)
        refusal = self._refusal(HTTPConnection(scope))
        if refusal is not None:
            return await refusal(scope, receive, send)
        return await self.app(scope, _bounded(receive), send)

    def _refusal(self, request: HTTPConnection) -> Response | None:
        headers, credentials = request.headers, self.credentials
        if credentials.token is None and _name(headers.get("host", "")) not in self.hosts:
            return problem(421, "this service answers to its own address only; see --host")
        if request.scope["path"] not in _OPEN and not credentials.accept(request):
            return self._unauthorized(request.scope["method"], headers)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MOST_BYTES:
            return problem(413, _TOO_LARGE)
        return None

    def _unauthorized(self, method: str, headers: Headers) -> Response:
        challenge = {"WWW-Authenticate": 'Bearer realm="mgae"'}
        if method == "GET" and "text/html" in headers.get("accept", ""):
            policy = {"Content-Security-Policy": self.sign_in.policy}
            return HTMLResponse(self.sign_in.html, 401, {**challenge, **policy})
        return problem(401, "this needs the header Authorization: Bearer TOKEN", headers=challenge)


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _name(host: str) -> str:
    """Return the host without its port.

    >>> _name("LocalHost:8000"), _name("[::1]:8000")
    ('localhost', '[::1]')
    """
    name, _, port = host.rpartition(":")
    return (name if name and port.isdecimal() else host).lower()


def _keep_slashes(scope: Scope) -> None:
    """Let a slash in an id, written %2F, stay in its segment of the path; see `segment_text`."""
    raw = scope.get("raw_path")
    if raw in _BY_QUERY:
        # Clients take "." and ".." in a path as steps: such an id comes in the query.
        ids = parse_qs(scope.get("query_string", b"").decode("ascii", "replace")).get("id", [])
        if len(ids) == 1:
            scope["path"] = f"/nodes/{_segment(ids[0])}{raw.decode().removeprefix('/node')}"
    if raw and raw.startswith(b"/nodes/"):
        parts = (unquote_to_bytes(part).decode("utf-8", "replace") for part in raw.split(b"/"))
        scope["path"] = "/".join(map(_segment, parts))


def _segment(text: str) -> str:
    return text.replace("%", "%25").replace("/", "%2F")


def segment_text(segment: str) -> str:
    """Return the text of a segment of the path.

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
    """Refuse a longer body than allowed, also where no length was announced."""
    received = 0

    async def receiving() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MOST_BYTES:
            raise HTTPException(413, _TOO_LARGE)
        return message

    return receiving
