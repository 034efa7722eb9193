"""Debug files by build id: from the cache of debuginfod's clients, else its servers."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion.companions.debuginfod_cache import DebuginfodCache
from gsym.conversion.companions.debuginfod_settings import read_settings
from gsym.conversion.companions.debuginfod_transport import (
    NotThereError,
    TransportError,
    fetch,
)
from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gsym.conversion.companions.debuginfod_settings import DebuginfodSettings
    from gsym.conversion.companions.search import CompanionSearch

_NOT_THERE = "not there"


def find_by_debuginfod(
    search: CompanionSearch,
    build_id: bytes,
    fault: Callable[[ObjectFile], str],
    environment: Mapping[str, str] = os.environ,
) -> Iterator[ObjectFile]:
    """The debug file of a build.

    Args:
        search: Is told what was tried.
        build_id: Of the file.
        fault: Says why a file does not fit; "" if it does.
        environment: Names servers and limits.

    Raises:
        UnsupportedError: The package for HTTP is not installed.
    """
    settings = read_settings(environment)
    cache = DebuginfodCache(settings.cache)
    path = cache.path(build_id, "debuginfo")
    cache.clean()
    if cache.is_held(path):
        yield from search.open(path, fault)
    elif cache.is_known_missing(path):
        search.refuse(path, "no server had it lately")
        return
    if _Client(settings, cache, search).fetch(build_id, path):
        yield from search.open(path, fault)


class _Client:
    """Asks one server after the other."""

    def __init__(
        self,
        settings: DebuginfodSettings,
        cache: DebuginfodCache,
        search: CompanionSearch,
    ) -> None:
        self._settings = settings
        self._cache = cache
        self._search = search

    def fetch(self, build_id: bytes, path: str) -> bool:
        """Whether *path* now holds the file of that build."""
        servers = self._settings.servers
        for server in self._settings.skipped:
            self._search.refuse(server, "signatures (ima:enforcing) are not checked")
        if not servers:
            self._search.refuse("debuginfod", "DEBUGINFOD_URLS names no server to ask")
            return False
        reasons = set()
        for server in servers:
            url = f"{server}/buildid/{build_id.hex()}/debuginfo"
            reason = self._ask(url, build_id, path)
            self._tell(f"{url}: {reason or 'fetched'}")
            if not reason:
                return True
            self._search.refuse(url, reason)
            reasons.add(reason)
        if reasons == {_NOT_THERE}:
            self._cache.remember_missing(path)
        return False

    def _ask(self, url: str, build_id: bytes, path: str) -> str:
        """Why *url* does not give the file; "" if it did."""
        for _ in range(self._settings.retries):
            reason, may_retry = self._attempt(url, build_id, path)
            if not may_retry:
                return reason
            self._tell(f"{url}: {reason}, once more")
        return self._attempt(url, build_id, path)[0]

    def _attempt(self, url: str, build_id: bytes, path: str) -> tuple[str, bool]:
        """The same, and whether another attempt may go better."""
        try:
            return self._download(url, build_id, path), False
        except NotThereError:
            return _NOT_THERE, False
        except TransportError as error:
            return str(error), error.may_retry
        except OSError as error:
            reason = error.strerror or str(error)
            return f"cannot be kept in {self._cache.folder}: {reason}", False

    def _download(self, url: str, build_id: bytes, path: str) -> str:
        """Let the file appear at *path*, whole and of that build; else say why not."""
        self._cache.prepare(path)
        temporary = f"{path}.{os.urandom(4).hex()}"
        try:
            with open(temporary, "xb") as file:
                for piece in fetch(url, self._settings):
                    file.write(piece)
                    self._show(f"\rDownloading {url}: {file.tell()} bytes")
                self._show("\n")
                file.flush()
                os.fsync(file.fileno())
            if reason := _difference(temporary, build_id):
                return reason
            os.chmod(temporary, 0o400)
            os.replace(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        return ""

    def _show(self, text: str) -> None:
        if self._settings.shows_progress:
            sys.stderr.write(text)

    def _tell(self, text: str) -> None:
        if self._settings.is_verbose:
            sys.stderr.write(f"debuginfod: {text}\n")


def _difference(path: str, build_id: bytes) -> str:
    """Why the file at *path* is not of that build."""
    try:
        uuid = ObjectFile(map_file(path), path).uuid
    except GsymError as error:
        return error.reason
    return "" if uuid == build_id else f"has build id {uuid.hex() or 'none'}"
