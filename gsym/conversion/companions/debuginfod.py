"""Debug files by build id: from the cache of debuginfod's clients, else its servers."""

from __future__ import annotations

import os
import sys

from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion.companions.debuginfod_cache import DebuginfodCache
from gsym.conversion.companions.debuginfod_settings import (
    DebuginfodSettings,
    read_settings,
)
from gsym.conversion.companions.search import (
    NOT_FOUND,
    CompanionSearch,
    fetched,
    other_build,
)
from gsym.errors import GsymError, NotFoundError, SourceError, reason_of
from gsym.modules.key import key_of_build_id
from gsym.writing.atomic_file import sync

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gsym.net.limits import TransferLimits

_TOO_LARGE = 406  # the server heeds X-DEBUGINFOD-MAXSIZE
_UNLIMITED_SECONDS = 1e8
_UNLIMITED_BYTES = 1 << 62
_LEAST_BYTES = 100 << 10  # in each time-out, as elfutils has it
_REDIRECTS = 20
_READ_SIZE = 256 << 10


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
        """Whether *path* is now the file of that build."""
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
            self._log(f"{url}: {reason or 'fetched'}")
            if not reason:
                return True
            self._search.refuse(url, reason)
            reasons.add(reason)
        if reasons == {NOT_FOUND}:
            self._cache.remember_missing(path)
        return False

    def _ask(self, url: str, build_id: bytes, path: str) -> str:
        """Ask one server; return why it did not deliver the file, "" if it did."""

        def fetch(temporary: str) -> None:
            self._cache.prepare(path)
            if url.startswith("file://"):
                self._copy(url, temporary)
            elif url.startswith(("http://", "https://")):
                self._transfer(url, temporary)
            else:
                raise SourceError("not an http, https or file URL")
            try:
                candidate = ObjectFile(map_file(temporary), temporary)
            except GsymError as error:
                raise SourceError(error.reason) from error
            if reason := other_build(candidate, key_of_build_id(build_id)):
                raise SourceError(reason)
            sync(temporary)
            os.chmod(temporary, 0o400)

        return fetched(path, self._cache.folder, fetch)

    def _transfer(self, url: str, path: str) -> None:
        from gsym.net.transfer import Transfer
        from gsym.net.web_address import read_web_address

        settings = self._settings
        try:
            address = read_web_address(url)
        except ValueError as error:
            raise SourceError(str(error)) from None
        headers = list(settings.headers)
        if settings.most_bytes:
            headers.append(("X-DEBUGINFOD-MAXSIZE", str(settings.most_bytes)))
        # Its servers may redirect to any address, as for other clients of debuginfod.
        transfer = Transfer(
            transfer_limits(settings), user="debuginfod", allow_private=True
        )
        try:
            transfer.fetch(
                address,
                path,
                headers=headers,
                is_trusted=True,
                progress=lambda size: self._show(f"\rDownloading {url}: {size} bytes"),
            )
        except SourceError as error:
            if error.status == _TOO_LARGE and settings.most_bytes:
                reason = f"is larger than {settings.most_bytes} bytes"
                raise SourceError(reason) from error
            raise
        finally:
            transfer.close()
        self._show("\n")

    def _copy(self, url: str, path: str) -> None:
        from urllib.parse import unquote_to_bytes, urlsplit

        from gsym.net.transfer import within_size, write_pieces

        parts = urlsplit(url)
        if parts.netloc not in {"", "localhost"}:
            raise SourceError("names another machine")
        try:
            source = unquote_to_bytes(parts.path)
            file = open(source, "rb", opener=_open_at_once)  # noqa: SIM115
        except FileNotFoundError:
            raise NotFoundError(NOT_FOUND) from None
        except OSError as error:
            raise SourceError(reason_of(error)) from error
        most = self._settings.most_bytes or _UNLIMITED_BYTES
        with file:
            pieces = iter(lambda: file.read(_READ_SIZE), b"")
            write_pieces(within_size(pieces, most), path)

    def _show(self, text: str) -> None:
        if self._settings.shows_progress:
            sys.stderr.write(text)

    def _log(self, text: str) -> None:
        if self._settings.is_verbose:
            sys.stderr.write(f"debuginfod: {text}\n")


def transfer_limits(settings: DebuginfodSettings) -> TransferLimits:
    """The limits of a download; 0 in *settings* is no limit."""
    from gsym.net.limits import TransferLimits

    seconds = settings.timeout or _UNLIMITED_SECONDS
    size = settings.most_bytes or _UNLIMITED_BYTES
    return TransferLimits(
        connect_seconds=seconds,
        header_seconds=seconds,
        idle_seconds=seconds,
        total_seconds=settings.most_seconds or _UNLIMITED_SECONDS,
        most_bytes=size,
        most_inflated=size,
        least_bytes=_LEAST_BYTES,
        redirects=_REDIRECTS,
        attempts=settings.retries + 1,
        wait_seconds=seconds,
        backoff_seconds=0,
        write_seconds=seconds,
    )


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; opening a pipe would wait for a writer otherwise."""
    return os.open(path, flags | os.O_NONBLOCK)
