"""Stacks answered from a store on this machine, as a server would answer them."""

from __future__ import annotations

import json

from gsym.errors import GsymError, UnsupportedError
from gsym.store.directory import Store
from gsym.store.layout import default_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.symbolication.request import Job

_ANY = 1 << 62


def answer_locally(
    jobs: list[Any], store: str | None, sources: list[str]
) -> dict[str, Any]:
    """The answer to jobs, as version 5 of the API has it.

    Args:
        jobs: As JSON has them; one that is not sound is answered `{"error": why}`.
        store: Folder of the symbol store; None for the usual one.
        sources: Where modules come from that it lacks.

    Raises:
        GsymError: A source is of no known kind; or there is neither the store nor a
            source.
        UnsupportedError: A package is not installed.
    """
    try:
        from gsym.server.modules import make_symbolizer
        from gsym.server.settings import Settings
        from gsym.symbolication.response import answer_v5
        from gsym.symbolication.symbolication import Symbolication
    except ImportError as missing:
        raise UnsupportedError(
            f"without --server this needs the package {missing.name}: "
            "pip install 'gsym[server]'"
        ) from None
    folder = store or default_store()
    if not sources and not Store(folder).exists():
        raise GsymError("there is no store", path=folder)
    read = [_read(number, job) for number, job in enumerate(jobs)]
    symbolizer = make_symbolizer(Settings(store=folder, sources=sources))
    try:
        work = Symbolication([job for job in read if not isinstance(job, str)])
        work.open_all(symbolizer)
        found = iter(json.loads(bytes(answer_v5(work)))["results"])
    finally:
        symbolizer.close()
    return {
        "results": [
            {"error": job} if isinstance(job, str) else next(found) for job in read
        ]
    }


def _read(number: int, job: Any) -> Job | str:
    """The job, or why it is refused."""
    from gsym.symbolication.request import RequestError, RequestLimits, read_v4

    limits = RequestLimits(_ANY, _ANY, _ANY, wide_names=True)
    try:
        return read_v4(json.dumps(job).encode(), limits)[0]
    except RequestError as error:
        return error.title.replace("job 0 ", f"job {number} ", 1)
