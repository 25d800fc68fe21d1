"""What every request goes through: a limit of size and of time, and headers that keep pages closed to others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_LIMIT = 262_144  # bytes of a form
BODY_SECONDS = 20.0  # that a form may take to arrive
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-robots-tag": "noindex",
}


class RequestLimits:
    """Reads the body of a form before the application sees the request; puts it, or why there is none, in the scope."""

    def __init__(self, app: Any, *, limit: int = BODY_LIMIT, seconds: float = BODY_SECONDS) -> None:
        self.app, self.limit, self.seconds = app, limit, seconds

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "POST":
            try:
                scope["study.body"] = await asyncio.wait_for(self._body(receive), self.seconds)
            except TimeoutError:
                scope["study.body"], scope["study.refused"] = b"", "too_slow"
            else:
                if len(scope["study.body"]) > self.limit:
                    scope["study.body"], scope["study.refused"] = b"", "too_large"

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                if not any(name == b"cache-control" for name, _ in message["headers"]):
                    headers.append((b"cache-control", b"no-store"))
                if scope.get("study.refused"):  # what is still under way is not read
                    headers.append((b"connection", b"close"))
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await self.app(scope, receive, with_headers)

    async def _body(self, receive: Receive) -> bytes:
        """The body, or a little more than is allowed of it."""
        body = b""
        while len(body) <= self.limit:
            message = await receive()
            body += message.get("body", b"")
            if message["type"] == "http.disconnect" or not message.get("more_body"):
                break
        return body
