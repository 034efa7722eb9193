"""Damaged binaries: an error with a reason, or a sound output; never a crash."""

from __future__ import annotations

import struct
import tracemalloc
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from gsym.embedding.binary import Payload, shared_payload
from gsym.embedding.transfer import container_of
from gsym.writing.selection import ImageSource
from tests.embeddings import elf, macho, write_gsym
from tests.hostile import ask
from tests.inputs.macho_executable import AD_HOC, DSYM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.inputs.elf import Elf
    from tests.inputs.macho_executable import MachoExecutable

pytestmark = pytest.mark.long

BINARIES: dict[str, Elf | MachoExecutable] = {
    "elf32": elf(32, "big"),
    "elf64": elf(64, "little"),
    "macho32": macho(32, "big"),
    "macho64": macho(64, "little", fixups=True, signature=AD_HOC),
    "dsym": macho(64, "little", type=DSYM),
}
FLIPS = (0x01, 0x80, 0xFF)


class Embedder(NamedTuple):
    """Puts one GSYM file into binaries that stand in memory."""

    image: ImageSource
    size: int
    data: bytes

    def embed(self, binary: bytes, *, share: bool) -> bytes:
        container = container_of(memoryview(binary), "binary")
        if share:
            payload = shared_payload(
                self.image, container.shared_table(), None, "binary"
            )
        else:
            payload = Payload(self.size, [self.data])
        return b"".join(map(bytes, container.with_section(payload)))


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    path = write_gsym(tmp_path_factory.mktemp("hostile") / "file.gsym", uuid=b"")
    data = path.read_bytes()
    return Embedder(ImageSource(data), len(data), data)


def peak_memory(embedder: Embedder, data: bytes) -> int:
    """Bytes that an attempt takes; it must be refused."""
    tracemalloc.start()
    try:
        with pytest.raises(gsym.GsymError):
            embedder.embed(data, share=True)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def head_of(data: bytes) -> list[int]:
    """Offsets of all that says where something is."""
    if data.startswith(b"\x7fELF"):
        wide = data[4] == 2
        order = "<" if data[5] == 1 else ">"
        (table,) = struct.unpack_from(
            order + ("Q" if wide else "I"), data, 40 if wide else 32
        )
        return [*range(4, 0x80), *range(table, len(data))]
    commands_end = (
        0x20 + struct.unpack_from("<I" if data[0] != 0xFE else ">I", data, 20)[0]
    )
    linkedit = len(data) - 0x400 if len(data) > 0x4400 else 0x4000
    return [*range(4, commands_end), *range(linkedit, len(data))]


def damaged(data: bytes) -> Iterator[bytes]:
    for at in head_of(data):
        flip = FLIPS[at % 3]
        yield data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]


def attempt(embedder: Embedder, data: bytes, *, share: bool) -> bytes | None:
    try:
        return embedder.embed(data, share=share)
    except gsym.GsymError:
        return None


@pytest.mark.parametrize("name", BINARIES)
def test_a_prefix_of_a_binary_is_refused_or_taken_as_one(
    name: str, embedder: Embedder
) -> None:
    data = BINARIES[name].to_bytes()
    assert attempt(embedder, data, share=True) is not None
    ends = [*range(0, min(len(data), 0x600), 7), *range(len(data) - 0x100, len(data))]
    outputs = [attempt(embedder, data[:end], share=True) for end in ends]
    assert outputs.count(None) > len(ends) // 2


@pytest.mark.parametrize("name", BINARIES)
@pytest.mark.parametrize("share", [False, True])
def test_a_changed_byte_of_a_binary_is_refused_or_harmless(
    *, name: str, share: bool, embedder: Embedder
) -> None:
    """What opens again has the answers that went in."""
    refused = 0
    for data in damaged(BINARIES[name].to_bytes()):
        output = attempt(embedder, data, share=share)
        if output is None:
            refused += 1
            continue
        try:
            reader = gsym.Reader(output)
        except gsym.GsymError:
            continue  # another reader may find more at fault
        with reader, gsym.Reader(embedder.data) as original:
            assert [info.name for info in reader.functions()] == [
                info.name for info in original.functions()
            ]
    assert refused


