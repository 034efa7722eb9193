"""Embed into Mach-O files.

Not by lief (tried: 1.0.0). It places the segment of a dSYM over __DWARF; it rewrites
__LINKEDIT, so that the string table cannot be shared, and drops the code signature
without writing another; it moves the code if there is no space for a load command,
and so changes all addresses; embedding again adds a segment's size each time; and it
needs the GSYM file as a list of integers.
"""

from __future__ import annotations

from itertools import chain

from gsym.embedding import load_commands
from gsym.embedding.binary import Binary, Payload, SharedTable, align
from gsym.embedding.signature import Signature

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

_HEADER = "7I"  # version, starts, imports, symbols, number of imports, two formats
_ENTRY_SIZE = 4
_GROWTH = 8


def with_one_more_segment(
    binary: Binary, offset: int, size: int, segments: int
) -> bytes:
    """The data of LC_DYLD_CHAINED_FIXUPS for a file with one more segment."""
    what = "the chained fixups"
    old = bytes(binary.part(offset, size, what))
    header = binary.struct(_HEADER)
    version, starts, imports, symbols, *rest = binary.unpack(header, offset, what)
    (count,) = binary.unpack(binary.struct("I"), offset + starts, what)
    if count != segments:
        return old  # dyld takes it, for a reason that holds further on
    entries = binary.struct(f"{1 + count}I")
    _, *places = binary.unpack(entries, offset + starts, what)
    end = starts + entries.size
    parts = [imports, *(starts + place for place in places if place)]
    used = min(parts)
    if not header.size <= starts < end <= used <= max(parts) <= size:
        raise binary.damaged(offset + starts, f"parts of {what} lie over each other")
    growth = 0 if used - end >= _ENTRY_SIZE else _GROWTH
    places = [place + growth if place else 0 for place in places]
    pieces = (
        header.pack(version, starts, imports + growth, symbols + growth, *rest),
        old[header.size : starts],
        binary.struct(f"{2 + count}I").pack(1 + count, *places, 0),
        bytes(growth - _ENTRY_SIZE) + old[end:] if growth else old[end + _ENTRY_SIZE :],
    )
    return b"".join(pieces)


_SEGMENT, _SECTION, _LINKEDIT = b"__GSYM", b"__gsym", b"__LINKEDIT"
_READ = 1  # VM_PROT_READ
_DSYM = 10
# MH_EXECUTE, MH_DYLIB, MH_DYLINKER, MH_BUNDLE, MH_DSYM
_FILE_TYPES = {2, 6, 7, 8, _DSYM}
_ARM_TYPES = {12, 0x100000C, 0x200000C}
_PAGE, _LARGE_PAGE = 0x1000, 0x4000
_SECTION_ALIGNMENT = 3  # as a power of 2
_SIGNATURE_ALIGNMENT = 16


