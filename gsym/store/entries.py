"""Modules of a store: the key of one, its entry, the result of a search."""

from __future__ import annotations

import os

from gsym.modules.key import OUTCOMES, Attempt, Comparison, ModuleKey, compare
from gsym.records import NamedTuple
from gsym.store.layout import slot_of_folder

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.cache import FileStamp


class Quality(NamedTuple):
    """Amount of detail in a GSYM file; the greater value is better.

    Attributes:
        level: 0: function names only; 1: also source lines; 2: also inlined calls.
        functions: Number of functions.
    """

    level: int
    functions: int


class Entry(NamedTuple):
    """A module in a store.

    Attributes:
        path: Its GSYM file.
        identity: Names, ids, operating system and architecture.
        uuid: The complete identifier of the binary, which may be longer than the UUID
            in the GSYM file; b"" for none.
        quality: Decides which of two files of one module is better.
        source: Where its debug information is from: path or URL.
        size: Total bytes of its files.
        added: When it was added, in seconds since 1970.
        originals: The stored files that it was made from, by kind: "sym" for a Breakpad
            file, "ranges" for a symbfile in a zstd stream, "executable" for a binary
            without debug information, "debuginfo" for any other.
        missing: Messages about companion files that could not be read when it was
            converted, such as split units.
        gsym_size: Bytes of its GSYM file; 0: not known.
        wanted: Paths at which these may appear.
        code_ids: Further code ids of a Windows module, whose image was changed after it
            was linked: stripped, signed.
    """

    path: str
    identity: ModuleKey
    uuid: bytes = b""
    quality: Quality = Quality(0, 0)
    source: str = ""
    size: int = 0
    added: float = 0.0
    originals: dict[str, str] = {}  # noqa: RUF012
    missing: tuple[str, ...] = ()
    gsym_size: int = 0
    wanted: tuple[str, ...] = ()
    code_ids: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The folder of its files."""
        return os.path.dirname(self.path)

    @property
    def slot(self) -> str:
        """Folder of a store that it is published as; see `gsym.store.layout`."""
        return slot_of_folder(self.folder)

    @property
    def binaries(self) -> tuple[str, ...]:
        """The stored binaries, that with the code first."""
        found = map(self.originals.get, ("executable", "debuginfo"))
        return tuple(filter(None, found))

    @property
    def all_code_ids(self) -> tuple[str, ...]:
        """Code id of its identity, then the further ones."""
        return self.identity.code_id, *self.code_ids

    def compare(self, wanted: ModuleKey) -> Comparison:
        """Whether it is the module that *wanted* describes, by any of its code ids."""
        known = self.identity
        results = [
            compare(wanted, known._replace(code_id=each)) for each in self.all_code_ids
        ]
        return min(results, key=lambda each: OUTCOMES.index(each.outcome))


def entry_of_file(
    path: str, identity: ModuleKey, source: str, stamp: FileStamp
) -> Entry:
    """The module in a file that is not in a store, without a count of functions."""
    size, added = stamp.size, stamp.modified / 1e9
    return Entry(path, identity, source=source, size=size, added=added)


class Resolution(NamedTuple):
    """The result of the search for a module.

    Attributes:
        entry: The module; None if it was not found.
        attempts: The answers of the sources, in order. For a module in the negative
            cache they are those of the recorded search.
        is_cached: Whether the module was in the store or in the negative cache.
        unsure: Why it may be another build than the one that was asked for; "" if it
            is that one.
    """

    entry: Entry | None
    attempts: tuple[Attempt, ...] = ()
    is_cached: bool = False
    unsure: str = ""


def resolved(
    key: ModuleKey,
    entry: Entry,
    attempts: tuple[Attempt, ...] = (),
    *,
    is_cached: bool = False,
) -> Resolution:
    """The result for a module that was found; it is refused if it is another build."""
    comparison = entry.compare(key)
    if comparison.is_refused:
        refused = Attempt("store", "refused", comparison.reason)
        return Resolution(None, (*attempts, refused), is_cached)
    return Resolution(entry, attempts, is_cached, comparison.reason)