@pytest.mark.parametrize("name", BINARIES)
def test_no_damage_makes_a_reader_read_past_the_end(
    name: str, embedder: Embedder
) -> None:
    data = embedder.embed(BINARIES[name].to_bytes(), share=True)
    start = data.index(b"MYSG")
    with gsym.Reader(data) as reader:
        end = start + reader.size
    tally = ask(data)
    assert not tally.reasons or tally.answers
    for at in [*range(start, end), *head_of(data)[::5]]:
        ask(data[:at] + bytes([data[at] ^ 0x81]) + data[at + 1 :], [0x1014])
    for cut in range(start, len(data), 13):
        ask(data[:cut], [0x1014])


@pytest.mark.parametrize("name", BINARIES)
def test_every_byte_of_the_shared_table_counts(name: str, embedder: Embedder) -> None:
    binary = BINARIES[name].to_bytes()
    data = bytearray(embedder.embed(binary, share=True))
    with gsym.Reader(data) as reader:
        header = reader.header
    table = len(container_of(memoryview(binary), "binary").shared_table().table)
    end = data.index(b"MYSG") + header.strtab_offset + header.strtab_size
    for at in range(end - table, end):
        data[at] ^= 0x20
        with pytest.raises(gsym.FormatError, match="string table changed, embed again"):
            gsym.Reader(data)
        data[at] ^= 0x20


# ---- counts ----------------------------------------------------------------------


def test_sections_take_no_more_memory_than_they_have_bytes(embedder: Embedder) -> None:
    """Nor is each of them looked for in each segment."""
    count = 20_000
    header = bytearray(elf(symbols=()).to_bytes()[:64])
    first = struct.pack("<2I4Q2I2Q", 0, 0, 0, 0, 0, count, 1, count, 0, 0)
    symbols = struct.pack("<2I4Q2I2Q", 1, 2, 0, 0, 64, 64, 1, 0, 1, 24)
    table = first + symbols * (count - 1)
    segment = struct.pack("<2I6Q", 1, 4, 0, 0, 0, 64, 64, 1)
    struct.pack_into("<2Q", header, 32, 64 + len(table), 64)
    struct.pack_into("<6H", header, 52, 64, 56, 0xFFFF, 64, 0, 1)
    data = bytes(header) + table + segment * count
    assert peak_memory(embedder, data) < 4 * len(data)


def test_an_old_section_far_after_the_file_costs_nothing(
    embedder: Embedder,
) -> None:
    whole = embedder.embed(elf().to_bytes(), share=False)
    data, start = bytearray(whole), whole.index(b"MYSG")
    at = data.rindex(struct.pack("<2Q", start, embedder.size))
    struct.pack_into("<Q", data, at, 1 << 62)
    data[start : start + embedder.size] = bytes(embedder.size)
    assert embedder.embed(bytes(data), share=False) == whole


def test_load_commands_without_end_are_refused(embedder: Embedder) -> None:
    count = 1_000_000
    data = bytearray(macho().to_bytes()[:32])
    struct.pack_into("<2I", data, 16, count, 8 * count)
    commands = struct.pack("<2I", 8, 8) * count
    assert peak_memory(embedder, bytes(data) + commands) < 1 << 20


def test_overlapping_blobs_of_a_signature_are_refused(
    embedder: Embedder,
) -> None:
    """Each is as large as nearly all of them, and would be copied."""
    data = macho(signature=AD_HOC).to_bytes()
    start, count, size = data.rindex(b"\xfa\xde\x0c\xc0"), 10_000, 1 << 16
    at = 12 + 8 * count
    signature = struct.pack(">3I", 0xFADE0CC0, at + size, count)
    signature += b"".join(struct.pack(">2I", 0x20000 + n, at) for n in range(count))
    signature += struct.pack(">2I", 0xFADE7171, size).ljust(size, b"\0")
    old, new = len(data) - start, len(signature)
    linkedit = data.index(b"__LINKEDIT") + 40
    (linkedit_size,) = struct.unpack_from("<Q", data, linkedit)
    changed = bytearray(data[:start] + signature)
    struct.pack_into("<Q", changed, linkedit, linkedit_size + new - old)
    command = data.index(struct.pack("<4I", 0x1D, 16, start, old)) + 12
    struct.pack_into("<I", changed, command, new)
    assert peak_memory(embedder, bytes(changed)) < 8 << 20
