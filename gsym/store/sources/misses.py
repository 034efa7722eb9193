"""Modules that were asked for and not found: remembered for a while, and counted.

Kept in one small database that all processes share. It is a cache: where it cannot be
read or written nothing is remembered, and a damaged one is begun anew.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from contextlib import suppress
from hashlib import sha256

from gsym.records import NamedTuple
from gsym.store.modules import Attempt, ModuleKey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    T = TypeVar("T")


class MissLifetimes(NamedTuple):
    """For how many seconds it counts what a source said.

    Attributes:
        missing: That it does not have the module.
        failed: That it gave no answer.
        refused: That what it gave is of no use. It counts for *first_refused*
            seconds, then each time for as long as that has been so already, at
            most for this long.
        first_refused: See *refused*.
    """

    missing: float = 3600
    failed: float = 60
    refused: float = 86400
    first_refused: float = 2


class Miss(NamedTuple):
    """A module that was not found.

    Attributes:
        key: As it was asked for; long names are cut.
        attempts: What each source said.
        times: When it did, in seconds since 1970.
        since: When it began to have the same outcome, likewise.
        asked: How often it was asked for.
        last_asked: When it was last.
    """

    key: ModuleKey
    attempts: tuple[Attempt, ...]
    times: tuple[float, ...]
    since: tuple[float, ...]
    asked: int
    last_asked: float


_FILE = "misses.sqlite3"
_MOST = 50_000
_LONGEST_NAME = 255
_LONGEST_DETAIL = 500
_BUSY_SECONDS = 1
_COUNTED_SECONDS = 1.0  # so long counts wait to be written
_MOST_COUNTED = 10_000
_CHECKS_OF_SIZE = 100  # so often while the table fills
_TABLE = """
CREATE TABLE IF NOT EXISTS miss (
    id BLOB PRIMARY KEY,
    key TEXT NOT NULL,
    attempts TEXT NOT NULL,
    asked INTEGER NOT NULL,
    last_asked REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_time ON miss (last_asked);
CREATE INDEX IF NOT EXISTS by_count ON miss (asked);
"""
_COLUMNS = "key, attempts, asked, last_asked"


class Misses:
    """The misses that a folder keeps, which is made when there is one.

    Args:
        folder: For the database.
        lifetimes: For how long answers count.
        most: Modules that are kept; those that nobody asked for the longest time go.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        folder: str,
        *,
        lifetimes: MissLifetimes | None = None,
        most: int = _MOST,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._lifetimes = MissLifetimes() if lifetimes is None else lifetimes
        self._most = most
        self._clock = clock
        self._lock = threading.RLock()
        self._database: sqlite3.Connection | None = None
        self._owner = 0
        self._counted: dict[bytes, int] = {}
        self._written = clock()
        self._added = 0

    def find(self, key: ModuleKey) -> Miss | None:
        """What is remembered of a module, which may not count any more."""
        query = f"SELECT {_COLUMNS} FROM miss WHERE id = ?"  # noqa: S608 - ours
        rows = self._run(
            lambda database: database.execute(query, (_id(key),)).fetchall()
        )
        return next(_read(rows or ()), None)

    def now(self) -> float:
        """The time that is written down, in seconds since 1970."""
        return self._clock()

    def counts(self, attempt: Attempt, time: float, since: float) -> bool:
        """Whether what a source said at *time*, and from *since* on, still counts."""
        lifetime: float = getattr(self._lifetimes, attempt.outcome, 0.0)
        if attempt.outcome == "refused":
            # A server that was broken for a moment is not avoided for a day.
            least = self._lifetimes.first_refused
            lifetime = min(max(time - since, least), lifetime)
        return 0 <= self._clock() - time < lifetime

    def remember(
        self, key: ModuleKey, attempts: Iterable[Attempt], times: Iterable[float] = ()
    ) -> None:
        """Note what the sources said of a module, and that it was asked for.

        Args:
            key: The module.
            attempts: What each said.
            times: When; by default now.
        """
        now = self._clock()
        before = self.find(key)
        found = [
            (
                *attempt._replace(detail=attempt.detail[:_LONGEST_DETAIL]),
                when,
                min(when, _since(before, attempt, when)),
            )
            for attempt, when in _timed(attempts, times, now)
        ]
        row = (_id(key), _write_key(key), json.dumps(found), 1, now)
        command = (
            "INSERT INTO miss VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "attempts = excluded.attempts, asked = asked + 1, "
            "last_asked = excluded.last_asked"
        )

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.execute(command, row)
                self._added += 1
                if self._added * _CHECKS_OF_SIZE >= self._most:
                    self._added = 0
                    self._evict(database)

        self._run(write)

    def count(self, key: ModuleKey) -> None:
        """Note that a remembered miss was asked for once more."""
        with self._lock:
            if len(self._counted) < _MOST_COUNTED:
                identifier = _id(key)
                self._counted[identifier] = self._counted.get(identifier, 0) + 1
            if not 0 <= self._clock() - self._written < _COUNTED_SECONDS:
                self.flush()

    def flush(self) -> None:
        """Write down what was counted."""
        with self._lock:
            now = self._written = self._clock()
            rows = [(count, now, each) for each, count in self._counted.items()]
            self._counted.clear()
        command = "UPDATE miss SET asked = asked + ?, last_asked = ? WHERE id = ?"

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.executemany(command, rows)

        if rows:
            self._run(write)

    def forget(self, key: ModuleKey) -> None:
        """Forget a module: it was found."""

        def delete(database: sqlite3.Connection) -> None:
            with database:
                database.execute("DELETE FROM miss WHERE id = ?", (_id(key),))

        self._run(delete)

    def most_missed(self, most: int = 100) -> list[Miss]:
        """The modules that were asked for most often, the first one most.

        Args:
            most: How many of them.
        """
        self.flush()
        query = f"SELECT {_COLUMNS} FROM miss ORDER BY asked DESC LIMIT ?"  # noqa: S608
        rows = self._run(lambda database: database.execute(query, (most,)).fetchall())
        return list(_read(rows or ()))

    def clear(self) -> int:
        """Forget all; how many there were."""

        def delete(database: sqlite3.Connection) -> int:
            with database:
                return database.execute("DELETE FROM miss").rowcount

        with self._lock:
            self._counted.clear()
        return self._run(delete) or 0

    def close(self) -> None:
        """Write what is to be written and let go of the file."""
        self.flush()
        with self._lock:
            if self._database is not None and self._owner == os.getpid():
                self._database.close()
            self._database = None

    def _evict(self, database: sqlite3.Connection) -> None:
        (count,) = database.execute("SELECT count(*) FROM miss").fetchone()
        if count > self._most:
            database.execute(
                "DELETE FROM miss WHERE id IN "
                "(SELECT id FROM miss ORDER BY last_asked LIMIT ?)",
                (count - self._most,),
            )

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What *work* gives; None where the database is of no use."""
        with self._lock:
            try:
                return work(self._open())
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    return None  # busy, read-only, full
                self._begin_anew()
            except OSError:
                return None
        return None

    def _open(self) -> sqlite3.Connection:
        # A connection must not be used on the other side of a fork.
        if self._database is None or self._owner != os.getpid():
            self._database = None
            os.makedirs(self._folder, exist_ok=True)
            database = sqlite3.connect(
                os.path.join(self._folder, _FILE),
                timeout=_BUSY_SECONDS,
                check_same_thread=False,
            )
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = OFF")  # it is a cache
            database.executescript(_TABLE)
            self._database, self._owner = database, os.getpid()
        return self._database

    def _begin_anew(self) -> None:
        """Remove a damaged database."""
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
        self._database = None
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, _FILE + suffix))


def _id(key: ModuleKey) -> bytes:
    text = json.dumps([key.debug_file, key.debug_id.upper(), *_code(key)])
    return sha256(text.encode()).digest()[:16]


def _code(key: ModuleKey) -> tuple[str, str]:
    return key.code_file, key.code_id.upper()


def _write_key(key: ModuleKey) -> str:
    return json.dumps([each[:_LONGEST_NAME] for each in key])


def _read(rows: Iterable[tuple[str, str, int, float]]) -> Iterator[Miss]:
    for key, attempts, asked, last_asked in rows:
        with suppress(ValueError, TypeError, IndexError):  # of another version
            found = json.loads(attempts)
            yield Miss(
                ModuleKey(*json.loads(key)),
                tuple(Attempt(*each[:-2]) for each in found),
                tuple(float(each[-2]) for each in found),
                tuple(float(each[-1]) for each in found),
                asked,
                last_asked,
            )


def _since(before: Miss | None, attempt: Attempt, when: float) -> float:
    """Since when a source has had this outcome: as before, or from now on."""
    if before is not None:
        for said, since in zip(before.attempts, before.since, strict=True):
            if (said.source, said.outcome) == (attempt.source, attempt.outcome):
                return since
    return when


def _timed(
    attempts: Iterable[Attempt], times: Iterable[float], now: float
) -> list[tuple[Attempt, float]]:
    given = list(times)
    found = list(attempts)
    return list(zip(found, given or [now] * len(found), strict=True))
