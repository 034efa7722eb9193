"""Debug ids, code ids and names of modules."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.conversion.identity import elf_text_identifier, identify, read_first
from gsym.modules.key import (
    OTHER,
    SAME,
    UNKNOWN,
    ModuleKey,
    codeview_debug_id,
    compare,
    elf_debug_id,
    hash_of_code,
    macho_debug_id,
    pe_code_id,
    read_debug_id,
    read_go_id,
    uuid_code_id,
    uuid_debug_id,
)
from tests.inputs import macho
from tests.inputs.elf import Elf, Section
from tests.inputs.pe import (
    CODEVIEW,
    I386,
    REPRO,
    X86_64,
    Pe,
    code_section as pe_code,
    codeview,
)
from tests.writing.test_shared_strings import xxh64

if TYPE_CHECKING:
    from pathlib import Path

BUILD_ID = bytes.fromhex("80AE0509E7CE335AE3CAB61C274274DE96049B64")
SWAPPED = "0905AE80CEE75A33E3CAB61C274274DE"


# ---- the rules of each format


@pytest.mark.parametrize(
    ("build_id", "byteorder", "expected"),
    [
        (BUILD_ID, "little", SWAPPED + "0"),
        (BUILD_ID, "big", BUILD_ID[:16].hex().upper() + "0"),
        (BUILD_ID[:16], "little", SWAPPED + "0"),
        (BUILD_ID[:6], "little", "0905AE80CEE7" + 20 * "0" + "0"),
        (b"\x01", "little", "00000001" + 24 * "0" + "0"),
        (b"\x01", "big", "01" + 30 * "0" + "0"),
    ],
)
def test_the_debug_id_of_an_elf_file_is_its_build_id_as_a_guid(
    build_id: bytes, byteorder: str, expected: str
) -> None:
    assert elf_debug_id(build_id, byteorder) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", bytes(16)),
        (b"\x01\x02", b"\x01\x02" + bytes(14)),
        (bytes(range(16)) * 2, bytes(16)),
        (bytes(range(16)) * 2 + b"\x10\x20\x30", b"\x10\x20\x30" + bytes(13)),
        (bytes(4096) + b"\xff" * 16, bytes(16)),
        (bytes(4080) + b"\xff" * 32, b"\xff" * 16),
    ],
)
def test_the_first_page_of_text_stands_for_a_missing_build_id(
    text: bytes, expected: bytes
) -> None:
    assert elf_text_identifier(text) == expected
    assert elf_text_identifier(memoryview(text)) == expected


def test_a_mach_o_file_keeps_the_order_of_its_uuid() -> None:
    uuid = bytes.fromhex("67e9247c814e392ba027dbde6748fcbf")
    assert macho_debug_id(uuid) == "67E9247C814E392BA027DBDE6748FCBF0"


@pytest.mark.parametrize(("age", "digits"), [(1, "1"), (0x1A, "1a"), (0, "0")])
def test_a_pe_file_has_an_age(age: int, digits: str) -> None:
    assert codeview_debug_id(BUILD_ID[:16], age) == SWAPPED + digits


@pytest.mark.parametrize(
    ("stamp", "size", "expected"),
    [
        (0x5AB38077, 0x9000, "5AB380779000"),
        (0xBBD629D4, 0xA000, "BBD629D4a000"),
        (0, 0x400, "00000000400"),
    ],
)
def test_the_code_id_of_a_pe_file_is_its_time_and_size(
    stamp: int, size: int, expected: str
) -> None:
    assert pe_code_id(stamp, size) == expected


@pytest.mark.parametrize(
    ("os", "byteorder", "expected"),
    [
        ("Linux", "little", SWAPPED + "0"),
        ("Android", "big", BUILD_ID[:16].hex().upper() + "0"),
        ("mac", "little", BUILD_ID[:16].hex().upper() + "0"),
        ("iOS", "little", BUILD_ID[:16].hex().upper() + "0"),
        ("windows", "little", SWAPPED),  # without its age
    ],
)
def test_the_debug_id_of_a_uuid_depends_on_the_os(
    os: str, byteorder: str, expected: str
) -> None:
    assert uuid_debug_id(BUILD_ID[:16], os, byteorder) == expected
    assert uuid_debug_id(b"", os, byteorder) == ""


@pytest.mark.parametrize(
    ("os", "size", "expected"),
    [
        ("Linux", 20, BUILD_ID.hex().upper()),
        ("Linux", 8, BUILD_ID[:8].hex().upper()),
        ("Linux", 16, ""),
        ("Linux", 0, ""),
        ("mac", 16, BUILD_ID[:16].hex().upper()),
        ("windows", 16, ""),
        ("windows", 20, ""),
    ],
)
def test_a_whole_build_id_is_a_code_id(os: str, size: int, expected: str) -> None:
    assert uuid_code_id(BUILD_ID[:size], os) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SWAPPED + "0", SWAPPED + "0"),
        (SWAPPED.lower() + "1A", SWAPPED + "1a"),
        (SWAPPED, SWAPPED + "0"),
        (SWAPPED + "00000001", SWAPPED + "1"),
        (SWAPPED + "000", SWAPPED + "0"),
        ("0905ae80-cee7-5a33-e3ca-b61c274274de", SWAPPED + "0"),
        ("0905ae80-cee7-5a33-e3ca-b61c274274de-fe910d63", SWAPPED + "fe910d63"),
    ],
)
def test_a_debug_id_is_read_in_both_forms(text: str, expected: str) -> None:
    assert read_debug_id(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "1234", SWAPPED[:-1], SWAPPED[:-1] + "g", "0x" + SWAPPED[2:]),
        *(
            SWAPPED + age
            for age in ("123456789", "000000001", "x", " 1", "+1", "1_1", "\u0663")
        ),
    ],
)
def test_an_invalid_debug_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a debug id"):
        read_debug_id(text)


# ---- of files


TEXT = bytes(range(16))
TEXT_SWAPPED = "030201000504070608090A0B0C0D0E0F"


def elf(**parts: object) -> bytes:
    code = Section(".text", TEXT, flags=6, address=0x1000)
    return Elf((code,), **parts).to_bytes()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (
            elf(build_id=BUILD_ID),
            ModuleKey(
                os="Linux",
                architecture="x86_64",
                debug_id=SWAPPED + "0",
                code_id=BUILD_ID.hex().upper(),
            ),
        ),
        (
            elf(build_id=BUILD_ID, bits=64, byteorder="big"),
            ModuleKey(
                os="Linux",
                architecture="ppc64",
                debug_id=BUILD_ID[:16].hex().upper() + "0",
                code_id=BUILD_ID.hex().upper(),
            ),
        ),
        (
            elf(bits=32),
            ModuleKey(os="Linux", architecture="x86", debug_id=TEXT_SWAPPED + "0"),
        ),
        (
            elf(machine=183),
            ModuleKey(os="Linux", architecture="arm64", debug_id=TEXT_SWAPPED + "0"),
        ),
        (Elf().to_bytes(), ModuleKey(os="Linux", architecture="x86_64")),
    ],
)
def test_the_identity_of_an_elf_file(
    image: bytes, expected: ModuleKey, tmp_path: Path
) -> None:
    path = tmp_path / "lib app.so.1"
    path.write_bytes(image)
    assert identify(str(path)) == expected._replace(debug_file="lib app.so.1")


RECORD = codeview(BUILD_ID[:16], 2, r"C:\out\the app.pdb")


def pe(*debug: tuple[int, bytes], machine: int = X86_64) -> bytes:
    return Pe([pe_code()], machine=machine, image_base=0x400000, debug=debug).to_bytes()


@pytest.mark.parametrize(("machine", "name"), [(I386, "x86"), (X86_64, "x86_64")])
def test_the_identity_of_a_pe_file(machine: int, name: str, tmp_path: Path) -> None:
    path = tmp_path / "app.exe"
    path.write_bytes(pe((CODEVIEW, RECORD), machine=machine))
    assert identify(str(path)) == ModuleKey(
        *("the app.pdb", SWAPPED + "2", "app.exe", "5F3759DF100000"),
        os="windows",
        architecture=name,
    )


@pytest.mark.parametrize(
    "image",
    [
        pe((CODEVIEW, b"NB10" + bytes(40))),
        pe((CODEVIEW, b"RSDS")),
        pe((REPRO, RECORD)),
        pe(),
    ],
)
def test_a_pe_file_without_codeview_has_no_debug_id(
    image: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "app.exe"
    path.write_bytes(image)
    found = identify(str(path))
    assert (found.debug_id, found.debug_file) == ("", "app.exe")
    assert found.code_id


def test_every_prefix_of_a_pe_file_is_identified_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "app.exe"
    image = pe((CODEVIEW, RECORD))
    for size in range(1, len(image), 3):
        path.write_bytes(image[:size])
        with suppress(gsym.FormatError):
            assert identify(str(path)).os == "windows"


def test_a_binary_has_to_fit_the_uuid(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(elf(build_id=BUILD_ID))
    assert identify(path, uuid=BUILD_ID) == identify(path)
    # A Breakpad file without a code id has no more of a build id than this.
    assert identify(path, uuid=BUILD_ID[:16]) == identify(path)
    assert identify(path, uuid=b"") == identify(path)
    for other in (BUILD_ID[:8], BUILD_ID[::-1], BUILD_ID[:-1] + b"\0"):
        with pytest.raises(gsym.UuidMismatchError, match="is of another build"):
            identify(path, uuid=other)
    path.write_bytes(elf())
    with pytest.raises(gsym.UuidMismatchError, match="is of another build"):
        identify(path, uuid=BUILD_ID)
    path.write_bytes(Elf().to_bytes())
    with pytest.raises(gsym.UuidMismatchError, match="its UUID is missing"):
        identify(path, uuid=BUILD_ID)


def test_the_uuid_chooses_a_slice(fixtures: Path) -> None:
    bundle = fixtures / "symbolic/macos/Example.framework.dSYM"
    with pytest.raises(gsym.GsymError, match="x86_64, arm64: choose one"):
        identify(bundle)
    uuid = bytes.fromhex("2556f1515a403847be6ce2c1b5be4df8")
    assert identify(bundle, uuid=uuid) == ModuleKey(
        debug_file="Example",
        debug_id=uuid.hex().upper() + "0",
        code_id=uuid.hex().upper(),
        os="mac",
        architecture="arm64",
    )


def test_real_files_have_the_ids_that_symbolic_gives_them(fixtures: Path) -> None:
    symbolic = pytest.importorskip("symbolic")
    seen = 0
    for path in sorted(fixtures.rglob("*")):
        # What is in a core file is not its own.
        if not path.is_file() or path.name.startswith("core"):
            continue
        data = path.read_bytes()
        try:
            (binary,) = symbolic.Archive.from_bytes(data).iter_objects()
            found = identify(str(path))
        except (symbolic.SymbolicError, ValueError, gsym.GsymError):
            continue
        own = read_debug_id(binary.debug_id)
        if binary.file_format not in {"elf", "macho", "pe"} or len(own) > 33:
            continue  # or a .NET assembly, whose age is a hash
        if "symbolic" in path.parts:
            assert found.architecture == binary.arch
        assert (found.debug_id or "0" * 33) == own, path
        assert found.code_id.lower() == (binary.code_id or ""), path
        seen += 1
    assert seen >= 100


GO_ID = "/".join(("A-b_5" * 4,) * 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GO_ID, GO_ID),
        (GO_ID.encode().hex(), GO_ID),
        (GO_ID[:41], GO_ID[:41]),
        (GO_ID[:20], ""),
        (GO_ID + "/" + GO_ID[:20], ""),
        (GO_ID.replace("_", "."), ""),
        ("redacted", ""),
        ("ab" * 20, ""),
        ("", ""),
    ],
)
def test_the_build_id_of_go_is_of_hashes(text: str, expected: str) -> None:
    assert read_go_id(text) == expected


def test_a_text_that_builds_share_is_no_build_id_of_go() -> None:
    """Rules for Bazel link all programs with the build id "redacted"."""
    bazel, other = ModuleKey(go_id="redacted"), ModuleKey(go_id=GO_ID)
    assert compare(bazel, bazel).outcome == UNKNOWN
    assert compare(other, other).outcome == SAME
    assert compare(other, bazel).outcome == OTHER


@given(st.lists(st.binary(max_size=99), max_size=4))
def test_the_hash_of_code_is_that_of_the_hashes_of_sections(parts: list[bytes]) -> None:
    hashes = b"".join(xxh64(each).to_bytes(8, "little") for each in parts if each)
    assert hash_of_code(parts) == (f"{xxh64(hashes):016x}" if hashes else "")


def _said(uuid: bytes, _own: ModuleKey) -> ModuleKey:
    return ModuleKey(code_id=uuid.hex().upper())


def test_a_binary_is_read_if_a_gsym_file_may_be_of_it(tmp_path: Path) -> None:
    """Of a fat file, the slice of its UUID; what is no binary is passed over."""
    cpus, uuids = ((macho.X86_64, 3), (macho.ARM64, 0)), (b"1" * 16, b"2" * 16)
    slices = [
        (cpu, macho.Macho([macho.code()], uuid=uuid, cpu=cpu).to_bytes())
        for cpu, uuid in zip(cpus, uuids, strict=True)
    ]
    whole, text = tmp_path / "app", tmp_path / "text"
    whole.write_bytes(macho.fat(*slices))
    text.write_bytes(b"text")
    paths = [str(tmp_path / "missing"), str(text), str(whole)]
    for uuid in uuids:
        said = partial(_said, uuid)
        assert read_first(paths, said, lambda each: each.uuid) == uuid
    assert read_first(paths, partial(_said, b"3" * 16), lambda each: each.uuid) is None
    assert read_first(paths, None, lambda each: each.uuid) is None  # which slice?
