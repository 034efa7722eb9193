"""A minimal server: one fixed response to every request.

Its rate is the upper limit of the clients that measure other servers.

    python -m benchmarks.bare_server PORT
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import uvloop

BODY = b'{"results":[]}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


class BareServer(asyncio.Protocol):
    """Answers each request that comes in one piece, as small ones do."""

    def connection_made(self, transport: Any) -> None:
        """Keep what answers go out by."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer."""
        del data
        self._transport.write(ANSWER)


async def serve(port: int) -> None:
    """Until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(BareServer, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
