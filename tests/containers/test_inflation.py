"""Compressed sections: whole or refused, whatever they claim and whoever inflates."""

from __future__ import annotations

import random
import subprocess
import sys
import zlib
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.inflation import believable_size, inflate
from gsym.engine.native import lib
from tests.conftest import REPOSITORY
from tests.conversions import convert_bytes
from tests.inputs.elf import Compression, Elf, Section, code_section
from tests.inputs.program import debug_sections
from tests.referee.elf import ReferenceElf
from tests.sanitizer import no_sanitizer

pytestmark = pytest.mark.long

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

ZLIB, ZSTD = lib.GSYM_COMPRESSION_ZLIB, lib.GSYM_COMPRESSION_ZSTD
KINDS = pytest.mark.parametrize("kind", [ZLIB, ZSTD], ids=["zlib", "zstd"])
NOISE = random.Random(1).randbytes(300_000)  # noqa: S311 - no secret
TEXT = b"".join(b"%d," % number for number in range(400_000))


@pytest.fixture(params=["zlib", "isal"])
def inflater(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which module inflates zlib's streams."""
    if request.param == "isal":
        pytest.importorskip("isal", reason="there is no wheel of isal for this machine")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)
    return str(request.param)


def pack(kind: int, data: bytes) -> bytes:
    return zlib.compress(data) if kind == ZLIB else bytes(zstd.compress(data))


def inflated(payload: bytes, size: int, kind: int) -> bytes:
    view = memoryview(payload)
    return bytes(inflate(view, size, kind, path="app", offset=0x40)[0])


@pytest.mark.usefixtures("inflater")
@KINDS
@pytest.mark.parametrize("folder", ["/var/tmp", "/proc/none"])  # noqa: S108
def test_what_was_compressed_comes_back(
    kind: int, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", folder)
    whole = TEXT + bytes(1 << 20) + NOISE
    for data in (b"", b"x", TEXT, NOISE, bytes(5_000_000), whole):
        assert inflated(pack(kind, data), len(data), kind) == data


@pytest.mark.usefixtures("inflater")
@KINDS
def test_no_prefix_and_no_other_size_is_taken(kind: int) -> None:
    for data in (TEXT[:3000], NOISE[:3000], bytes(70_000)):
        payload = pack(kind, data)
        step = max(1, len(payload) // 50)
        for end in range(0, len(payload), step):
            with pytest.raises(gsym.FormatError, match="section is damaged") as caught:
                inflated(payload[:end], len(data), kind)
            assert (caught.value.path, caught.value.offset) == ("app", 0x40)
        for size in (0, 1, len(data) - 1, len(data) + 1):
            with pytest.raises(gsym.FormatError, match="does not have"):
                inflated(payload, size, kind)


@pytest.mark.usefixtures("inflater")
@KINDS
def test_a_changed_byte_is_found_or_changes_the_result(kind: int) -> None:
    data = TEXT[:2000]
    payload = pack(kind, data)
    for at in range(0, len(payload), 3):
        changed = bytearray(payload)
        changed[at] ^= 0x55
        with suppress(gsym.FormatError):
            assert len(inflated(bytes(changed), len(data), kind)) == len(data)


MEBIBYTE = 1 << 20


@pytest.mark.parametrize(
    ("compressed", "most", "expected"),
    [
        (0, 1 << 40, 16 * MEBIBYTE),
        (MEBIBYTE, 1 << 40, 116 * MEBIBYTE),
        (MEBIBYTE, MEBIBYTE, MEBIBYTE),
    ],
)
def test_the_limit_is_a_hundred_times_the_size_and_16_mebibytes(
    compressed: int, most: int, expected: int
) -> None:
    assert believable_size(compressed, most) == expected


def with_zeros(how: Compression, *sizes: int) -> bytes:
    """An executable with compressed debug sections of this many zeros each."""
    names = (".debug_str", ".debug_addr", ".debug_line_str")
    packed = [
        Section(name, bytes(size), compression=how)
        for name, size in zip(names, sizes, strict=False)
    ]
    return Elf([code_section(), *debug_sections(), *packed]).to_bytes()


@pytest.mark.parametrize("how", ["zlib", "zstd", "gnu"])
def test_sections_of_zeros_are_inflated_within_the_limit(
    how: Compression, tmp_path: Path
) -> None:
    assert convert_bytes(tmp_path, with_zeros(how, 8 * MEBIBYTE)).functions


@pytest.mark.parametrize("how", ["zlib", "zstd", "gnu"])
@pytest.mark.parametrize("sizes", [(24 * MEBIBYTE,), (9 * MEBIBYTE, 9 * MEBIBYTE)])
def test_sections_that_inflate_to_more_are_refused(
    how: Compression, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    for threads in (1, 2):
        with pytest.raises(gsym.LimitError, match="compressed sections declare"):
            convert_bytes(tmp_path, with_zeros(how, *sizes), {"threads": threads})
    with pytest.raises(gsym.LimitError, match="compressed sections declare"):
        ReferenceElf("app", memoryview(with_zeros(how, *sizes))).dwarf_sections()


@pytest.mark.parametrize("size", [1 << 62, (16 << 30) + 1])
def test_an_impossible_size_takes_no_memory(size: int, tmp_path: Path) -> None:
    data = with_zeros("gnu", 1000)
    claim = b"ZLIB" + (1000).to_bytes(8, "big")
    assert data.count(claim) == 1
    data = data.replace(claim, b"ZLIB" + size.to_bytes(8, "big"))
    with pytest.raises(gsym.LimitError, match="compressed sections declare"):
        convert_bytes(tmp_path, data)


@no_sanitizer
def test_a_bomb_costs_no_more_than_it_claims() -> None:
    """What is behind the claimed size is never inflated."""
    script = """
import resource, zlib
from gsym.engine.native import lib
from gsym.errors import FormatError
from gsym.containers.inflation import inflate
packer = zlib.compressobj(1)
bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(100)) + packer.flush()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    inflate(memoryview(bomb), 1 << 20, lib.GSYM_COMPRESSION_ZLIB, path="", offset=0)
except FormatError:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 16  # MiB


def with_long_sections(how: Compression | None) -> bytes:
    """An executable whose debug sections are worth several threads."""
    long = {".debug_str": TEXT, ".debug_line_str": NOISE, ".debug_addr": TEXT[:900_000]}
    debug = [
        *debug_sections(),
        *(Section(name, data) for name, data in long.items()),
    ]
    packed = [replace(section, compression=how) for section in debug]
    return Elf([code_section(), *packed]).to_bytes()


@pytest.mark.parametrize("how", ["zlib", "zstd", "gnu"])
def test_threads_inflate_the_same(how: Compression, tmp_path: Path) -> None:
    convert_bytes(tmp_path, with_long_sections(None))
    expected = (tmp_path / "input.gsym").read_bytes()
    image = with_long_sections(how)
    for threads in (1, 2, 5):
        convert_bytes(tmp_path, image, {"threads": threads})
        assert (tmp_path / "input.gsym").read_bytes() == expected


def test_damage_in_one_section_of_many_ends_the_conversion(tmp_path: Path) -> None:
    image = bytearray(with_long_sections("zlib"))
    payload = zlib.compress(TEXT)
    at = image.index(payload) + len(payload) // 2
    image[at : at + 40] = bytes(40)
    for threads in (1, 2):
        with pytest.raises(gsym.FormatError, match="compressed section is damaged"):
            convert_bytes(tmp_path, bytes(image), {"threads": threads})
