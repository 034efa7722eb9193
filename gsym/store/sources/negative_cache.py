"""The negative cache: modules that no source had, and how often they were requested.

Each module has a small file, to which all processes append lines: answers of the
sources, and numbers of further requests. Another one, `.code`, has the answers of the
sources that were asked for its code, perhaps of a module that was found. If the folder
is not usable, nothing is recorded; damaged lines are ignored.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from hashlib import sha256
from heapq import nlargest

from gsym.cache import remove_oldest, stamp_at
from gsym.lazy import json, threading
from gsym.modules.key import Attempt, ModuleKey
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class MissLifetimes(NamedTuple):
    """Seconds until the answer of a source expires."""

    missing: float = 3600  # it does not have the module
    failed: float = 60  # it gave no answer
    # maximum if its file was refused: first *first_refused* seconds, then as long as
    # the file has already been bad
    refused: float = 86400
    first_refused: float = 2  # see *refused*


class Answer(NamedTuple):
    """The answer of a source that did not have a module."""

    attempt: Attempt
    time: float  # when it was given, in seconds since 1970
    since: float  # since when the source has had the same outcome, likewise


class Miss(NamedTuple):
    """A module that was not found."""

    key: ModuleKey  # as requested; long names are truncated
    answers: tuple[Answer, ...]  # of each source
    asked: int  # number of requests
    last_asked: float  # time of the last request

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The answers without their times."""
        return tuple(each.attempt for each in self.answers)


_MAX_MODULES = 10_000
_MAX_NAME = 255
_MAX_DETAIL = 500
_FLUSH_SECONDS = 1.0  # between writes of request counts
_MAX_COUNTED = 10_000
_CHECKS_OF_SIZE = 100  # number of size checks while the cache fills
_COMPACTED_SIZE = 1 << 15  # bytes of a file above which it is rewritten as one line
_NAME_DIGITS = 32
_CODE = ".code"


class NegativeCache:
    """A negative cache in a folder; keeps the *most* recently requested modules."""

    def __init__(
        self,
        folder: str,
        *,
        lifetimes: MissLifetimes | None = None,
        most: int = _MAX_MODULES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._lifetimes = MissLifetimes() if lifetimes is None else lifetimes
        self._most = most
        self._clock = clock
        self._lock = threading.RLock()
        self._counted: dict[str, int] = {}
        self._written = clock()
        self._added = 0

    def find(self, key: ModuleKey, *, of_code: bool = False) -> Miss | None:
        """The record of a module, or of its code; it may have expired."""
        return _read(self._path(key, of_code=of_code))

    def now(self) -> float:
        """The time that is recorded, in seconds since 1970."""
        return self._clock()

    def counts(self, answer: Answer) -> bool:
        """Whether an answer has not expired."""
        outcome = answer.attempt.outcome
        lifetime: float = getattr(self._lifetimes, outcome, 0.0)
        if outcome == "refused":
            # A server that was broken for a moment must not be avoided for a day.
            least = self._lifetimes.first_refused
            lifetime = min(max(answer.time - answer.since, least), lifetime)
        return 0 <= self._clock() - answer.time < lifetime

    def remember(
        self,
        key: ModuleKey,
        attempts: Iterable[Attempt],
        times: Iterable[float] = (),
        *,
        of_code: bool = False,
    ) -> None:
        """Record the answers of the sources, and a request for the module."""
        attempts, times = list(attempts), list(times)
        times = times or [self._clock()] * len(attempts)
        with self._lock:
            before = self.find(key, of_code=of_code)
            # since when a source has had an outcome
            answers = before.answers if before else ()
            since = {each.attempt[:2]: each.since for each in answers}
            found = [
                (
                    *attempt._replace(detail=attempt.detail[:_MAX_DETAIL]),
                    when,
                    min(when, since.get(attempt[:2], when)),
                )
                for attempt, when in zip(attempts, times, strict=True)
            ]
            line = {"key": [each[:_MAX_NAME] for each in key], "attempts": found}
            self._append(self._path(key, of_code=of_code), line, before)
            self._added += before is None
            if self._added * _CHECKS_OF_SIZE >= self._most:
                self._added = 0
                stamps = ((each, stamp_at(each)) for each in self._paths())
                files = (
                    (each, stamp._replace(size=1)) for each, stamp in stamps if stamp
                )
                remove_oldest(files, self._most)

    def count(self, key: ModuleKey) -> None:
        """Record another request for a module in the cache."""
        with self._lock:
            if len(self._counted) < _MAX_COUNTED:
                path = self._path(key)
                self._counted[path] = self._counted.get(path, 0) + 1
            if not 0 <= self._clock() - self._written < _FLUSH_SECONDS:
                self.flush()

    def flush(self) -> None:
        """Write the numbers of requests."""
        with self._lock:
            self._written = self._clock()
            counted, self._counted = self._counted, {}
            for path, count in counted.items():
                self._append(path, {"asked": count}, None, is_new=False)

    def forget(self, key: ModuleKey) -> None:
        """Remove a module, as it was found."""
        for of_code in (False, True):
            with suppress(OSError):
                os.unlink(self._path(key, of_code=of_code))

    def most_missed(self, most: int = 100) -> list[Miss]:
        """The *most* modules that were requested most often, in that order."""
        self.flush()
        found = (_read(path) for path in self._paths() if not path.endswith(_CODE))
        misses = [miss for miss in found if miss is not None]
        return nlargest(most, misses, key=lambda miss: miss.asked)

    def clear(self) -> int:
        """Remove all modules; return how many there were."""
        with self._lock:
            self._counted.clear()
        count = 0
        for path in self._paths():
            with suppress(OSError):
                os.unlink(path)
                count += 1
        return count

    close = flush

    def _path(self, key: ModuleKey, *, of_code: bool = False) -> str:
        ids = key.debug_id.upper(), key.code_id.upper()
        text = json.dumps([*ids, *key._replace(path="", debug_id="", code_id="")])
        digits = sha256(text.encode()).hexdigest()
        name = digits[:_NAME_DIGITS] + (_CODE if of_code else "")
        return os.path.join(self._folder, name)

    def _paths(self) -> Iterator[str]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return
        for name in names:
            if len(name.removesuffix(_CODE)) == _NAME_DIGITS:
                yield os.path.join(self._folder, name)

    def _append(
        self,
        path: str,
        line: dict[str, object],
        before: Miss | None,
        *,
        is_new: bool = True,
    ) -> None:
        """Append to the file of a module, compacting it if it is large."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if is_new else 0)
        now = self._clock()
        with suppress(OSError):
            if is_new:
                os.makedirs(self._folder, exist_ok=True)
            if before is not None and os.path.getsize(path) > _COMPACTED_SIZE:
                os.truncate(path, 0)
                line = {**line, "asked": before.asked + 1}
            descriptor = os.open(path, flags, 0o666)
            try:
                os.write(descriptor, json.dumps(line).encode() + b"\n")
                os.utime(descriptor, (now, now))
            finally:
                os.close(descriptor)


def _read(path: str) -> Miss | None:
    """The record in a file; None if there is none."""
    try:
        with open(path, "rb") as file:
            lines = file.readlines()
            last_asked = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    asked, found = 0, None
    for text in lines:
        with suppress(ValueError, TypeError, IndexError, AttributeError, KeyError):
            line = json.loads(text)
            if "key" in line:
                answers = tuple(
                    Answer(Attempt(*attempt), float(when), float(since))
                    for *attempt, when, since in line["attempts"]
                )
                found = ModuleKey(*line["key"]), answers
            asked += int(line.get("asked", 1))
    return None if found is None else Miss(*found, asked, last_asked)