class MachoBinary:
    """A Mach-O file that a GSYM file can go into.

    Raises:
        UnsupportedError: The file is of a kind or laid out in a way that leaves no
            place for a segment.
    """

    section = "__GSYM,__gsym"

    def __init__(self, binary: Binary, *, is_wide: bool) -> None:
        self._binary = binary
        self._commands = commands = load_commands.LoadCommands(binary, is_wide=is_wide)
        self._is_dsym = commands.file_type == _DSYM
        if commands.file_type not in _FILE_TYPES:
            raise binary.unsupported(
                f"a Mach-O file of type {commands.file_type}: only programs, "
                "libraries, bundles and dSYMs have a place for one more segment"
            )
        linkedit, self._old = commands.segment(_LINKEDIT), commands.segment(_SEGMENT)
        if linkedit is None:
            raise binary.unsupported("no segment __LINKEDIT")
        self._linkedit: load_commands.Segment = linkedit
        # Old files for ARM have small pages.
        is_aligned = (linkedit.offset | linkedit.address) % _LARGE_PAGE == 0
        is_large = is_aligned and commands.cpu_type in _ARM_TYPES and not self._is_dsym
        self._page_size = _LARGE_PAGE if is_large else _PAGE
        self._linkedit_start, self._linkedit_end = linkedit.offset, linkedit.end
        first = linkedit if self._old is None else self._old
        self._start, self._address = first.offset, first.address
        self._check_order()
        self._content_start = commands.content_start()
        offset, size = self._linkedit_data(load_commands.LC_DYLD_CHAINED_FIXUPS)
        data = bytes(self._binary.data[offset : offset + size])
        if size and self._old is None:
            count = len(self._commands.segments)
            data = with_one_more_segment(self._binary, offset, size, count)
        # The chained fixups, of which there may be no bytes, and their place.
        self._fixups, self._fixups_start = data, offset
        self._fixups_end, self._fixups_growth = offset + size, len(data) - size
        self._signature, self._unsigned_end = self._read_signature()
        # "" for a file without one, "ad hoc" where it is made again as it was,
        # "identity dropped" where it was that of somebody
        self.signature: str = ""
        if self._signature is not None:
            had_identity = self._signature.had_identity
            self.signature = "identity dropped" if had_identity else "ad hoc"
        self._growth = 0  # bytes that __LINKEDIT moves by

    def shared_table(self) -> SharedTable:
        """The string table of the symbols, where it will be after the new section."""
        offset, size = self._commands.place(load_commands.LC_SYMTAB, 16)
        if not size or offset < self._linkedit_start:
            raise self._binary.unsupported(
                "no symbol table in __LINKEDIT to share strings with"
            )
        table = self._binary.part(offset, size, "the string table")
        return SharedTable(table, self._moved(offset) - self._linkedit_start)

    def with_section(self, payload: Payload) -> Iterator[Buffer]:
        """The bytes of the binary with *payload* in it. Call once."""
        section_size = align(payload.size, 1 << _SECTION_ALIGNMENT)
        padding = -section_size % self._page_size
        segment_size = padding + section_size
        self._growth = self._start + segment_size - self._linkedit_start
        unsigned_end = self._moved(self._unsigned_end)
        code_limit = align(unsigned_end, _SIGNATURE_ALIGNMENT)
        self._commands.move(self._moved)
        command = self._commands.find(load_commands.LC_DYLD_CHAINED_FIXUPS)
        if command is not None and self._fixups_growth:
            command.pack("I", 12, len(self._fixups))
        linkedit_end = self._place_signature(code_limit)
        self._place_segments(segment_size, linkedit_end)
        self._place_new(segment_size, padding, payload.size)
        # The header and the load commands, which may use free bytes after them
        head, end = self._commands.to_bytes(), self._commands.end
        if len(head) > self._content_start or not self._binary.is_zero(end, len(head)):
            raise self._binary.unsupported(
                f"no space for a load command of {len(head) - end} bytes: "
                "link again with -headerpad 0x1000"
            )
        signature, data = self._signature, self._binary.data
        signature_padding = 0 if signature is None else code_limit - unsigned_end
        unsigned: Iterator[Buffer] = chain(
            (head, data[len(head) : self._start], bytes(padding)),
            payload.chunks,
            (bytes(section_size - payload.size),),
            (data[self._linkedit_start : self._fixups_start], self._fixups),
            (data[self._fixups_end : self._unsigned_end], bytes(signature_padding)),
        )
        if signature is None:
            yield from unsigned
            return
        for piece in unsigned:
            signature.update(piece)
            yield piece
        yield signature.finish(code_limit)

    # ---- reading

    def _check_order(self) -> None:
        """After the others there is nothing but the old segment and __LINKEDIT."""
        binary, linkedit, old = self._binary, self._linkedit, self._old
        others = [s for s in self._commands.segments if s not in {linkedit, old}]
        if self._is_dsym:
            is_last = all(
                not s.size or s.end <= self._start or s.offset >= linkedit.end
                for s in others
            )
        else:
            is_last = all(
                s.end <= self._start and s.memory_end <= self._address for s in others
            )
            is_last &= not (linkedit.offset | linkedit.address) % self._page_size
            is_last &= old is None or old.memory_end == linkedit.address
            # Those after it in the order of commands change their number.
            others = self._commands.segments
            others = others[others.index(linkedit) + 1 :]
            is_last &= not any(s.memory_size for s in others)
        is_last &= old is None or old.end == linkedit.offset
        if not is_last or linkedit.end > len(binary.data):
            raise binary.unsupported(
                "the segments are not laid out as linkers do, with __LINKEDIT the last"
            )
        if not self._is_dsym and not binary.is_zero(linkedit.end, len(binary.data)):
            raise binary.unsupported(
                f"the bytes after __LINKEDIT, from offset {linkedit.end:#x} on, are "
                "in no segment: whoever looks for them would not find them any more"
            )

    def _linkedit_data(self, kind: int) -> tuple[int, int]:
        """Offset and size of what a command has in __LINKEDIT; size 0: nothing."""
        offset, size = self._commands.place(kind)
        if not size:
            return self._linkedit_start, 0
        if not self._linkedit_start <= offset <= offset + size <= self._linkedit_end:
            raise self._binary.damaged(offset, "link-edit data outside of __LINKEDIT")
        return offset, size

    def _read_signature(self) -> tuple[Signature | None, int]:
        """The signature, and where all ends that is none."""
        offset, size = self._linkedit_data(load_commands.LC_CODE_SIGNATURE)
        file_end = len(self._binary.data)
        if not size:
            return None, file_end if self._is_dsym else self._linkedit_end
        end = self._strings_end(offset)
        is_last = self._binary.is_zero(offset + size, file_end)
        if not is_last or end < self._fixups_end:
            raise self._binary.damaged(offset, "the code signature does not come last")
        return Signature(self._binary, offset, size), end

    def _strings_end(self, signature: int) -> int:
        """The end of the string table, but for padding the last before *signature*."""
        end = sum(self._commands.place(load_commands.LC_SYMTAB, 16))
        is_last = signature - _SIGNATURE_ALIGNMENT < end <= signature
        return end if is_last else signature

    # ---- writing

    def _moved(self, offset: int) -> int:
        """The new offset of what was at *offset* of the file."""
        if offset < self._linkedit_start:
            return offset
        growth = self._fixups_growth if offset >= self._fixups_end else 0
        return offset + self._growth + growth

    def _place_signature(self, code_limit: int) -> int:
        """Returns where __LINKEDIT ends with it."""
        command = self._commands.find(load_commands.LC_CODE_SIGNATURE)
        if command is None or self._signature is None:
            return self._moved(self._linkedit_end)
        size = self._signature.size(code_limit)
        command.pack("II", 8, code_limit, size)
        return code_limit + size

    def _place_segments(self, new_size: int, linkedit_end: int) -> None:
        """Move __LINKEDIT and the rest of the file after it."""
        linkedit = self._linkedit
        offset, memory_size = self._moved(self._linkedit_start), 0
        address = self._address + new_size
        if self._is_dsym:
            address, memory_size = linkedit.address, linkedit.memory_size
        size = linkedit_end - offset
        for other in self._commands.segments:
            if other not in {linkedit, self._old} and other.size:
                place = self._moved(other.offset), other.size
                other.place(other.address, other.memory_size, *place)
        memory_size = max(memory_size, align(size, self._page_size))
        linkedit.place(address, memory_size, offset, size)

    def _place_new(self, size: int, padding: int, section_size: int) -> None:
        """Replace the old segment, or insert the new one."""
        commands, address = self._commands, self._address
        new = commands.new_segment(_SEGMENT, _SECTION, _READ)
        if self._is_dsym:
            ends = [s.memory_end for s in commands.segments if s is not self._old]
            address = align(max(ends), self._page_size)
        new.place(address, size, self._start, size)
        new.place_section(padding, section_size, _SECTION_ALIGNMENT)
        if self._old is not None:
            commands.insert(new, self._old, replaced=1)
        elif self._is_dsym:
            # Symbols count sections: those of __DWARF keep their numbers.
            commands.insert(new, commands.segments[-1], after=1)
        else:
            commands.insert(new, self._linkedit)
