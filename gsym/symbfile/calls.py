"""The calls in the functions of a GSYM file, from the machine code of the binary.

Each frame of a stack except the innermost is after a call: these are the addresses that
a profiler looks up, and all of them can be computed in advance.
"""

from __future__ import annotations

from os import PathLike, fspath

from gsym.containers.fat import open_slice
from gsym.containers.machine_code import MachineCode
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.identity import open_fitting
from gsym.engine.native import check, ffi, lib, new_error
from gsym.errors import GsymError, UnsupportedError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.containers.object_file import ObjectFile
    from gsym.reading.reader import Reader

    CData = Any  # a cffi object


class Calls:
    """The calls of a program in ascending order of addresses."""

    def __init__(self, handle: CData) -> None:
        # the engine's `gsym_calls *`
        self.handle: CData = ffi.gc(handle, lib.gsym_calls_destroy)
        # its `gsym_call_columns *`, valid as long as *handle*
        self.columns: CData = ffi.new("gsym_call_columns *")
        lib.gsym_calls_columns(self.handle, self.columns)
        self.ranges: int = self.columns.ranges  # number of scanned ranges of functions
        # ranges whose scan stopped at an undefined or truncated instruction; the calls
        # before it are included
        self.ended_early: int = self.columns.ended_early
        # number of scanned instructions
        self.instructions: int = self.columns.instructions
        # ranges of functions without code in the binary
        self.without_code: int = self.columns.without_code
        self.damaged: int = self.columns.damaged  # functions with a damaged record

    def __len__(self) -> int:
        return int(self.columns.count)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Address and return address of each call, link-time."""
        columns = self.columns
        for at in range(len(self)):
            address = columns.address[at]
            yield address, address + columns.size[at]


def find_calls(reader: Reader, binary: str | PathLike[str]) -> Calls:
    """The calls in the machine code of the functions of a GSYM file.

    Calls are CALL, SYSCALL and INT n of x86-64, BL, BLR (also with pointer
    authentication) and SVC of AArch64; jumps to other functions are not. Each function
    is scanned from its start, as far as lookups return it.

    Raises:
        ArchitectureError: The binary is a fat file without a slice for the GSYM file.
        GsymError: It has no machine code.
        UnsupportedError: It is for another processor.
        UuidMismatchError: The GSYM file was made from another binary.

    Source: symblib of OpenTelemetry's eBPF profiler, which makes return pads.
    """
    fitting, _ = open_fitting(fspath(binary), reader.module_like)
    with fitting as opened:
        code = MachineCode(opened)
        if not code:
            raise GsymError("no machine code in this file", path=opened.path)
        if not code.is_decoded:
            raise UnsupportedError(
                f"the machine code is for {opened.architecture}: "
                "only x86_64 and aarch64 are supported",
                path=opened.path,
            )

        def find(image: CData, *place: CData) -> int:
            return int(lib.gsym_calls_find(image, code.handle, *place))

        return _calls(reader, find)


def holds_code(path: str | PathLike[str]) -> bool:
    """Whether a file is a binary with machine code for any processor.

    A fat file counts as one.
    """
    return _is_binary(path, lambda binary: bool(MachineCode(binary)))


def can_find_calls(path: str | PathLike[str]) -> bool:
    """Whether a file is a binary with machine code that `find_calls` reads.

    A fat file counts as one.
    """
    return _is_binary(
        path, lambda binary: bool(code := MachineCode(binary)) and code.is_decoded
    )


def recall_calls(reader: Reader) -> Calls:
    """The call sites in a GSYM file, for use without machine code.

    They come from debug information, which may lack calls, and includes jumps to other
    functions. The address of a call is that of the byte before its return address.
    """
    return _calls(reader, lib.gsym_calls_recall)


def _is_binary(
    path: str | PathLike[str], is_wanted: Callable[[ObjectFile], bool]
) -> bool:
    file = bundle_member(fspath(path))
    kind = recognise_file(file)
    if kind != "object":
        return kind == "fat"
    with open_slice(file) as binary:
        return is_wanted(binary)


def _calls(reader: Reader, find: Callable[..., int]) -> Calls:
    error, made = new_error(), ffi.new("gsym_calls **")
    mapped = reader.mapped  # keeps the file mapped
    check(find(mapped.image, made, error), error, reader.path)
    return Calls(made[0])
