"""Debug files by build id: from the cache of debuginfod's clients, else its servers."""

from __future__ import annotations

import os
import sys
from functools import partial

from gsym.containers.fat import open_slice
from gsym.conversion.companions.debuginfod_cache import DebuginfodCache
from gsym.conversion.companions.debuginfod_settings import (
    CLIENT_LIMITS,
    DebuginfodSettings,
    folder_of_url,
    read_settings,
)
from gsym.conversion.companions.search import (
    NOT_FOUND,
    CompanionSearch,
    fetched,
    other_build,
)
from gsym.errors import GsymError, SourceError
from gsym.modules.key import key_of_build_id
from gsym.writing.atomic_file import sync

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gsym.containers.object_file import ObjectFile


def find_by_debuginfod(
    search: CompanionSearch,
    build_id: bytes,
    fault: Callable[[ObjectFile], str],
    environment: Mapping[str, str] = os.environ,
) -> Iterator[ObjectFile]:
    """The debug file of a build.

    *fault* returns why a file does not match; "" if it does.

    Raises:
        UnsupportedError: The extra `net` is not installed.
    """
    settings = read_settings(environment)
    cache = DebuginfodCache(settings.cache)
    path = cache.path(build_id, "debuginfo")
    cache.clean()
    if cache.is_held(path):
        yield from search.open(path, fault)
    elif cache.is_known_missing(path):
        search.refuse(path, "no server had it recently")
        return
    for found in _ask_servers(search, settings, cache, build_id):
        yield from search.open(found, fault)


def _ask_servers(
    search: CompanionSearch,
    settings: DebuginfodSettings,
    cache: DebuginfodCache,
    build_id: bytes,
) -> Iterator[str]:
    """Paths of the debug file of a build, from one server after the other.

    Those that are folders may have it; the first other one that has it is the last.
    """
    for server in settings.skipped:
        search.refuse(server, "signatures (ima:enforcing) are not checked")
    if not settings.servers:
        search.refuse("debuginfod", "DEBUGINFOD_URLS names no server to ask")
    target = cache.path(build_id, "debuginfo")
    reasons = set()
    for server in settings.servers:
        path = f"buildid/{build_id.hex()}/debuginfo"
        try:
            if server.startswith("file:"):
                yield os.path.join(folder_of_url(server), path)
                continue
            fetch = partial(_fetch, server, path, settings, build_id)
            reason = fetched(target, cache.folder, fetch)
        except ValueError as error:
            reason = str(error)
        if settings.is_verbose:
            text = f"debuginfod: {server}/{path}: {reason or 'fetched'}\n"
            sys.stderr.write(text)
        if not reason:
            yield target
            return
        search.refuse(f"{server}/{path}", reason)
        reasons.add(reason)
    if reasons == {NOT_FOUND}:
        cache.remember_missing(target)


def _fetch(
    server: str, path: str, settings: DebuginfodSettings, build_id: bytes, target: str
) -> None:
    """Fetch a file of a build from a server."""
    from gsym.net.file_server import FileServer
    from gsym.net.transfer import Transfer
    from gsym.net.web_address import read_web_address

    address = read_web_address(server)
    # Its servers may redirect to any address, as for other clients of debuginfod.
    limits = settings.limits(CLIENT_LIMITS)
    transfer = Transfer(limits, user="debuginfod", allow_private=True)

    def show(size: int) -> None:
        sys.stderr.write(f"\rDownloading {server}/{path}: {size} bytes")

    progress = show if settings.shows_progress else None
    try:
        named = FileServer(address, transfer, settings.headers, settings.most_bytes)
        named.fetch(path, target, progress)
    finally:
        transfer.close()
    if settings.shows_progress:
        sys.stderr.write("\n")
    try:
        candidate = open_slice(target)
    except GsymError as error:
        raise SourceError(error.reason) from error
    if reason := other_build(candidate, key_of_build_id(build_id)):
        raise SourceError(reason)
    sync(target)
    os.chmod(target, 0o400)
