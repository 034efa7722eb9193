"""Sends files of modules to a symbol server that takes them at `/upload/`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote

from gsym.errors import ServerError
from gsym.lazy import json
from gsym.modules.key import ModuleKey, compare
from gsym.net.limits import TransferLimits
from gsym.net.retry import Attempts, RetryPolicy, check_later, retry
from gsym.net.server_connection import (
    ServerClient,
    failures,
    file_pieces,
    read_body,
)
from gsym.records import NamedTuple
from gsym.store.layout import breakpad_path
from gsym.store.sidecar import read_identity

_POLICY = RetryPolicy(6, first_wait=1.0, longest_wait=300.0, needs_server=True)
_MOST_ANSWER = 1 << 20  # bytes
_LIMITS = TransferLimits(
    # A server converts a file before it answers, which takes minutes.
    header_seconds=3600.0,
    idle_seconds=600.0,
    write_seconds=60.0,
)


class StoredModule(NamedTuple):
    """A module as a server has it."""

    level: int  # 0: function names only; 1: also source lines; 2: also inlined calls
    # kinds of files it keeps besides the GSYM file: "debuginfo", "executable", "sym"
    files: frozenset[str]


class UploadedModule(NamedTuple):
    """A module of an uploaded file, as the server answers.

    *outcome* is "added", "replaced", or "kept": the server had a file as good.
    """

    debug_file: str
    debug_id: str
    outcome: str


class UploadClient(ServerClient):
    """Sends files to one server, one at a time.

    Args:
        url: Of the server; `upload/` is appended.
        token: Proves the right to upload; "" for none.
        sleep: Waits for a number of seconds.

    Raises:
        ServerError: *url* is not a URL of http or https, or has credentials beside a
            token.
        UnsupportedError: The extra `net` is not installed.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        super().__init__(url, "to upload", _LIMITS, token, "a token")
        self._headers = [("Authorization", f"Bearer {token}")] if token else []
        self._sleep = sleep

    def stored(self, key: ModuleKey) -> StoredModule | None:
        """The module as the server has it; None if it lacks it or does not say.

        A module of another build is none, though the server finds it by a part of the
        id.
        """
        if not key.debug_id or not key.debug_file:
            return None
        path = breakpad_path(key, "json")
        _, said = self._said(path, self._headers, lambda: None)
        try:
            if compare(key, read_identity(json.dumps(said).encode())).is_refused:
                return None
            return StoredModule(int(said["level"]), frozenset(said["files"]))
        except (KeyError, TypeError, ValueError):
            return None  # it lacks the module, or may not be asked

    def send(
        self, path: str, name: str, progress: Callable[[int], object] = lambda _: None
    ) -> list[UploadedModule]:
        """Send a file; the modules that the server found in it.

        *name* is that of its module if the file does not contain it.

        Raises:
            GsymError: The file became shorter.
            ServerError: The server refuses it, or there is no answer; `status` is 0
                or that of the answer.
        """
        size = os.path.getsize(path)
        headers = [
            *self._headers,
            ("Content-Type", "application/octet-stream"),
            ("Content-Length", str(size)),
        ]
        query = f"name={quote(name, safe='')}"
        status, said = self._said(
            "upload/", headers, lambda: file_pieces(path, size, progress), query
        )
        try:
            modules = said["upload"]["modules"]
            return [
                UploadedModule(each["debug_file"], each["debug_id"], each["outcome"])
                for each in modules
            ]
        except (KeyError, TypeError):
            text = said.get("error") if isinstance(said, dict) else None
            reason = f": {text}" if isinstance(text, str) else ""
            place = str(self._address)
            raise ServerError(
                self._shown(f"HTTP status {status}{reason}"), path=place, status=status
            ) from None

    def _said(
        self,
        path: str,
        headers: Iterable[tuple[str, str]],
        body: Callable[[], Iterator[bytes] | None],
        query: str = "",
    ) -> tuple[int, Any]:
        """Status and JSON of the answer, after retries; without JSON it is None."""

        def attempt() -> tuple[int, Any]:
            until = time.monotonic() + _LIMITS.header_seconds
            with self._ask(path, headers, body(), until, query=query) as answer:
                check_later(answer.status, answer.headers)
                try:
                    return answer.status, json.loads(read_body(answer, _MOST_ANSWER))
                except (ValueError, RecursionError):
                    return answer.status, None

        with failures(str(self._address), self._shown):
            return retry(attempt, Attempts(_POLICY), self._sleep)
