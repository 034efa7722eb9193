"""GSYM files in a segment of a Mach-O file."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.embeddings import (
    FUNCTIONS,
    TARGETS,
    assert_answers,
    check_round_trip,
    functions_of,
    macho,
    write_gsym,
)
from tests.inputs.macho_executable import (
    AD_HOC,
    BUNDLE,
    DSYM,
    DYLIB,
    EXECUTE,
    PAGE,
    MachoExecutable,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

KINDS = (EXECUTE, DYLIB, BUNDLE, EXECUTE)
SEGMENTS = {0x1: "I", 0x19: "Q"}


def made(tmp_path: Path, binary: MachoExecutable | bytes) -> tuple[Path, Path]:
    """A GSYM file and a binary to put it into."""
    path = tmp_path / "program"
    path.write_bytes(binary if isinstance(binary, bytes) else binary.to_bytes())
    return write_gsym(tmp_path / "program.gsym"), path


class Place(NamedTuple):
    address: int
    memory_size: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


class Commands:
    """Load commands, read a second time and in another way than by the package."""

    def __init__(self, data: bytes) -> None:
        self.order = (
            "<" if data[:4] in {b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"} else ">"
        )
        wide = b"\xcf" in data[:4]
        fields = struct.unpack_from(self.order + "7I", data)
        self.all: list[tuple[int, bytes]] = []
        at = 32 if wide else 28
        self.end = at + fields[5]
        for _ in range(fields[4]):
            kind, size = struct.unpack_from(self.order + "II", data, at)
            self.all.append((kind, data[at : at + size]))
            at += size
        assert at == self.end

    def fields(self, kind: int, formats: str) -> tuple[int, ...]:
        (raw,) = [raw for found, raw in self.all if found == kind]
        return struct.unpack_from(self.order + formats, raw, 8)

    def segments(self) -> dict[str, Place]:
        found = {}
        for kind, raw in self.all:
            if kind in SEGMENTS:
                name = raw[8:24].rstrip(b"\0").decode()
                places = struct.unpack_from(f"{self.order}4{SEGMENTS[kind]}", raw, 24)
                found[name] = Place(*places)
        return found

    def section(self, segment: str) -> tuple[int, int, int, int]:
        """Address, size, offset and alignment of the only section."""
        for kind, raw in self.all:
            if kind in SEGMENTS and raw[8:24].rstrip(b"\0").decode() == segment:
                word = SEGMENTS[kind]
                at = 24 + struct.calcsize(f"<4{word}4I") + 32
                address, size, offset, alignment = struct.unpack_from(
                    f"{self.order}2{word}II", raw, at
                )
                return address, size, offset, alignment
        raise LookupError(segment)


@pytest.mark.parametrize(
    ("bits", "byteorder", "version", "share"),
    [  # every pair of choices
        (32, "little", 1, False),
        (32, "big", 2, True),
        (64, "little", 2, True),
        (64, "big", 2, False),
        (64, "big", 1, True),
    ],
)
def test_a_binary_answers_as_its_gsym_file_does(
    *, bits: int, byteorder: ByteOrder, version: int, share: bool, tmp_path: Path
) -> None:
    source = write_gsym(tmp_path / "file.gsym", version, byteorder)
    binary = macho(bits, byteorder).to_bytes()
    report = check_round_trip(binary, tmp_path, source, share=share)
    assert report.section == "__GSYM,__gsym"


@pytest.mark.parametrize(
    ("first", "second", "fixups", "signature"),
    [  # every pair of choices
        (False, False, False, None),
        (False, True, True, AD_HOC),
        (True, False, True, AD_HOC),
        (True, True, False, AD_HOC),
        (True, True, True, None),
    ],
)
def test_embedding_again_leaves_no_trace_of_the_first_time(
    *, first: bool, second: bool, fixups: bool, signature: int | None, tmp_path: Path
) -> None:
    binary = macho(fixups=fixups, signature=signature)
    source, path = made(tmp_path, binary)
    once, twice = tmp_path / "once", tmp_path / "twice"
    gsym.embed(source, path, once, share_strings=second)
    gsym.embed(source, path, twice, share_strings=first)
    gsym.embed(source, twice, share_strings=second)
    assert twice.read_bytes() == once.read_bytes()


@pytest.mark.parametrize(
    ("bits", "byteorder", "kind"),
    [(*target, kind) for target, kind in zip(TARGETS, KINDS, strict=True)],
)
def test_the_segment_precedes_the_link_edit_data(
    bits: int, byteorder: ByteOrder, kind: int, tmp_path: Path
) -> None:
    binary = macho(bits, byteorder, type=kind, data_segment=True)
    source, path = made(tmp_path, binary)
    old = Commands(path.read_bytes())
    gsym.embed(source, path)
    data = path.read_bytes()
    new = Commands(data)
    assert list(new.segments()) == [
        *("__PAGEZERO", "__TEXT", "__DATA", "__GSYM", "__LINKEDIT")
    ]
    before, after = old.segments()["__LINKEDIT"], new.segments()["__LINKEDIT"]
    segment = new.segments()["__GSYM"]
    assert (segment.address, segment.offset) == (before.address, before.offset)
    assert (after.address, after.offset) == (
        before.address + segment.memory_size,
        segment.end,
    )
    assert segment.size == segment.memory_size
    assert (
        segment.size % (PAGE if bits == 64 and byteorder == "little" else 0x1000) == 0
    )
    assert after.end == len(data)
    for name in ("__PAGEZERO", "__TEXT", "__DATA"):
        assert new.segments()[name] == old.segments()[name]
    address, size, offset, alignment = new.section("__GSYM")
    assert data[offset : offset + size] == source.read_bytes()
    assert address - segment.address == offset - segment.offset
    assert offset % (1 << alignment) == 0


def test_all_offsets_into_the_link_edit_data_follow_it(tmp_path: Path) -> None:
    """A number where no command has its data is as good as any."""
    at = PAGE + 8
    integers = struct.Struct
    note = b"owner".ljust(16, b"\0") + integers("<QQ").pack(at, 8)
    commands = (
        (0xB, integers("<18I").pack(*[1, 1] * 3, *[at, 1] * 6)),
        (0x16, integers("<II").pack(at, 1)),
        (0x1E, integers("<II").pack(at, 1)),
        (0x80000022, integers("<10I").pack(*[at, 1] * 5)),
        (0x29, integers("<II").pack(at, 1)),
        (0x2B, integers("<II").pack(0, 0)),
        (0x2C, integers("<4I").pack(at, 1, 1, 0)),
        (0x31, note),
        (0x80000033, integers("<II").pack(at, 1)),
        (0x80000028, integers("<QQ").pack(0x800, 0)),  # LC_MAIN: into __TEXT
    )
    source, path = made(tmp_path, macho(commands=commands))
    gsym.embed(source, path, share_strings=True)
    commands_after = Commands(path.read_bytes())
    moved = at + commands_after.segments()["__GSYM"].size
    assert commands_after.fields(0xB, "18I") == (*[1, 1] * 3, *[moved, 1] * 6)
    assert commands_after.fields(0x80000022, "10I") == (*[moved, 1] * 5,)
    for kind in (0x16, 0x1E, 0x29, 0x2C, 0x80000033):
        assert commands_after.fields(kind, "II") == (moved, 1)
    assert commands_after.fields(0x2B, "II") == (0, 0)
    assert commands_after.fields(0x31, "16xQQ") == (moved, 8)
    assert commands_after.fields(0x80000028, "QQ") == (0x800, 0)
    assert_answers(path)


# ---- chained fixups -------------------------------------------------------------


def starts_of(data: bytes) -> tuple[list[int], list[bytes]]:
    """Offsets of the list of segments, and what stands there, 24 bytes each."""
    at, size = Commands(data).fields(0x80000034, "II")
    payload = data[at : at + size]
    _, starts, imports, symbols, *_ = struct.unpack_from("<7I", payload)
    (count,) = struct.unpack_from("<I", payload, starts)
    places = struct.unpack_from(f"<{count}I", payload, starts + 4)
    assert imports == symbols == size
    return list(places), [
        payload[starts + place : starts + place + 24] for place in places if place
    ]


@pytest.mark.parametrize("data_segment", [False, True])
def test_the_fixups_know_the_new_segment(*, data_segment: bool, tmp_path: Path) -> None:
    """Of three segments the list has no padding behind it, of four it has."""
    binary = macho(fixups=True, data_segment=data_segment, signature=AD_HOC)
    source, path = made(tmp_path, binary)
    places, starts = starts_of(path.read_bytes())
    symbols = Commands(path.read_bytes()).fields(0x2, "4I")
    strings = path.read_bytes()[symbols[2] : symbols[2] + symbols[3]]
    gsym.embed(source, path, share_strings=True)
    data = path.read_bytes()
    places_after, starts_after = starts_of(data)
    assert len(places_after) == len(Commands(data).segments()) == len(places) + 1
    assert places_after[-2:] == [0, 0]
    assert starts_after == starts
    symbols = Commands(data).fields(0x2, "4I")
    assert data[symbols[2] : symbols[2] + symbols[3]] == strings
    assert_answers(path)


@pytest.mark.parametrize("at", [4, 8, 32, 36, 40, 44])
def test_damaged_fixups_are_refused(at: int, tmp_path: Path) -> None:
    data = bytearray(macho(fixups=True).to_bytes())
    offset, _ = Commands(bytes(data)).fields(0x80000034, "II")
    data[offset + at : offset + at + 4] = b"\xf1\xff\xff\x7f"
    source, path = made(tmp_path, bytes(data))
    if at == 32:  # another number of segments is nothing to complain about
        gsym.embed(source, path)
        assert functions_of(path) == FUNCTIONS
        return
    with pytest.raises(gsym.FormatError, match="fixups"):
        gsym.embed(source, path)
    assert path.read_bytes() == data


# ---- debug symbol files ---------------------------------------------------------


@pytest.mark.parametrize("share", [False, True])
def test_data_after_the_symbols_of_a_dsym_moves(*, share: bool, tmp_path: Path) -> None:
    binary = macho(type=DSYM)
    end = len(binary.to_bytes())
    name = b"__debug_info".ljust(16, b"\0")
    segment = b"__DWARF".ljust(16, b"\0")
    dwarf = segment + struct.pack("<4Q4I", 0x200000, 0x1000, end, 5, 7, 3, 1, 0)
    dwarf += (
        name + segment + struct.pack("<QQ8I", 0x200000, 5, end, 0, 0, 0, 0, 0, 0, 0)
    )
    source, path = made(
        tmp_path, macho(type=DSYM, commands=((0x19, dwarf),), tail=b"DWARF")
    )
    data = path.read_bytes()
    assert data[end:] == b"DWARF"
    old = Commands(data).segments()
    gsym.embed(source, path, share_strings=share)
    data = path.read_bytes()
    new = Commands(data).segments()
    assert list(new)[-1] == "__GSYM"
    moved = new["__GSYM"].size
    assert data[end + moved :] == b"DWARF"
    assert new["__DWARF"] == old["__DWARF"]._replace(offset=end + moved)
    assert Commands(data).section("__DWARF") == (0x200000, 5, end + moved, 0)
    assert new["__LINKEDIT"] == old["__LINKEDIT"]._replace(
        offset=old["__LINKEDIT"].offset + moved
    )
    assert new["__GSYM"].address == 0x201000
    assert_answers(path)
    gsym.embed(source, path, share_strings=share)
    assert path.read_bytes() == data


# ---- what is refused ------------------------------------------------------------


@pytest.mark.parametrize(("bits", "size"), [(32, 124), (64, 152)])
def test_a_load_command_needs_room(bits: int, size: int, tmp_path: Path) -> None:
    source, path = made(tmp_path, macho(bits, room=size - 1))
    before = path.read_bytes()
    message = f"no space for a load command of {size} bytes: .*-headerpad"
    with pytest.raises(gsym.UnsupportedError, match=message):
        gsym.embed(source, path)
    assert path.read_bytes() == before
    source, path = made(tmp_path, macho(bits, room=size))
    gsym.embed(source, path)
    assert_answers(path)


def test_bytes_after_the_load_commands_are_not_overwritten(tmp_path: Path) -> None:
    data = bytearray(macho().to_bytes())
    data[Commands(bytes(data)).end + 8] = 1
    source, path = made(tmp_path, bytes(data))
    with pytest.raises(gsym.UnsupportedError, match="no space"):
        gsym.embed(source, path)


def test_an_unknown_load_command_is_refused(tmp_path: Path) -> None:
    source, path = made(tmp_path, macho(commands=((0x80000099, bytes(8)),)))
    with pytest.raises(
        gsym.UnsupportedError, match="load command 0x80000099 is unknown"
    ):
        gsym.embed(source, path)


@pytest.mark.parametrize("kind", [1, 3, 4, 5, 9, 11, 12])
def test_files_that_are_not_linked_are_refused(kind: int, tmp_path: Path) -> None:
    source, path = made(tmp_path, macho(type=kind))
    with pytest.raises(gsym.UnsupportedError, match=f"a Mach-O file of type {kind}"):
        gsym.embed(source, path)


@pytest.mark.parametrize("magic", [b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"])
def test_a_universal_file_is_refused_with_the_way_out(
    magic: bytes, tmp_path: Path
) -> None:
    source, path = made(tmp_path, magic + (2).to_bytes(4, "big") + bytes(100))
    with pytest.raises(gsym.UnsupportedError, match=r"universal.* lipo -thin"):
        gsym.embed(source, path)
    with pytest.raises(gsym.UnsupportedError, match=r"universal.* lipo -thin"):
        gsym.Reader(path.read_bytes())


def test_bytes_after_the_link_edit_data_are_refused(tmp_path: Path) -> None:
    source, path = made(tmp_path, macho(tail=b"archive"))
    with pytest.raises(gsym.UnsupportedError, match="bytes after __LINKEDIT"):
        gsym.embed(source, path)
    source, path = made(tmp_path, macho(tail=bytes(3)))
    gsym.embed(source, path)
    assert_answers(path)


def test_without_symbols_there_is_nothing_to_share(tmp_path: Path) -> None:
    source, path = made(tmp_path, macho(symbols=()))
    with pytest.raises(gsym.UnsupportedError, match="no symbol table"):
        gsym.embed(source, path, share_strings=True)
    gsym.embed(source, path)
    assert_answers(path)


@pytest.mark.parametrize("name", [b"__LINKEDIT", b"__TEXT"])
def test_segments_in_another_order_are_refused(name: bytes, tmp_path: Path) -> None:
    data = bytearray(macho().to_bytes())
    at = data.index(name.ljust(16, b"\0"))
    places = struct.unpack_from("<4Q", data, at + 16)
    address, *rest = places
    address += 0x100 if name == b"__LINKEDIT" else 0x100000
    struct.pack_into("<4Q", data, at + 16, address, *rest)
    source, path = made(tmp_path, bytes(data))
    with pytest.raises(gsym.UnsupportedError, match="not laid out as linkers do"):
        gsym.embed(source, path)


@pytest.mark.parametrize("memory_size", [0, 0x1000])
def test_no_loaded_segment_changes_its_number(memory_size: int, tmp_path: Path) -> None:
    """Bindings name segments by number. What Go puts last, __DWARF, is not loaded."""
    place = 0x1000, memory_size, 0x1000, 0, 1, 1, 0, 0
    segment = b"__DWARF".ljust(16, b"\0") + struct.pack("<4Q4I", *place)
    binary = macho(commands=((0x19, segment),))
    source, path = made(tmp_path, binary)
    if memory_size:
        with pytest.raises(gsym.UnsupportedError, match="not laid out as linkers do"):
            gsym.embed(source, path)
        return
    gsym.embed(source, path)
    assert list(Commands(path.read_bytes()).segments())[-1] == "__DWARF"
    assert_answers(path)


def test_a_dsym_bundle_is_its_file(tmp_path: Path) -> None:
    bundle = tmp_path / "program.dSYM"
    member = bundle / "Contents/Resources/DWARF/program"
    member.parent.mkdir(parents=True)
    member.write_bytes(macho(type=DSYM).to_bytes())
    source = write_gsym(tmp_path / "program.gsym")
    report = gsym.embed(source, bundle)
    assert report.output == str(member)
    assert_answers(member)
    gsym.extract(bundle)
    assert (tmp_path / "program.dSYM.gsym").read_bytes() == source.read_bytes()


def test_old_files_for_arm_have_small_pages(tmp_path: Path) -> None:
    """Of 32 bits; PAGE fits both, so the segment is moved to the next small one."""
    data = bytearray(macho(32).to_bytes())
    at = data.index(b"__LINKEDIT".ljust(16, b"\0")) + 16
    address, *rest = struct.unpack_from("<4I", data, at)
    struct.pack_into("<4I", data, at, address + 0x1000, *rest)
    source, path = made(tmp_path, bytes(data))
    gsym.embed(source, path, share_strings=True)
    segments = Commands(path.read_bytes()).segments()
    assert segments["__GSYM"].size == 0x1000
    assert segments["__LINKEDIT"].address == address + 0x2000
    assert_answers(path)
