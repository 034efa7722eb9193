"""Two builds of a program, in each kind of file, with ids that are equal or not.

Both have a function at one address, which is named for the build; their first page of
code is equal.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.inputs import elf, macho, pe

if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.modules.key import ModuleKey

ADDRESS = 0x3000  # behind the first page of .text
IMAGE = 0x1000

RIGHT, OTHER, PART, ABSENT, ZEROS, TWINS = (
    *("right", "another id", "part of the id", "no id", "zeros", "two of one id"),
)
CASES = (RIGHT, OTHER, PART, ABSENT, ZEROS, TWINS)


@dataclass(frozen=True)
class Ids:
    """What one kind of id is for the build that is asked for, and for others."""

    own: object
    other: object
    part: object | None
    zeros: object | None
    absent: object | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of id, and how a file with it is made.

    *write* gets the name of the function, the id, and whether symbols are kept.
    """

    name: str
    suffix: str
    ids: Ids
    write: Callable[..., bytes]

    def __str__(self) -> str:
        return self.name


def code(name: str) -> bytes:
    """Machine code of a build: its function differs, what precedes it does not."""
    return b"\xc3".ljust(ADDRESS - IMAGE, b"\0") + name.encode().ljust(16, b"\xc3")


def write_elf(name: str, identifier: object, *, has_symbols: bool) -> bytes:
    sections = [
        elf.Section(".text", code(name), flags=elf.CODE, address=IMAGE),
    ]
    if isinstance(identifier, str) and identifier:
        go = elf.note(b"Go\0\0", 4, identifier.encode(), "little")
        sections.append(elf.Section(".note.go.buildid", go, kind=elf.NOTE, flags=2))
    symbols = [elf.Symbol(name, ADDRESS, 16)] if has_symbols else []
    build_id = identifier if isinstance(identifier, bytes) and identifier else None
    segments = [elf.Segment(IMAGE, len(code(name)))]
    return elf.Elf(sections, segments, symbols, build_id=build_id).to_bytes()


def write_macho(name: str, identifier: object, *, has_symbols: bool) -> bytes:
    assert identifier is None or isinstance(identifier, bytes)
    text = macho.Section("__text", code(name), address=IMAGE, flags=macho.CODE)
    symbols = [macho.Symbol(f"_{name}", ADDRESS)] if has_symbols else []
    return macho.Macho([text], symbols=symbols, uuid=identifier).to_bytes()


STAMP = struct.pack("<I", 0x5F3759DF)


def write_pe(name: str, identifier: object, *, has_symbols: bool) -> bytes:
    text = pe.Section(".text", code(name), IMAGE, pe.CODE)
    symbols = [pe.Symbol(name, ADDRESS - IMAGE)] if has_symbols else []
    debug = []
    if isinstance(identifier, tuple):
        guid, age = identifier
        debug.append((pe.CODEVIEW, pe.codeview(guid, age, "a.pdb")))
    data = pe.Pe([text], symbols=symbols, debug=debug).to_bytes()
    # Time stamp and size alone identify an image without a CodeView record. Those of
    # two builds differ, also where GUID and age are equal.
    stamp = identifier if isinstance(identifier, int) else 0x60000000 + ord(name[0])
    return data.replace(STAMP, struct.pack("<I", stamp), 1)


GO_IDS = [f"{each * 20}/{'c' * 20}/{'d' * 20}/{'e' * 20}" for each in "ba"]
A, B = bytes(range(1, 33)), bytes(range(101, 133))
KINDS = (
    Kind(
        "build id, 20 bytes",
        "",
        Ids(B[:20], A[:20], B[:16] + A[:4], bytes(20)),
        write_elf,
    ),
    Kind(
        "build id, 32 bytes",
        "",
        Ids(B, A, B[:20] + A[:12], bytes(32)),
        write_elf,
    ),
    Kind(
        "build id, 8 bytes", "", Ids(B[:8], A[:8], B[:4] + A[:4], bytes(8)), write_elf
    ),
    Kind("Go build id", "", Ids(GO_IDS[0], GO_IDS[1], None, None), write_elf),
    Kind("no id (ELF)", "", Ids(None, None, None, None), write_elf),
    Kind("LC_UUID", "", Ids(B[:16], A[:16], B[:8] + A[:8], bytes(16)), write_macho),
    Kind(
        "GUID and age",
        ".dll",
        Ids((B[:16], 2), (A[:16], 2), (B[:16], 1), (bytes(16), 1)),
        write_pe,
    ),
    Kind("time stamp and size", ".dll", Ids(0x65000001, 0x65000002, None, 0), write_pe),
)


@dataclass(frozen=True)
class Cell:
    """The builds of one cell of the table.

    *wanted* is the key of the build that is asked for; *binary* is that build without
    symbols; *files* are those with symbols that a store, a folder or a cache has.
    """

    kind: Kind
    case: str
    wanted: ModuleKey
    binary: bytes
    files: tuple[bytes, ...]


def cell(kind: Kind, case: str, key_of: Callable[[bytes], ModuleKey]) -> Cell | None:
    """The builds of a cell; None if there are none of this kind."""
    ids = kind.ids
    other = {
        RIGHT: ids.own,
        OTHER: ids.other,
        PART: ids.part,
        ABSENT: ids.absent,
        ZEROS: ids.zeros,
        TWINS: ids.own,
    }[case]
    is_of_id = case not in {RIGHT, TWINS}
    if is_of_id and (ids.own is None or (other is None and case != ABSENT)):
        return None
    alpha = kind.write("alpha", other, has_symbols=True)
    bravo = kind.write("bravo", ids.own, has_symbols=True)
    files = {RIGHT: (bravo,), TWINS: (alpha, bravo)}.get(case, (alpha,))
    binary = kind.write(
        "bravo", ids.zeros if case == ZEROS else ids.own, has_symbols=False
    )
    return Cell(kind, case, key_of(binary), binary, files)
