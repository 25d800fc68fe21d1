"""Connections that send their request too slowly are closed: they would hold a place that others need."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 15.0  # that a request may take until its headers are complete


class LimitedConnection(H11Protocol):
    """A connection that is closed where the headers of a request do not arrive in time."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._wait()

    def data_received(self, data: bytes) -> None:
        """A request begins, or goes on."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ended."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._close)

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
