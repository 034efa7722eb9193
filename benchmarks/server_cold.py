"""The time to the first response for modules that are new to the server.

    python -m benchmarks.server_cold [--modules N] [--rounds N]

One request names many small modules that are in a source folder, with and without
confined processes that convert them. `benchmarks.server` has the times of large ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from benchmarks.breakpad_tree import with_new_id
from benchmarks.http_load import Client, hang_up, request as http_request
from benchmarks.server_latency import API, WrongAnswerError
from benchmarks.serving import HOST, ServerProcess
from tests.page_cache import forget
from tests.symbol_files import debug_id, symbols

if TYPE_CHECKING:
    from benchmarks.breakpad_tree import SymbolFile
    from tests.http_server import Server

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
    tree: Server,
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
        fetched = ask(store, f"{tree.url}/")
        stored = ask(store, f"{tree.url}/")
        for path in store.rglob("module.gsym"):
            forget(path)
        on_disk = ask(store, f"{tree.url}/")
        local = ask(Path(temporary) / "other", str(folder))
    theirs = 0.0
    if peer is not None:
        first_answer(peer, *other)
        theirs = first_answer(peer, big, offset)
    found = FirstAnswers(fetched, local, stored, on_disk, theirs)
    return found, with_new_id(big)


def many_small(folder: Path, count: int, *, confined: bool) -> float:
    """Seconds to the answer about *count* modules that are new to a server.

    Raises:
        WrongAnswerError: One was not found.
    """
    ids = [debug_id(number) for number in range(1, count + 1)]
    body = {
        "memoryMap": [["app", each] for each in ids],
        "stacks": [[[number, 0x1000] for number in range(count)]],
    }
    message = http_request(HOST, API, json.dumps(body).encode())
    settings = ("--set", f"confine_fetched={str(confined).lower()}")
    taken = 0.0

    async def ask(port: int) -> None:
        nonlocal taken
        client = Client(HOST, port, PATIENCE)
        answer = await client.ask(message)
        await hang_up([client])
        (found,) = json.loads(answer.body)["results"]
        if not all(found["found_modules"].values()):
            raise WrongAnswerError(f"{answer.status} {answer.body[:500]!r}")
        taken = answer.seconds

    with (
        tempfile.TemporaryDirectory(dir=folder) as store,
        ServerProcess("--store", store, "--source", str(folder), *settings) as server,
    ):
        uvloop.run(ask(server.port))
    return taken


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--modules", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for number in range(1, arguments.modules + 1):
            inside = folder / "app" / debug_id(number)
            inside.mkdir(parents=True)
            (inside / "app.sym").write_bytes(symbols(number, functions=20))
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(arguments.rounds):
            for confined, found in times.items():
                found.append(many_small(folder, arguments.modules, confined=confined))
    with_it, without = (statistics.median(times[each]) for each in (True, False))
    print(f"confined {with_it:.2f} s, not confined {without:.2f} s: ", end="")
    print(f"{with_it / without:.1f} times as long; {times}")


if __name__ == "__main__":
    main()
