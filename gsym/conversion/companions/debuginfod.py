"""Debug files by build id: from the cache of debuginfod's clients, else its servers.

The folder that these clients share is laid out as elfutils has it:

    BUILDID/debuginfo       a file that was fetched
    BUILDID/debuginfo       empty: no server had it when this file was made
    cache_clean_interval_s  how often to clean, in seconds; its time stamp: when last
    max_unused_age_s        how long a file is kept that nobody reads
    cache_miss_s            how long an empty file counts
"""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import suppress
from functools import partial

from gsym.containers.fat import open_slice
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
from gsym.modules.key import is_hex, key_of_build_id
from gsym.records import NamedTuple
from gsym.writing.atomic_file import sync

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.containers.object_file import ObjectFile


_CLEAN_INTERVAL = ("cache_clean_interval_s", 86_400)
_UNUSED_AGE = ("max_unused_age_s", 604_800)
_MISS_AGE = ("cache_miss_s", 600)

_OWNED_NAMES = ("debuginfo", "executable")
_OWNED_PREFIXES = ("source", "section", "hdr-", "metadata")


def find_by_debuginfod(
    search: CompanionSearch,
    build_id: bytes,
    fault: Callable[[ObjectFile], str],
) -> Iterator[ObjectFile]:
    """The debug file of a build.

    *fault* returns why a file does not match; "" if it does.

    Raises:
        UnsupportedError: The extra `net` is not installed.
    """
    settings = read_settings(os.environ)
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
    from gsym.net.transfer import FileServer, Transfer
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


class DebuginfodCache(NamedTuple):
    """The cache in a folder, which is made when something is put there."""

    folder: str

    def path(self, build_id: bytes, kind: str) -> str:
        """The path of a file of a build in the cache."""
        return os.path.join(self.folder, build_id.hex(), kind)

    def is_held(self, path: str) -> bool:
        """Whether there is a file, which then counts as used now."""
        try:
            status = os.stat(path)
        except OSError:
            return False
        if status.st_size == 0:
            return False
        with suppress(OSError):
            os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))
        return True

    def is_known_missing(self, path: str) -> bool:
        """Whether the servers were asked for the file not long ago and had none."""
        try:
            status = os.lstat(path)
        except OSError:
            return False
        if status.st_size > 0:
            return False
        if time.time() - status.st_mtime <= self._setting(*_MISS_AGE):
            return True
        with suppress(OSError):
            os.unlink(path)
        return False

    def remember_missing(self, path: str) -> None:
        """Note that no server has the file."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with suppress(OSError):
            for folder in (self.folder, os.path.dirname(path)):
                os.makedirs(folder, mode=0o700, exist_ok=True)
            os.close(os.open(path, flags, 0o666))

    def clean(self) -> None:
        """Remove what has not been used for long, if that was not done lately."""
        try:
            last = os.stat(os.path.join(self.folder, _CLEAN_INTERVAL[0])).st_mtime
        except OSError:
            for name, value in (_CLEAN_INTERVAL, _UNUSED_AGE, _MISS_AGE):
                path = os.path.join(self.folder, name)
                with suppress(OSError), open(path, "x") as file:
                    file.write(str(value))
            return
        if time.time() - last < self._setting(*_CLEAN_INTERVAL):
            return
        oldest = time.time() - self._setting(*_UNUSED_AGE)
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if is_hex(entry.name) and entry.is_dir(follow_symlinks=False):
                    _clean_folder(entry.path, oldest)
        with suppress(OSError):
            os.utime(os.path.join(self.folder, _CLEAN_INTERVAL[0]))

    def _setting(self, name: str, default: int) -> int:
        try:
            with open(os.path.join(self.folder, name), encoding="ascii") as file:
                return int(file.read(32))
        except (OSError, ValueError):
            return default


def _clean_folder(folder: str, oldest: float) -> None:
    """Remove the files in *folder* that were read last before *oldest*."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in _OWNED_NAMES or entry.name.startswith(_OWNED_PREFIXES):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and status.st_atime < oldest:
                    os.unlink(entry.path)
    with suppress(OSError):
        os.rmdir(folder)
