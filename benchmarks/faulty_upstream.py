"""A symbol server with all kinds of faults, until it is repaired.

    python -m benchmarks.faulty_upstream PORT TREE

It starts without faults: it serves the files in TREE, and a generated file for any
module called `cold`, whatever its id. GET /__break__ enables the faults for such
modules, /__mend__ disables them; the responses count the faults as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import uvloop

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Awaitable, Callable

COLD = "cold"
FUNCTION = "found_at_last"
OFFSET = 0x1010
_PAUSE = 0.2  # seconds between two bytes of a slow answer
_PATIENCE = 120  # seconds until a stalled answer is given up
_HUGE = 1 << 40
_OK = "200 OK"


class Wish(NamedTuple):
    """What is asked for: the path of the request and what would be the right answer."""

    path: str
    debug_id: str

    @property
    def body(self) -> bytes:
        """A Breakpad file of the module."""
        return (
            f"MODULE Linux x86_64 {self.debug_id} {COLD}\nFILE 0 cold.c\n"
            f"FUNC 1000 100 0 {FUNCTION}\n1000 100 7 0\n"
        ).encode()


def head(status: str, size: int | None, *fields: str) -> bytes:
    """The head of an answer that claims so many bytes."""
    lines = [f"HTTP/1.1 {status}", "Connection: close", *fields]
    lines += [] if size is None else [f"Content-Length: {size}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def stalls(_wish: Wish, _writer: StreamWriter) -> None:
    """Not a byte comes."""
    await asyncio.sleep(_PATIENCE)


async def stalls_within(wish: Wish, writer: StreamWriter) -> None:
    """A half of the body comes, and no more."""
    body = wish.body
    writer.write(head(_OK, len(body)) + body[: len(body) // 2])
    await writer.drain()
    await asyncio.sleep(_PATIENCE)


async def drips(wish: Wish, writer: StreamWriter) -> None:
    """The answer comes a byte at a time."""
    for byte in head(_OK, len(wish.body)) + wish.body:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(_PAUSE)


async def resets(wish: Wish, writer: StreamWriter) -> None:
    """The connection is reset within the body."""
    writer.write(head(_OK, len(wish.body)) + wish.body[:10])
    await writer.drain()
    connection: socket.socket = writer.get_extra_info("socket")
    linger = struct.pack("ii", 1, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


async def hangs_up(_wish: Wish, _writer: StreamWriter) -> None:
    """The connection ends before the answer."""


async def ends_early(wish: Wish, writer: StreamWriter) -> None:
    """The body is shorter than was said."""
    writer.write(head(_OK, 2 * len(wish.body)) + wish.body)


async def goes_in_circles(wish: Wish, writer: StreamWriter) -> None:
    """Redirected to itself."""
    writer.write(head("302 Found", 0, f"Location: {wish.path}"))


async def leads_inside(_wish: Wish, writer: StreamWriter) -> None:
    """Redirected to where cloud machines have their secrets."""
    writer.write(head("302 Found", 0, "Location: http://169.254.169.254/latest/"))


async def talks_garbage(_wish: Wish, writer: StreamWriter) -> None:
    """No HTTP."""
    writer.write(bytes(range(256)) * 16)


async def sends_garbage(_wish: Wish, writer: StreamWriter) -> None:
    """A body that is no symbol file."""
    body = bytes(range(256)) * 256
    writer.write(head(_OK, len(body)) + body)


async def sends_a_page(_wish: Wish, writer: StreamWriter) -> None:
    """An error for people, called a success."""
    body = b"<!doctype html><title>Not found</title>"
    writer.write(head(_OK, len(body), "Content-Type: text/html") + body)


async def lies_about_compression(wish: Wish, writer: StreamWriter) -> None:
    """Said to be compressed, is not."""
    body = wish.body
    writer.write(head(_OK, len(body), "Content-Encoding: gzip") + body)


async def sends_another_module(wish: Wish, writer: StreamWriter) -> None:
    """A sound file, of a module nobody asked for."""
    body = wish._replace(debug_id="F" * 32 + "0").body
    writer.write(head(_OK, len(body)) + body)


async def claims_too_much(_wish: Wish, writer: StreamWriter) -> None:
    """A body larger than any limit, which starts to come."""
    writer.write(head(_OK, _HUGE) + bytes(1 << 16))
    await writer.drain()
    await asyncio.sleep(_PATIENCE)


async def fails(_wish: Wish, writer: StreamWriter) -> None:
    """500."""
    writer.write(head("500 Internal Server Error", 0))


async def is_busy(_wish: Wish, writer: StreamWriter) -> None:
    """503, with the wish to be left alone for a moment, which is granted."""
    writer.write(head("503 Service Unavailable", 0, "Retry-After: 1"))


FAULTS: tuple[Callable[[Wish, StreamWriter], Awaitable[None]], ...] = (
    stalls,
    stalls_within,
    drips,
    resets,
    hangs_up,
    ends_early,
    goes_in_circles,
    leads_inside,
    talks_garbage,
    sends_garbage,
    sends_a_page,
    lies_about_compression,
    sends_another_module,
    claims_too_much,
    fails,
    is_busy,
)


class FaultyUpstream:
    """Serves a tree; faulty for modules called `cold` when it is told to be."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._is_faulty = False
        self._faults = itertools.cycle(FAULTS)
        self._counts = {fault.__name__: 0 for fault in FAULTS}

    async def answer(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One request of a connection."""
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            await self._answer(request.split(" ", 2)[1], writer)
            await writer.drain()
        except (OSError, RuntimeError, asyncio.IncompleteReadError, IndexError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, path: str, writer: StreamWriter) -> None:
        parts = path.strip("/").split("/")
        if path.startswith("/__"):
            self._is_faulty = {"/__break__": True, "/__mend__": False}.get(
                path, self._is_faulty
            )
            body = json.dumps(self._counts).encode()
            writer.write(head(_OK, len(body)) + body)
        elif parts[0] == COLD and parts[-1].endswith(".sym"):
            wish = Wish(path, parts[1].upper())
            if self._is_faulty:
                fault = next(self._faults)
                self._counts[fault.__name__] += 1
                await fault(wish, writer)
            else:
                writer.write(head(_OK, len(wish.body)) + wish.body)
        else:
            writer.write(self._file(parts))

    def _file(self, parts: list[str]) -> bytes:
        """The answer with a file of the tree."""
        path = self._tree.joinpath(*parts).resolve()
        if not path.is_relative_to(self._tree.resolve()) or not path.is_file():
            return head("404 Not Found", 0)
        body = path.read_bytes()
        return head(_OK, len(body)) + body


async def serve(port: int, tree: Path) -> None:
    """Until the process is ended."""
    server = await asyncio.start_server(FaultyUpstream(tree).answer, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
