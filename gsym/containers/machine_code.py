"""The machine code of a binary."""

from __future__ import annotations

from array import array

from gsym.engine.native import check, ffi, lib, new_error
from gsym.errors import FormatError
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.containers.object_file import ObjectFile
    from gsym.engine.mapped_image import MappedImage

    CData = Any  # a cffi object

_INSTRUCTION_SETS = {
    name: number
    for number, names in (
        (lib.GSYM_INSTRUCTIONS_X86_64, "x86_64 x86_64h"),
        (lib.GSYM_INSTRUCTIONS_AARCH64, "aarch64 aarch64_be arm64 arm64e arm64_32"),
        (lib.GSYM_INSTRUCTIONS_X86, "i386"),
        (lib.GSYM_INSTRUCTIONS_RISCV, "riscv64"),
        (lib.GSYM_INSTRUCTIONS_RISCV32, "riscv32"),
        (lib.GSYM_INSTRUCTIONS_LOONGARCH, "loongarch32 loongarch64"),
        (lib.GSYM_INSTRUCTIONS_S390, "s390x"),
        (lib.GSYM_INSTRUCTIONS_POWERPC, "powerpc powerpc64 ppc ppc64"),
        (lib.GSYM_INSTRUCTIONS_POWERPC_LE, "powerpcle powerpc64le"),
        (lib.GSYM_INSTRUCTIONS_MIPS, "mips mips64"),
        (lib.GSYM_INSTRUCTIONS_MIPS_LE, "mipsel mips64el"),
        (
            lib.GSYM_INSTRUCTIONS_ARM,
            "arm armeb armv6 armv7 armv7k armv7s armv6m thumb",
        ),
    )
    for name in names.split()
}
_X86 = frozenset({lib.GSYM_INSTRUCTIONS_X86_64, lib.GSYM_INSTRUCTIONS_X86})
_DECODED = frozenset({lib.GSYM_INSTRUCTIONS_X86_64, lib.GSYM_INSTRUCTIONS_AARCH64})


class MachineCode:
    """The machine code of a binary, which may be closed then.

    Args:
        binary: The binary; None: no code is known.

    Raises:
        GsymError: The binary is damaged.
    """

    def __init__(self, binary: ObjectFile | None = None) -> None:
        pieces = [] if binary is None else _pieces(binary)
        architecture = "" if binary is None else binary.architecture
        instructions = _INSTRUCTION_SETS.get(architecture, lib.GSYM_INSTRUCTIONS_OTHER)
        # whether its instructions can be decoded: those of x86-64, AArch64
        self.is_decoded: bool = instructions in _DECODED
        # clears the bit of an address that says Thumb
        self.mask: int = -2 if instructions == lib.GSYM_INSTRUCTIONS_ARM else -1
        # at one of so many addresses in code, or fewer, a call ends: at 1 to 3 % in
        # libraries of x86, at 2 to 11 % of other processors
        self.addresses_per_call: int = 32 if instructions in _X86 else 8
        self._data = None if binary is None else binary.data  # keeps it mapped
        self._pieces = ffi.new("gsym_code[]", [piece[0] for piece in pieces])
        # the engine's `gsym_machine_code *`
        self.handle: CData = ffi.new(
            "gsym_machine_code *", (self._pieces, len(pieces), instructions)
        )

    def __bool__(self) -> bool:
        """Whether there is any code."""
        return bool(self.handle.count)

    def places(self, mapped: MappedImage, addresses: array[int]) -> array[int]:
        """Kinds of places at link-time addresses: of each a set of `gsym_place`.

        Args:
            mapped: The GSYM file of the binary.
            addresses: Of type "Q".

        Returns:
            The sets, of type "B".

        Raises:
            FormatError: The file is damaged.
        """
        found, error = array("B", bytes(len(addresses))), new_error()
        status = lib.gsym_code_places(
            *(self.handle, mapped.image, ffi.from_buffer("uint64_t[]", addresses)),
            *(len(addresses), ffi.from_buffer("uint8_t[]", found), error),
        )
        check(status, error, mapped.path)
        return found

    def may_return(self, address: int) -> bool:
        """Whether a call may return to a link-time address.

        True unless the code before it is known, and is no call.
        """
        if not 0 <= address <= UINT64_MAX:
            return True
        return bool(lib.gsym_code_may_return(self.handle, address))

    def is_known(self, address: int) -> bool:
        """Whether the code before a link-time address tells if a call ends there."""
        is_one = 0 <= address <= UINT64_MAX
        return is_one and bool(lib.gsym_code_is_known(self.handle, address))

    def call_target(self, address: int) -> int | None:
        """The target of the call that ends at a link-time address; None if unknown.

        Only direct calls of x86, x86-64 and AArch64 tell it.
        """
        target = ffi.new("uint64_t *")
        is_one = 0 <= address <= UINT64_MAX
        if is_one and lib.gsym_code_call_target(self.handle, address, target):
            return int(target[0])
        return None

    def extent(self) -> tuple[int, int]:
        """The link-time addresses where the code begins and ends."""
        if not self:
            return 0, 0
        first, last = self._pieces[0], self._pieces[len(self._pieces) - 1]
        return int(first.address), int(last.address + last.size)


def x86_instruction_size(code: bytes, *, is_64: bool) -> int:
    """The size of the instruction that *code* begins with; 0 if undefined or cut."""
    return int(lib.gsym_x86_instruction_size(code, len(code), is_64))


def _pieces(binary: ObjectFile) -> list[CData]:
    """The pieces of code of a binary, sorted by address, without overlaps."""
    error, place = new_error(), ffi.new("uint32_t *")
    pieces: list[CData] = []
    while True:
        piece: CData = ffi.new("gsym_code *")
        status = lib.gsym_object_next_code(binary.handle, place, piece, error)
        check(status, error, binary.path)
        if piece.bytes == ffi.NULL:
            break
        if piece.size:
            pieces.append(piece)
    # Otherwise a small file could have the same bytes scanned many times.
    if sum(piece.size for piece in pieces) > len(binary.data):
        raise FormatError("sections of code overlap in the file", path=binary.path)
    return _apart(sorted(pieces, key=lambda piece: int(piece.address)))


def _apart(pieces: list[CData]) -> list[CData]:
    """Ascending pieces, each without bytes of the previous one."""
    kept: list[CData] = []
    end = 0
    for piece in pieces:
        shared = min(max(end - piece.address, 0), piece.size)
        if shared == piece.size:
            continue
        piece.address += shared
        piece.bytes += shared
        piece.size -= shared
        end = piece.address + piece.size
        kept.append(piece)
    return kept
