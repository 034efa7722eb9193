"""Symbol stores of Microsoft's tools: paths in them, and servers that have them."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

from gsym.containers.cabinet import compressed_name
from gsym.conversion.companions.search import NOT_FOUND, CompanionSearch, fetched

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def symstore_paths(
    name: str, keys: Iterable[str], *, may_be_compressed: bool = True
) -> Iterator[str]:
    """Relative paths of a file in a store, which some may repeat: NAME/KEY/NAME.

    *keys* are what stores may call its build.
    """
    for key in keys:
        path = f"{name}/{key}/{name}"
        # SSQP names are in lower case; copies of SSQP stores have lower-case ids too.
        ssqp = f"{name.lower()}/{key}/{name.lower()}"
        for each in (path, ssqp, path.lower()):
            tier = name[:2] if each == path else name[:2].lower()
            for form in (each, compressed_name(each)) if may_be_compressed else (each,):
                yield form
                if tier not in {".", ".."}:
                    yield f"{tier}/{form}"  # index2


def fetch_from_servers(
    search: CompanionSearch, servers: Iterable[str], paths: Sequence[str], cache: str
) -> Iterator[str]:
    """Fetch a file from one server after the other until one of them has it.

    Returns:
        Paths of fetched files in the cache. A file after which another is asked for did
        not fit, and is removed.
    """
    from gsym.net.transfer import FileServer, Transfer
    from gsym.net.web_address import read_web_address

    # The user named them: they may redirect to any address, as those of debuginfod may.
    transfer = Transfer(user="a symbol server", allow_private=True)
    try:
        for server in servers:
            try:
                named = FileServer(read_web_address(server), transfer)
            except ValueError as error:
                search.refuse(server, str(error))
                continue
            target, reason = "", NOT_FOUND
            for path in paths:
                target = os.path.join(cache, path)
                reason = fetched(target, cache, partial(named.fetch, path))
                if reason != NOT_FOUND:
                    break
            if reason:
                search.refuse(str(named).rstrip("/"), reason)  # without a password
                continue
            yield target
            with suppress(FileNotFoundError):
                os.unlink(target)
    finally:
        transfer.close()
