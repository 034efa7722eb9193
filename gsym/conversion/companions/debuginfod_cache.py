"""The folder that clients of debuginfod share, laid out as elfutils has it.

BUILDID/debuginfo       a file that was fetched
BUILDID/debuginfo       empty: no server had it when this file was made
cache_clean_interval_s  how often to clean, in seconds; its time stamp: when last
max_unused_age_s        how long a file is kept that nobody reads
cache_miss_s            how long an empty file counts
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from gsym.modules.key import is_hex

_CLEAN_INTERVAL = ("cache_clean_interval_s", 86_400)
_UNUSED_AGE = ("max_unused_age_s", 604_800)
_MISS_AGE = ("cache_miss_s", 600)

_OWNED_NAMES = ("debuginfo", "executable")
_OWNED_PREFIXES = ("source", "section", "hdr-", "metadata")


class DebuginfodCache:
    """The cache in *folder*, which is made when something is put there."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

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
