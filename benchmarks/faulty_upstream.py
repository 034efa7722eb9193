"""A symbol server with all kinds of faults, until it is repaired.

    python -m benchmarks.faulty_upstream PORT TREE

It starts without faults: it serves the files in TREE, and a generated file for any
module called `cold`, whatever its id. GET /__break__ enables the faults for such
modules, /__mend__ disables them; the responses count the faults as JSON.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.http_server import Reply, Request, Server, files_of

if TYPE_CHECKING:
    from collections.abc import Callable

COLD = "cold"
FUNCTION = "found_at_last"
OFFSET = 0x1010
_NO_SYMBOLS = bytes(range(256)) * 16
_PAGE = b"<!doctype html><title>Not found</title>"


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


FAULTS: dict[str, Callable[[Wish], Reply]] = {
    "never answers": lambda _wish: Reply(fault="stall"),
    "stops within the body": lambda wish: Reply(wish.body, fault="pause"),
    "sends a byte at a time": lambda wish: Reply(wish.body, fault="drip"),
    "resets the connection within the body": lambda wish: Reply(
        wish.body, fault="reset"
    ),
    "closes the connection without an answer": lambda _wish: Reply(fault="no head"),
    "ends before the length that it announced": lambda wish: Reply(
        wish.body, claimed=2 * len(wish.body)
    ),
    "redirects to itself": lambda wish: Reply.redirect(wish.path),
    # There, virtual machines of clouds get their credentials.
    "redirects to a private address": lambda _wish: Reply.redirect(
        "http://169.254.169.254/latest/"
    ),
    "answers bytes that are not HTTP": lambda _wish: Reply(
        _NO_SYMBOLS, fault="no head"
    ),
    "sends a file without symbols": lambda _wish: Reply(_NO_SYMBOLS),
    "sends an error page with status 200": lambda _wish: Reply(
        _PAGE, headers=(("Content-Type", "text/html"),)
    ),
    "announces gzip and sends plain text": lambda wish: Reply(
        wish.body, headers=(("Content-Encoding", "gzip"),)
    ),
    "sends another module": lambda wish: Reply(
        wish._replace(debug_id="F" * 32 + "0").body
    ),
    "announces 1 TiB": lambda _wish: Reply(
        bytes(1 << 16), claimed=1 << 40, fault="pause"
    ),
    "answers with status 500": lambda _wish: Reply(status=500),
    "answers with status 503": lambda _wish: Reply(
        status=503, headers=(("Retry-After", "1"),)
    ),
}


class FaultyUpstream(Server):
    """Serves a tree; faulty for modules called `cold` when it is told to be."""

    def __init__(self, port: int, tree: Path) -> None:
        super().__init__(self._answer, port=port)
        self._file = files_of(tree)
        self._is_faulty = False
        self._faults = itertools.cycle(FAULTS)
        self._counts = dict.fromkeys(FAULTS, 0)

    def _answer(self, request: Request) -> Reply:
        path = request.path
        parts = path.strip("/").split("/")
        if path.startswith("/__"):
            self._is_faulty = {"/__break__": True, "/__mend__": False}.get(
                path, self._is_faulty
            )
            return Reply(json.dumps(self._counts).encode())
        if parts[0] != COLD or not path.endswith(".sym"):
            return self._file(request)
        wish = Wish(path, parts[1].upper())
        if not self._is_faulty:
            return Reply(wish.body)
        fault = next(self._faults)
        self._counts[fault] += 1
        return FAULTS[fault](wish)


if __name__ == "__main__":
    with FaultyUpstream(int(sys.argv[1]), Path(sys.argv[2])):
        threading.Event().wait()  # until the process is ended
