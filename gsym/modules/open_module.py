"""A module that was found and opened, or the reasons why it was not."""

from __future__ import annotations

import time
from array import array

from gsym.errors import GsymError
from gsym.model import UINT64_MAX
from gsym.modules.key import Attempt, tried_text

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from gsym.containers.data_symbols import DataSymbols
    from gsym.containers.machine_code import MachineCode
    from gsym.conversion.identity import Saying
    from gsym.modules.function_names import FunctionNames
    from gsym.reading.frames import Frames
    from gsym.reading.reader import Reader
    from gsym.store.entries import Entry


_MISS_SECONDS = 60.0


class OpenModule:
    """A module, or the result of an unsuccessful search for it."""

    def __init__(
        self,
        entry: Entry | None,
        reader: Reader | None,
        attempts: tuple[Attempt, ...] = (),
        *,
        is_cached: bool = False,
        unsure: str = "",
    ) -> None:
        # its entry in the store; None if it was not found
        self.entry: Entry | None = entry
        # its GSYM file; None if it was not found or cannot be used
        self.reader: Reader | None = reader
        self.attempts: tuple[Attempt, ...] = attempts  # the answers of the sources
        # whether nothing had to be fetched or converted
        self.is_cached: bool = is_cached
        # why it may be another build than the one that was asked for, in words; "" if
        # it is that one
        self.unsure: str = unsure
        # the file that was found for it on this machine; "" if there is none
        self.path: str = ""
        # returns the paths of all of its files on this machine; None: none was found
        self.find_files: Callable[[], Iterable[str]] | None = None
        self.code: MachineCode | None = None  # its machine code; None: not read yet
        # the symbols of its binary, if it has any; None: not read yet
        self.data_symbols: tuple[DataSymbols, ...] | None = None
        # the GSYM file of its variables, if there is one; None: not read yet
        self.variables: tuple[Reader, ...] | None = None
        # its functions by name, if they are kept for other reports
        self.names: FunctionNames | None = None
        # when the store was checked for a newer one
        self.checked: float = time.monotonic()

    @property
    def reason(self) -> str:
        """Reason why there is no reader; else ""."""
        if self.reader is not None:
            return ""
        return tried_text(self.attempts) or "no symbols for this module"

    @property
    def is_old_miss(self) -> bool:
        """Whether nothing was found a while ago: it may be there by now."""
        is_missing = self.reader is None and not self.path
        return is_missing and time.monotonic() - self.checked >= _MISS_SECONDS

    @property
    def has_lines(self) -> bool:
        """Whether there is a reader that was made of more than symbols."""
        return self.reader is not None and self.reader.header.num_files > 1

    def binaries(self) -> list[str]:
        """The paths of its binary and debug files that are at hand."""
        files = () if self.find_files is None else self.find_files()
        paths = [each for each in files if not each.endswith(".gsym")]
        return paths if self.entry is None else [*paths, *self.entry.binaries]

    @property
    def saying(self) -> Saying | None:
        """Function that returns what its GSYM file says of the module; None without."""
        return None if self.reader is None else self.reader.module_like

    def copied(self, path: str, unsure: str) -> OpenModule:
        """The module for one who has another file of it, or other doubts."""
        copy = OpenModule(self.entry, self.reader, self.attempts, unsure=unsure)
        copy.path, copy.is_cached = path, self.is_cached
        return copy

    def is_in(self, error: GsymError) -> bool:
        """Whether an error is in its GSYM file."""
        return self.reader is not None and self.reader.path == error.path

    def refused(self, error: GsymError) -> OpenModule:
        """The module without its GSYM file, in which *error* is."""
        path = error.path or self.path
        failed = Attempt(path, "refused", str(error).removeprefix(f"{path}: "))
        before = [each for each in self.attempts if each.outcome != "found"]
        copy = OpenModule(self.entry, None, (*before, failed))
        copy.path, copy.find_files = self.path, self.find_files
        return copy

    def open_reader(self) -> Reader:
        """The reader."""
        if self.reader is None:
            raise GsymError(self.reason)
        return self.reader

    def function_names(self) -> FunctionNames:
        """Names of functions, of its reader: `names`, or made now."""
        from gsym.modules.function_names import FunctionNames

        return self.names or FunctionNames(self.open_reader(), self.path)

    @property
    def image(self) -> Any:
        """The engine's handle of the file."""
        return self.open_reader().mapped.image

    def address_of(self, offset: int) -> int:
        """The link-time address of an offset from the base of the module."""
        return self.open_reader().header.base_address + offset

    def lookup_many(self, offsets: Sequence[int]) -> Frames:
        """The frames at each of many offsets; one without an answer has no row.

        Offsets outside the address space have no answer.
        """
        reader = self.open_reader()
        base = reader.header.base_address
        if not base:
            return reader.lookup_many(offsets, misses=False)
        last = UINT64_MAX
        if max(offsets, default=0) <= last - base and min(offsets, default=0) >= 0:
            addresses = array("Q", [base + each for each in offsets])
            return reader.lookup_many(addresses, misses=False)
        # An offset beyond the address space must not become an address.
        return reader.lookup_many(
            [base + offset if offset >= 0 else offset for offset in offsets],
            misses=False,
        )
