"""Settings of debuginfod in the environment, as read by elfutils.

debuginfod-client-config(7) describes the variables.
"""

from __future__ import annotations

import glob
import os
from urllib.parse import unquote_to_bytes, urlsplit

from gsym.net.limits import TransferLimits
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping


class DebuginfodSettings(NamedTuple):
    """The choices of a client."""

    servers: tuple[str, ...]  # URLs of the servers, in order
    skipped: tuple[str, ...]  # those of servers whose files would have to be signed
    cache: str  # folder of what was fetched
    timeout: int  # seconds in which a server has to send 100 KiB; 0: any
    most_seconds: int  # time for one file; 0: no limit
    most_bytes: int  # size of one file; 0: no limit
    retries: int  # number of retries if there is no answer
    headers: tuple[tuple[str, str], ...]  # (name, value) of headers to send
    shows_progress: bool  # downloads are shown on standard error
    is_verbose: bool  # so is each request

    def limits(self, own: TransferLimits) -> TransferLimits:
        """The limits of a download, of which none is looser than in *own*.

        A time-out of the environment replaces those of *own* for an answer: servers may
        have to unpack a package first. So does its number of attempts.
        """
        seconds = self.timeout or _UNLIMITED_SECONDS
        return own._replace(
            connect_seconds=min(seconds, own.connect_seconds),
            header_seconds=seconds,
            idle_seconds=seconds,
            total_seconds=min(
                self.most_seconds or own.total_seconds, own.total_seconds
            ),
            most_bytes=min(self.most_bytes or own.most_bytes, own.most_bytes),
            most_inflated=min(self.most_bytes or own.most_inflated, own.most_inflated),
            least_bytes=_LEAST_BYTES,
            attempts=self.retries + 1,
            wait_seconds=min(seconds, own.wait_seconds),
            write_seconds=min(seconds, own.write_seconds),
        )


_URL_FILES = "/etc/debuginfod/*.urls"
_DEFAULT_TIMEOUT = 90
_DEFAULT_RETRIES = 2
_DEFAULT_MOST_BYTES = 2 << 30  # elfutils: any number
_SIGNED = "ima:enforcing"
_UNLIMITED_SECONDS = 1e8
_UNLIMITED_BYTES = 1 << 62
_LEAST_BYTES = 100 << 10  # in each time-out, as elfutils has it
CLIENT_LIMITS = TransferLimits(
    connect_seconds=_UNLIMITED_SECONDS,
    total_seconds=_UNLIMITED_SECONDS,
    most_bytes=_UNLIMITED_BYTES,
    most_inflated=_UNLIMITED_BYTES,
    redirects=20,
    wait_seconds=_UNLIMITED_SECONDS,
    backoff_seconds=0,
    write_seconds=_UNLIMITED_SECONDS,
)
"""Limits of a client that leaves them to the environment."""


def read_settings(
    environment: Mapping[str, str], url_files: str = _URL_FILES
) -> DebuginfodSettings:
    """Read the settings from *environment*.

    *url_files* is a pattern of files that name servers where it names none.
    """
    servers, skipped = _servers(environment, url_files)
    path = environment.get("DEBUGINFOD_HEADERS_FILE", "")
    parts = (line.partition(":") for line in _read(path).splitlines() if path)
    headers = tuple(
        (name.strip(), value.strip())
        for name, colon, value in parts
        if colon and name.strip()  # other lines are left out
    )
    return DebuginfodSettings(
        servers=servers,
        skipped=skipped,
        cache=_cache_folder(environment),
        timeout=_number(environment, "DEBUGINFOD_TIMEOUT", _DEFAULT_TIMEOUT),
        most_seconds=_number(environment, "DEBUGINFOD_MAXTIME", 0),
        most_bytes=_number(environment, "DEBUGINFOD_MAXSIZE", _DEFAULT_MOST_BYTES),
        retries=_number(environment, "DEBUGINFOD_RETRY_LIMIT", _DEFAULT_RETRIES),
        headers=headers,
        shows_progress="DEBUGINFOD_PROGRESS" in environment,
        is_verbose="DEBUGINFOD_VERBOSE" in environment,
    )


def folder_of_url(url: str) -> str:
    """The path that a URL of this machine names.

    Raises:
        ValueError: It names another machine.
    """
    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"}:
        raise ValueError("names another machine")
    return os.fsdecode(unquote_to_bytes(parts.path))


def _servers(
    environment: Mapping[str, str], url_files: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Usable servers, and those after `ima:enforcing`."""
    text = environment.get("DEBUGINFOD_URLS")
    if text is None:
        text = " ".join(map(_read, sorted(glob.glob(url_files))))
    allowed: dict[str, None] = {}
    signed: dict[str, None] = {}
    kind = allowed
    for word in text.split():
        if word.startswith("ima:"):
            kind = signed if word == _SIGNED else allowed
        else:
            kind[word.rstrip("/")] = None
    return tuple(allowed), tuple(signed)


def _cache_folder(environment: Mapping[str, str]) -> str:
    if folder := environment.get("DEBUGINFOD_CACHE_PATH"):
        return folder
    home = environment.get("HOME") or os.sep
    old = os.path.join(home, ".debuginfod_client_cache")
    if os.path.exists(old):
        return old
    caches = environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(caches, "debuginfod_client")


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    """The value of a variable; what is less than 0 counts as 0."""
    try:
        return max(0, int(environment.get(name, default)))
    except ValueError:
        return default


def _read(path: str) -> str:
    """The text of a file; "" where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""
