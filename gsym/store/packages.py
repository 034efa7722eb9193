"""Debian and RPM packages as sources: the binaries in them, by build id.

A package is read once, when it is new; what is in it is kept in a folder of records.
Binaries are unpacked one at a time, under names that are not those in the package.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from contextlib import suppress
from hashlib import sha256

from gsym.containers import DEBUG_DIRECTORIES
from gsym.errors import FormatError, GsymError, NotFoundError, SourceError, reason_of
from gsym.modules.key import (
    ModuleKey,
    build_id_path,
    debug_ids_of_build_id,
    search_terms,
)
from gsym.records import NamedTuple
from gsym.store.archives import ArchivedFile, ArchiveLimits, bare_name, members
from gsym.store.binary_facts import facts_of
from gsym.store.choosing import fitting_files
from gsym.store.entries import Entry, entry_of_file
from gsym.store.sources.source import FoundFile
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, Protocol

    from gsym.cache import FileStamp

    class PackageReader(Protocol):
        """Reads packages, perhaps in a confined process."""

        def index(self, path: str) -> list[PackageMember]:
            """The binaries with a build id in a package."""

        def extract(self, path: str, number: int, target: str) -> None:
            """Write a file of a package to a new file."""


class PackageMember(NamedTuple):
    """A binary in a package."""

    package: str  # path of the package
    number: int  # of its file in the package, from 0
    name: str  # its path, beginning with a slash
    build_id: str  # in hexadecimal lower-case digits
    kinds: tuple[str, ...]  # as in `BinaryFacts`
    supplementary: str = ""  # as in `BinaryFacts`
    code_hash: str = ""  # as in `ModuleKey`

    @property
    def module(self) -> ModuleKey:
        """Module of the binary; its debug id follows from the build id."""
        name = "" if _BY_ID in self.name else bare_name(self.name)
        return ModuleKey(
            os="Linux",
            debug_file=name,
            code_id=self.build_id.upper(),
            code_hash=self.code_hash,
        )

    @property
    def location(self) -> str:
        """The place of the binary, for people."""
        return f"{self.package}: {self.name.lstrip('/')}"


_LOG = logging.getLogger("gsym.store")
_ELF = b"\x7fELF"
_BY_ID = ".build-id"  # folder of debug files, which are named by their ids
_MAX_NAME = 1024
_LIMITS = ArchiveLimits()
_RETRY_SECONDS = 60.0
_FORMAT = 3  # of records; raised when more is found in the same package


def index_package(
    path: str, folder: str, limits: ArchiveLimits = _LIMITS
) -> list[PackageMember]:
    """The binaries with a build id in a package; *folder* has one of them at a time.

    Kernel modules whose compressed data is damaged are left out.

    Raises:
        LimitError: It exceeds *limits*.
    """
    found: list[PackageMember] = []
    for number, member in enumerate(members(path, limits)):
        file = ""
        with suppress(FormatError):  # the next step meets damage of the package again
            file = _extract_binary(member, folder, limits)
        if not file:
            continue
        with suppress(GsymError):
            facts = facts_of(file, with_code=True)
            (module,) = facts.modules
            if module.code_id and facts.kinds:
                name = "/" + member.name.removeprefix(".").lstrip("/")[:_MAX_NAME]
                what = (module.code_id.lower(), facts.kinds, facts.supplementary)
                found.append(PackageMember(path, number, name, *what, module.code_hash))
        os.unlink(file)
    return found


def extract_from_package(
    path: str, number: int, folder: str, limits: ArchiveLimits = _LIMITS
) -> str:
    """Write a binary in a package to *folder*; return its path.

    Raises:
        LimitError: It exceeds *limits*.
    """
    for each, member in enumerate(members(path, limits)):
        if each == number:
            if file := _extract_binary(member, folder, limits):
                return file
            break
    raise FormatError("the package has changed", path=path)


def _extract_binary(member: ArchivedFile, folder: str, limits: ArchiveLimits) -> str:
    """Write a member that is a binary; "" for others. Kernel modules are inflated."""
    is_kernel_module = bare_name(member.name).endswith(".ko")
    return member.extract(folder, _ELF, limits.inflated if is_kernel_module else 0)


def companion_options(path: str) -> dict[str, Any]:
    """Options of a conversion that find the companions beside a fetched file."""
    folder = os.path.dirname(path)
    if not os.path.isdir(os.path.join(folder, _BY_ID)):
        return {}
    return {"debug_file_directories": (folder, *DEBUG_DIRECTORIES)}


class Packages:
    """The packages in a folder. Safe for threads."""

    def __init__(self, reader: PackageReader, records: str) -> None:
        self._reader = reader
        self._records = records
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted: dict[str, FileStamp] = {}
        self._read: dict[str, tuple[FileStamp, list[PackageMember]]] = {}
        self._by_term: dict[str, list[PackageMember]] = {}
        # When those are read again that could not be, as when a disk was full.
        self._again: dict[str, float] = {}

    def update(self, packages: Mapping[str, FileStamp]) -> None:
        """Read these packages, in a thread, and forget others."""
        with self._lock:
            self._wanted = dict(packages)
            if self._thread is not None and self._thread.is_alive():
                return  # reads these, too, but none a second time
            now = time.monotonic()
            for path, when in self._again.items():
                if when < now:
                    self._read.pop(path, None)
            if self._due() or self._read.keys() - packages.keys():
                name = "gsym-packages"
                self._thread = threading.Thread(
                    target=self._run, name=name, daemon=True
                )
                self._thread.start()

    def wait(self) -> None:
        """Wait until the packages of the last `update` have been read."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def find_all(self, key: ModuleKey) -> list[PackageMember]:
        """The binaries of a module, those with its whole build id first.

        Of these, debug files are first.

        Raises:
            AmbiguousModuleError: They are of several modules.
            SourceError: There is none, and not all packages have been read.
        """
        members = {
            each.location: each
            for term in search_terms(key)
            for each in self._by_term.get(term, ())
        }
        ordered = sorted(
            members.values(), key=lambda each: ("debuginfo" not in each.kinds, *each)
        )
        modules = [(each.location, each.module) for each in ordered]
        found = fitting_files(key, modules, lambda _, module: module)
        if not found:
            with self._lock:
                left = len(self._due()) if self._thread is not None else 0
            if left:
                raise SourceError(f"{left} packages are still being read")
        return [members[each.path] for each in found]

    def all(self) -> Iterator[PackageMember]:
        """All binaries in the packages that have been read."""
        for _, found in list(self._read.values()):
            yield from found

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """The best binary of a module, unpacked to *folder*; see `Source.find`."""
        found = self.find_all(key)
        if not found:
            raise NotFoundError("no package has it")
        names = [bare_name(each.name) for each in found if _BY_ID not in each.name]
        identity = ModuleKey()
        if names and not (key.debug_file or key.code_file):
            identity = ModuleKey(debug_file=names[0])
        path = self.extract(found[0], folder)
        digits = found[0].supplementary
        for each in self._by_term.get(digits.upper(), ())[:1]:
            target = os.path.join(folder, f"{build_id_path(digits)}.debug")
            os.makedirs(os.path.dirname(target))
            self._extract(each, target)
        return FoundFile(path, found[0].location, identity)

    def unpacked(self, key: ModuleKey, kind: str, folder: str) -> Iterator[FoundFile]:
        """The binaries of a module of a kind, "" for any, each unpacked in its turn.

        Raises:
            AmbiguousModuleError: There are several that differ.
            SourceError: There is none, and not all packages have been read.
        """
        for number, member in enumerate(self.find_all(key)):
            if kind in {"", *member.kinds}:
                place = os.path.join(folder, str(number))
                os.mkdir(place)
                try:
                    yield FoundFile(self.extract(member, place), member.location)
                except SourceError as error:
                    _LOG.warning("%s", error.reason)

    def entries(self) -> Iterator[Entry]:
        """The binaries with names of their own, as entries without function counts."""
        for path, (stamp, found) in list(self._read.items()):
            for member in found:
                if _BY_ID not in member.name:
                    debug_id = debug_ids_of_build_id(member.build_id)[0]
                    identity = member.module._replace(debug_id=debug_id)
                    yield entry_of_file(path, identity, member.location, stamp)

    def extract(self, member: PackageMember, folder: str) -> str:
        """Unpack a binary to a new file in *folder*; return its path.

        Raises:
            SourceError: The package cannot be read.
        """
        target = os.path.join(folder, "debuginfo")
        self._extract(member, target)
        return target

    def _extract(self, member: PackageMember, target: str) -> None:
        try:
            self._reader.extract(member.package, member.number, target)
        except (GsymError, OSError) as error:
            raise SourceError(f"{member.location}: {reason_of(error)}") from None

    def _due(self) -> list[tuple[str, FileStamp]]:
        """The packages that are to be read."""
        return [
            (path, stamp)
            for path, stamp in self._wanted.items()
            if path not in self._read or self._read[path][0] != stamp
        ]

    def _run(self) -> None:
        while True:
            with self._lock:
                due = self._due()
                if not due:
                    self._forget_others()
                    self._thread = None
                    return
            for path, stamp in due:
                if self._wanted.get(path) != stamp:
                    continue  # changed or gone since
                found = self._load(path, stamp)
                with self._lock:
                    is_new = path not in self._read
                    self._read[path] = stamp, found
                    if is_new:
                        _add_terms(self._by_term, found)
                    else:
                        self._by_term = _add_terms({}, self.all())

    def _forget_others(self) -> None:
        """Forget the packages that have changed or are gone, and their records."""
        gone = (self._read.keys() | self._again.keys()) - self._wanted.keys()
        for path in gone:
            self._read.pop(path, None)
            self._again.pop(path, None)
        if gone:
            self._by_term = _add_terms({}, self.all())
        known = {_record_name(path, stamp) for path, stamp in self._wanted.items()}
        with suppress(OSError):
            for name in os.listdir(self._records):
                if name not in known and not name.startswith("."):
                    with suppress(OSError):
                        os.unlink(os.path.join(self._records, name))

    def _load(self, path: str, stamp: FileStamp) -> list[PackageMember]:
        """The binaries in a package, by its record if there is one."""
        record = os.path.join(self._records, _record_name(path, stamp))
        with suppress(OSError, ValueError, TypeError):
            with open(record, "rb") as file:
                rows = json.loads(file.read())
            return [member_of_row(path, row) for row in rows]
        is_repeated = self._again.pop(path, None) is not None
        try:
            found = self._reader.index(path)
        except (GsymError, OSError) as error:
            may_pass = isinstance(error, OSError)
            if may_pass:
                self._again[path] = time.monotonic() + _RETRY_SECONDS
            if not (is_repeated and may_pass):
                _LOG.warning(
                    "the package %s is not searched: %s", path, reason_of(error)
                )
            return []
        with suppress(OSError):
            os.makedirs(self._records, exist_ok=True)
            with AtomicFile(record) as file:
                file.write(json.dumps([each[1:] for each in found]).encode())
        return found


def _add_terms(
    by_term: dict[str, list[PackageMember]], found: Iterable[PackageMember]
) -> dict[str, list[PackageMember]]:
    """Add binaries by the terms of their modules."""
    for each in found:
        for term in search_terms(each.module):
            by_term.setdefault(term, []).append(each)
    return by_term


def member_of_row(path: str, row: Any) -> PackageMember:
    """A member of the package at *path*, from JSON.

    Raises:
        TypeError: The JSON is of another type than what was written.
        ValueError: The JSON has other values than what was written.
    """
    number, name, build_id, kinds, supplementary, code_hash = row
    for digits in (build_id, supplementary, code_hash):
        bytes.fromhex(digits)
    return PackageMember(
        path,
        int(number),
        str(name)[:_MAX_NAME],
        build_id,
        tuple(map(str, kinds)),
        supplementary,
        code_hash,
    )


def _record_name(path: str, stamp: FileStamp) -> str:
    key = repr((_FORMAT, path, (stamp.modified, stamp.size)))  # as of a copy
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
