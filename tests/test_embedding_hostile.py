"""Damaged binaries: an error with a reason, or a sound output; never a crash."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from gsym.embedding.binary import Payload
from gsym.embedding.payload import shared_payload
from gsym.embedding.transfer import container_of
from gsym.image_source import ImageSource
from tests.embeddings import elf, macho, write_gsym
from tests.hostile import ask
from tests.inputs.macho_executable import AD_HOC, DSYM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.inputs.elf import Elf
    from tests.inputs.macho_executable import MachoExecutable

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
            payload = shared_payload(self.image, container.shared_table(), "binary")
        else:
            payload = Payload(self.size, [self.data])
        return b"".join(map(bytes, container.with_section(payload)))


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    path = write_gsym(tmp_path_factory.mktemp("hostile") / "file.gsym", uuid=b"")
    data = path.read_bytes()
    return Embedder(ImageSource(data), len(data), data)


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
        for flip in FLIPS:
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
