"""The time to the first response for a module that is new to the server."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from benchmarks.breakpad_tree import TreeServer, with_new_id
from benchmarks.http_load import Client, hang_up, request as http_request
from benchmarks.server_latency import API, WrongAnswerError
from benchmarks.serving import HOST, ServerProcess
from tests.page_cache import forget

if TYPE_CHECKING:
    from benchmarks.breakpad_tree import SymbolFile

PATIENCE = 300  # seconds
_OK = 200


class FirstAnswers(NamedTuple):
    """Seconds to the first answer of each kind.

    Attributes:
        fetched: The Breakpad file came from a server and was converted.
        local: It was in a folder and was converted.
        stored: The store had the converted file, in memory.
        stored_on_disk: The same, not in memory.
        peer: As `fetched`, for the peer; 0 without one.
    """

    fetched: float
    local: float
    stored: float
    stored_on_disk: float
    peer: float


def first_answer(port: int, symbols: SymbolFile, offset: int) -> float:
    """Seconds to the answer about one address, which has to be known.

    Raises:
        WrongAnswerError: It is not.
    """
    body = (
        f'{{"memoryMap":[["{symbols.debug_file}","{symbols.debug_id}"]],'
        f'"stacks":[[[0,{offset}]]]}}'
    )
    taken = 0.0

    async def ask() -> None:
        nonlocal taken
        client = Client(HOST, port, PATIENCE)
        answer = await client.ask(http_request(HOST, API, body.encode()))
        await hang_up([client])
        if answer.status != _OK or b'"function"' not in answer.body:
            raise WrongAnswerError(f"{answer.status} {answer.body[:500]!r}")
        taken = answer.seconds

    uvloop.run(ask())
    return taken


def first_answers(
    big: SymbolFile,
    other: tuple[SymbolFile, int],
    offset: int,
    tree: TreeServer,
    peer: int | None,
) -> tuple[FirstAnswers, SymbolFile]:
    """Measure once each; gives *big* back as it is called afterwards.

    Args:
        big: The file to ask for, below *tree*.
        other: A file and an offset that each server is asked for before, so that the
            start of the server itself does not count.
        offset: An address of *big*, from the base of the module.
        tree: Serves both files.
        peer: The port of a server that fetches from *tree*, too.
    """
    folder = big.path.parents[2]

    def ask(store: Path, source: str) -> float:
        options = ("--workers", "1", "--store", str(store), "--source", source)
        with ServerProcess(*options) as server:
            first_answer(server.port, *other)
            return first_answer(server.port, big, offset)

    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        store = Path(temporary) / "store"
        fetched = ask(store, tree.url)
        stored = ask(store, tree.url)
        for path in store.rglob("module.gsym"):
            forget(path)
        on_disk = ask(store, tree.url)
        local = ask(Path(temporary) / "other", str(folder))
    theirs = 0.0
    if peer is not None:
        first_answer(peer, *other)
        theirs = first_answer(peer, big, offset)
    found = FirstAnswers(fetched, local, stored, on_disk, theirs)
    return found, with_new_id(big)
