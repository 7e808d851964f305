"""Close connections whose request never arrives, so that nobody else waits for them."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

READ_SECONDS = 30  # for all of a request, its body too
NEW_SECONDS = 1  # for the request of a connection that was made just before the service stops
GRACE_SECONDS = 5  # for requests that are being answered when the service stops


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that waits for a request only so long, however slowly its bytes come.

    uvicorn bounds the time between two requests alone.
    """

    _deadline: asyncio.TimerHandle | None = None
    _ending = False

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what has come, and go on waiting if that is not all."""
        super().data_received(data)
        if self._ending and self.cycle is not None:
            self.cycle.keep_alive = False
        self._watch()

    def shutdown(self) -> None:
        """Close the connection, but let a new one send its request: its client knows of no end."""
        if self.cycle is not None:
            return super().shutdown()
        self._ending = True
        self.loop.call_later(NEW_SECONDS, self._close_unasked)
        return None

    def _close_unasked(self) -> None:
        if self.cycle is None:
            self._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_watching()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(READ_SECONDS, self._give_up)

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
