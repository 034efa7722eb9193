"""Linked Mach-O files, laid out as linkers do, with `__LINKEDIT` last and a signature.

    MachoExecutable(symbols=("_main",), signature=AD_HOC).to_bytes()

`tests.inputs.macho` writes what a reader may meet; this is what is read by those who
change a file: what is where, and room for one more load command.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tests.inputs.encoding import ByteOrder, Encoding, cstring

if TYPE_CHECKING:
    from collections.abc import Sequence

EXECUTE, DYLIB, BUNDLE, DSYM = 2, 6, 8, 10
_MAGICS = {32: 0xFEEDFACE, 64: 0xFEEDFACF}
_CPUS = {
    (32, "little"): 12,  # ARM
    (64, "little"): 0x100000C,  # ARM64
    (32, "big"): 18,  # POWERPC
    (64, "big"): 0x1000012,  # POWERPC64
}
PAGE = 0x4000  # fits both kinds of pages
TEXT, CODE_SIZE = 0x100000, 0x100
AD_HOC, IDENTITY = 0x20002, 0x10000  # flags: ad hoc and linker-signed, runtime


def code_directory(
    code: bytes, flags: int, special: Sequence[bytes] = (), hash_type: int = 2
) -> bytes:
    """Of all bytes in front of the signature; *special* from slot 1 on."""
    name = {1: "sha1", 2: "sha256"}[hash_type]
    pages = [code[at : at + PAGE] for at in range(0, len(code), PAGE)]
    hashes = [hashlib.new(name, page).digest() for page in pages]
    identifier = b"com.example.program\0"
    before = b"".join(reversed(special))
    hash_offset = 88 + len(identifier) + len(before)
    size = hash_offset + sum(map(len, hashes))
    head = struct.pack(
        ">9I4BI3IQ3Q",
        *(0xFADE0C02, size, 0x20400, flags, hash_offset, 88, len(special), len(pages)),
        *(len(code), len(hashes[0]), hash_type, 0, PAGE.bit_length() - 1, 0),
        *(0, 0, 0, 0, 0, PAGE, 1),
    )
    return head + identifier + before + b"".join(hashes)


def super_blob(blobs: dict[int, bytes]) -> bytes:
    """A signature of blobs by slot."""
    offset = 12 + 8 * len(blobs)
    index = b""
    for slot, blob in blobs.items():
        index += struct.pack(">II", slot, offset)
        offset += len(blob)
    return (
        struct.pack(">3I", 0xFADE0CC0, offset, len(blobs))
        + index
        + b"".join(blobs.values())
    )


@dataclass(frozen=True)
class MachoExecutable:
    """A program, or what *type* says, of one page of code.

    *signature* are the flags of a CodeDirectory, *blobs* stand beside it by slot.
    *commands* are appended as (kind, bytes behind the size), *tail* stands behind
    `__LINKEDIT`.
    """

    symbols: Sequence[str] = ("_main",)
    bits: Literal[32, 64] = 64
    byteorder: ByteOrder = "little"
    type: int = EXECUTE
    uuid: bytes = bytes(range(16))
    room: int = 0x400  # bytes behind the load commands
    data_segment: bool = False
    fixups: bool = False
    signature: int | None = None
    special: tuple[bytes, ...] = ()  # hashes, from slot 1 on
    hash_type: int = 2
    blobs: tuple[tuple[int, bytes], ...] = ()
    commands: tuple[tuple[int, bytes], ...] = ()
    tail: bytes = b""

    def to_bytes(self) -> bytes:
        head = _Writer(self, 0).head()
        return _Writer(self, len(head) + self.room).encode()


class _Writer:
    def __init__(self, macho: MachoExecutable, code_at: int) -> None:
        self.macho = macho
        self.code_at = code_at
        self.wide = macho.bits == 64
        encoding = Encoding(macho.byteorder, macho.bits // 8)
        self.uint, self.word = encoding.uint, encoding.address
        self.linkedit_at = PAGE * (1 + macho.data_segment)
        self.linkedit = b""

    def head(self) -> bytes:
        """The header and the load commands; fills `linkedit`."""
        macho, uint = self.macho, self.uint
        start = self.linkedit_at
        segments = [
            self._segment("__PAGEZERO", (0, TEXT, 0, 0)),
            self._segment("__TEXT", (TEXT, PAGE, 0, PAGE), self.code_at),
        ]
        if macho.data_segment:
            place = TEXT + PAGE, PAGE, PAGE, PAGE
            segments.append(self._segment("__DATA", place))
        commands = self._link_edit_commands(len(segments) + 1)
        commands.append(self._command(0x1B, macho.uuid))
        commands += [self._command(kind, rest) for kind, rest in macho.commands]
        size = len(self.linkedit)
        if macho.signature is not None:
            signature = self.signature(bytes(start + size))
            places = uint(start + size, 4) + uint(len(signature), 4)
            commands.append(self._command(0x1D, places))
            size += len(signature)
        place = TEXT + start, size + -size % PAGE, start, size
        segments.append(self._segment("__LINKEDIT", place))
        body = b"".join(segments + commands)
        fields = [
            *(_MAGICS[macho.bits], _CPUS[macho.bits, macho.byteorder], 0, macho.type),
            *(len(segments + commands), len(body), 0),
        ]
        fields += [0] * self.wide
        return b"".join(uint(field, 4) for field in fields) + body

    def encode(self) -> bytes:
        whole = self.head().ljust(self.code_at, b"\0") + b"\xc3" * CODE_SIZE
        whole = whole.ljust(self.linkedit_at, b"\0") + self.linkedit
        if self.macho.signature is not None:
            whole += self.signature(whole)
        return whole + self.macho.tail

    def signature(self, code: bytes) -> bytes:
        macho = self.macho
        assert macho.signature is not None
        directory = code_directory(
            code, macho.signature, macho.special, macho.hash_type
        )
        whole = super_blob({0: directory, **dict(macho.blobs)})
        return whole + bytes(-len(whole) % 16)

    def _link_edit_commands(self, segments: int) -> list[bytes]:
        uint, start = self.uint, self.linkedit_at
        commands = []
        if self.macho.fixups:
            self.linkedit = self._fixups(segments)
            places = uint(start, 4) + uint(len(self.linkedit), 4)
            commands.append(self._command(0x80000034, places))
        starts = b"\x10\0".ljust(8, b"\0")
        places = uint(start + len(self.linkedit), 4) + uint(len(starts), 4)
        commands.append(self._command(0x26, places))
        self.linkedit += starts
        strings, entries = b" \0", b""
        for symbol in self.macho.symbols:
            entries += uint(len(strings), 4) + b"\x0f\x01" + uint(0, 2)
            entries += self.word(TEXT + self.code_at)
            strings += cstring(symbol)
        at = start + len(self.linkedit)
        places = uint(at, 4) + uint(len(self.macho.symbols), 4)
        places += uint(at + len(entries), 4) + uint(len(strings), 4)
        if self.macho.symbols:
            commands.append(self._command(0x2, places))
            self.linkedit += entries + strings
        self.linkedit += bytes(-len(self.linkedit) % 16)
        return commands

    def _command(self, kind: int, rest: bytes) -> bytes:
        rest += bytes(-len(rest) % (8 if self.wide else 4))
        return self.uint(kind, 4) + self.uint(8 + len(rest), 4) + rest

    def _segment(
        self, name: str, place: tuple[int, int, int, int], code_at: int | None = None
    ) -> bytes:
        """*place* is the address, the size in memory, the offset, the size."""
        uint, word = self.uint, self.word
        address = place[0]
        raw = name.encode().ljust(16, b"\0")
        out = (
            raw
            + b"".join(map(word, place))
            + uint(5, 4) * 2
            + uint(code_at is not None, 4)
            + uint(0, 4)
        )
        if code_at is not None:
            out += b"__text".ljust(16, b"\0") + raw
            out += word(address + code_at) + word(CODE_SIZE) + uint(code_at, 4)
            out += uint(4, 4) + uint(0, 4) * 2 + uint(0x80000400, 4)
            out += uint(0, 4) * (2 + self.wide)
        return self._command(0x19 if self.wide else 0x1, out)

    def _fixups(self, segments: int) -> bytes:
        """One page of the last but one segment has a chain."""
        uint = self.uint
        list_size = 4 + 4 * segments
        at = list_size + -list_size % 8
        places = [0] * segments
        places[-2] = at
        starts = uint(segments, 4) + b"".join(uint(place, 4) for place in places)
        starts = starts.ljust(at, b"\0") + uint(24, 4) + uint(PAGE, 2) + uint(6, 2)
        starts += uint(PAGE * (segments - 3), 8) + uint(0, 4) + uint(1, 2) + uint(0, 2)
        end = 32 + len(starts)
        fields = [0, 32, end, end, 0, 1, 0]
        return b"".join(uint(field, 4) for field in fields) + bytes(4) + starts
