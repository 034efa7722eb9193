"""Load commands of a Mach-O file: read, changed, written again.

A file is laid out by these commands alone, so that it can grow in its middle where all
file offsets in them are known. An unknown command may contain one.
"""

from __future__ import annotations

from struct import (
    calcsize,
    error as StructError,  # noqa: N812 - an exception, named as one
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.embedding.binary import Binary

LC_SYMTAB = 0x2
LC_CODE_SIGNATURE = 0x1D
LC_DYLD_CHAINED_FIXUPS = 0x80000034
_LC_SEGMENT, _LC_SEGMENT_64, _LC_NOTE = 0x1, 0x19, 0x31

# Where a command has file offsets, each a u32.
_OFFSETS = {
    LC_SYMTAB: (8, 16),
    0xB: (32, 40, 48, 56, 64, 72),  # LC_DYSYMTAB
    0x16: (8,),  # LC_TWOLEVEL_HINTS
    LC_CODE_SIGNATURE: (8,),
    0x1E: (8,),  # LC_SEGMENT_SPLIT_INFO
    0x21: (8,),  # LC_ENCRYPTION_INFO
    0x22: (8, 16, 24, 32, 40),  # LC_DYLD_INFO
    0x80000022: (8, 16, 24, 32, 40),  # LC_DYLD_INFO_ONLY
    0x26: (8,),  # LC_FUNCTION_STARTS
    0x29: (8,),  # LC_DATA_IN_CODE
    0x2B: (8,),  # LC_DYLIB_CODE_SIGN_DRS
    0x2C: (8,),  # LC_ENCRYPTION_INFO_64
    0x2E: (8,),  # LC_LINKER_OPTIMIZATION_HINT
    0x80000033: (8,),  # LC_DYLD_EXPORTS_TRIE
    LC_DYLD_CHAINED_FIXUPS: (8,),
    0x36: (8,),  # LC_ATOM_INFO
    0x37: (8,),  # LC_FUNCTION_VARIANTS
    0x38: (8,),  # LC_FUNCTION_VARIANT_FIXUPS
}
# Those that have none, or, as LC_MAIN, only one into __TEXT.
_WITHOUT_OFFSETS = {
    *(0x4, 0x5),  # LC_THREAD, LC_UNIXTHREAD
    *(0x6, 0x7, 0x8),  # LC_LOADFVMLIB, LC_IDFVMLIB, LC_IDENT
    *(0xC, 0xD, 0x20, 0x80000018, 0x8000001F, 0x80000023),  # LC_ID_DYLIB, LC_LOAD_...
    *(0xE, 0xF, 0x27),  # LC_LOAD_DYLINKER, LC_ID_DYLINKER, LC_DYLD_ENVIRONMENT
    *(0x10, 0x17),  # LC_PREBOUND_DYLIB, LC_PREBIND_CKSUM
    *(0x11, 0x1A),  # LC_ROUTINES, LC_ROUTINES_64
    *(0x12, 0x13, 0x14, 0x15),  # LC_SUB_FRAMEWORK and its like
    *(0x1B, 0x2A, 0x32, 0x39),  # LC_UUID, LC_SOURCE_VERSION, LC_BUILD_VERSION, triple
    *(0x24, 0x25, 0x2F, 0x30),  # LC_VERSION_MIN_...
    *(0x2D, 0x8000001C),  # LC_LINKER_OPTION, LC_RPATH
    0x80000028,  # LC_MAIN
}

_KNOWN = {_LC_SEGMENT, _LC_SEGMENT_64, _LC_NOTE, *_OFFSETS, *_WITHOUT_OFFSETS}

_HEADER_SIZES = {False: 28, True: 32}  # by whether words have 64 bits
_COUNT_AT = 16  # in the header: how many commands; their size follows
_LEAST_COMMAND = 8
_GREATEST_SIZE = 1 << 20  # of all; linkers write a few thousand bytes
_NAMES_SIZE = 32  # the names of a section and of its segment


class LoadCommand:
    """One load command."""

    def __init__(self, binary: Binary, offset: int, raw: bytes) -> None:
        """*offset* is its place in the file as it was."""
        self._binary = binary
        self._offset = offset
        self.raw: bytearray = bytearray(raw)  # all its bytes
        self.kind: int = self.unpack("I", 0)[0]  # `LC_...`

    def unpack(self, fields: str, at: int) -> tuple[Any, ...]:
        """The values at byte *at* of the command."""
        try:
            return self._binary.struct(fields).unpack_from(self.raw, at)
        except StructError:
            reason = f"load command {self.kind:#x} is cut off"
            raise self._binary.damaged(self._offset, reason) from None

    def pack(self, fields: str, at: int, *values: Any) -> None:
        """Change the values at byte *at*."""
        try:
            self._binary.struct(fields).pack_into(self.raw, at, *values)
        except StructError:
            raise self._binary.too_large() from None

    def move(self, fields: str, at: int, moved: Callable[[int], int]) -> None:
        """Apply *moved* to the file offset at byte *at*; 0 means none."""
        (offset,) = self.unpack(fields, at)
        if offset:
            self.pack(fields, at, moved(offset))


class Segment:
    """The contents of a segment command."""

    def __init__(self, command: LoadCommand, *, is_wide: bool) -> None:
        self.command = command  # the command itself
        self._places = "4Q" if is_wide else "4I"
        # Of a section, after its two names: address, size, offset.
        self._section_place = "QQI" if is_wide else "3I"
        self._offset_at = 48 if is_wide else 40
        self._section_size = 80 if is_wide else 68
        name, *places = command.unpack(f"16s{self._places}", 8)
        self.name: bytes = name.rstrip(b"\0")  # without the zeros at its end
        self.address: int  # of its first byte in memory
        self.memory_size: int  # in bytes
        self.offset: int  # of its first byte in the file
        self.size: int  # bytes in the file
        self.address, self.memory_size, self.offset, self.size = places
        self._first_section = 24 + calcsize("<" + self._places) + 16
        (count,) = command.unpack("I", self._first_section - 8)
        end = self._first_section + count * self._section_size
        self._sections = range(self._first_section, end, self._section_size)

    @property
    def end(self) -> int:
        """After its bytes in the file."""
        return self.offset + self.size

    @property
    def memory_end(self) -> int:
        """After its addresses."""
        return self.address + self.memory_size

    def place(self, address: int, memory_size: int, offset: int, size: int) -> None:
        """Say where it is now."""
        self.address, self.memory_size = address, memory_size
        self.offset, self.size = offset, size
        self.command.pack(self._places, 24, address, memory_size, offset, size)

    def place_section(self, at: int, size: int, alignment: int) -> None:
        """Say where the only section is, which begins *at* bytes into the segment."""
        place = self.address + at, size, self.offset + at, alignment
        fields = self._section_place + "I"
        self.command.pack(fields, self._first_section + _NAMES_SIZE, *place)

    def content_offsets(self) -> list[int]:
        """The offsets in the file of the segment and its sections that have bytes."""
        fields, sections = self._section_place, self._sections
        places = [self.command.unpack(fields, at + _NAMES_SIZE) for at in sections]
        places.append((self.address, self.size, self.offset))
        return [offset for _, size, offset in places if size and offset]

    def move_sections(self, moved: Callable[[int], int]) -> None:
        """Apply *moved* to the file offsets of the sections and their relocations."""
        for at in self._sections:
            self.command.move("I", at + self._offset_at, moved)
            self.command.move("I", at + self._offset_at + 8, moved)


class LoadCommands:
    """The header of a Mach-O file and its load commands."""

    def __init__(self, binary: Binary, *, is_wide: bool) -> None:
        self.is_wide = is_wide  # whether words have 64 bits
        self._binary = binary
        start = _HEADER_SIZES[is_wide]
        self._header = bytearray(binary.part(0, start, "the Mach-O header"))
        fields = binary.struct("4x6I").unpack_from(self._header)
        self.cpu_type: int  # `CPU_TYPE_...`
        self.file_type: int  # `MH_...`
        self.cpu_type, _, self.file_type, count, size, _ = fields
        self.commands: list[LoadCommand] = self._read(start, size, count)
        self.end: int = start + size  # where the commands end in the file as it was
        # of those, the segments
        self.segments: list[Segment] = [
            Segment(command, is_wide=is_wide)
            for command in self.commands
            if command.kind in {_LC_SEGMENT, _LC_SEGMENT_64}
        ]

    def _read(self, start: int, size: int, count: int) -> list[LoadCommand]:
        if size > _GREATEST_SIZE:
            raise self._binary.damaged(_COUNT_AT + 4, f"load commands of {size} bytes")
        region = self._binary.part(start, size, "the load commands")
        at, commands = 0, []
        for _ in range(count):
            _, command_size = self._binary.unpack(
                self._binary.struct("II"), start + at, "a load command"
            )
            if command_size < _LEAST_COMMAND or at + command_size > size:
                reason = f"a load command of {command_size} bytes"
                raise self._binary.damaged(start + at, reason)
            raw = bytes(region[at : at + command_size])
            commands.append(LoadCommand(self._binary, start + at, raw))
            at += command_size
        for command in commands:
            if command.kind not in _KNOWN:
                raise self._binary.unsupported(
                    f"load command {command.kind:#x} is unknown: it may contain a file "
                    "offset that would have to change"
                )
        return commands

    def find(self, kind: int) -> LoadCommand | None:
        """The first command of a kind."""
        return next((c for c in self.commands if c.kind == kind), None)

    def place(self, kind: int, at: int = 8) -> tuple[int, int]:
        """Offset and size that the first command of a kind has at a byte, or zeros."""
        command = self.find(kind)
        offset, size = command.unpack("II", at) if command is not None else (0, 0)
        return offset, size

    def segment(self, name: bytes) -> Segment | None:
        """The first segment of a name."""
        return next((s for s in self.segments if s.name == name), None)

    def new_segment(self, name: bytes, section: bytes, protection: int) -> Segment:
        """A segment command with one section, not yet placed."""
        word = "Q" if self.is_wide else "I"
        kind = _LC_SEGMENT_64 if self.is_wide else _LC_SEGMENT
        segment_fields, section_fields = f"II16s4{word}4I", f"16s16s2{word}7I"
        section_fields += "I" * self.is_wide
        packed = self._binary.struct(segment_fields + section_fields)
        zeros = [0] * (9 + self.is_wide)
        raw = packed.pack(
            *(kind, packed.size, name, 0, 0, 0, 0, protection, protection, 1, 0),
            *(section, name, *zeros),
        )
        return Segment(LoadCommand(self._binary, 0, raw), is_wide=self.is_wide)

    def insert(
        self, new: Segment, other: Segment, *, after: int = 0, replaced: int = 0
    ) -> None:
        """Put *new* before or *after* another one, or in its place if *replaced*."""
        at = self.commands.index(other.command) + after
        self.commands[at : at + replaced] = [new.command]

    def content_start(self) -> int:
        """The lowest file offset that is in use after the commands."""
        offsets = [len(self._binary.data)]
        for segment in self.segments:
            offsets += segment.content_offsets()
        return min(offsets)

    def move(self, moved: Callable[[int], int]) -> None:
        """Apply *moved* to all file offsets but those of the segments themselves."""
        for segment in self.segments:
            segment.move_sections(moved)
        for command in self.commands:
            for at in _OFFSETS.get(command.kind, ()):
                command.move("I", at, moved)
            if command.kind == _LC_NOTE:
                command.move("Q", 24, moved)

    def to_bytes(self) -> bytes:
        """Header and commands as they are now."""
        raw = b"".join(command.raw for command in self.commands)
        counts = self._binary.struct("II")
        counts.pack_into(self._header, _COUNT_AT, len(self.commands), len(raw))
        return bytes(self._header) + raw
