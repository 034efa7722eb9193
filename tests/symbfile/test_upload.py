"""What is uploaded of an executable, and what heads and answers say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.errors import (
    EmptyError,
    FormatError,
    GsymError,
    LimitError,
    UuidMismatchError,
)
from gsym.symbfile import upload
from gsym.symbfile.columns import Range, Record, ReturnPad, ReturnPadEntry
from gsym.symbfile.file_id import FileId
from gsym.symbfile.format import encode, open_symbfile
from gsym.symbfile.upload import (
    ENDPOINTS,
    MOST_PARTS,
    Upload,
    UploadAnswer,
    UploadPart,
    extract_upload,
    part_headers,
    read_answer,
    ready_upload,
)
from tests.creations import create
from tests.inputs import elf

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ID = FileId(bytes(range(16)))
START = 0x1000
# Two functions, each of which calls.
CODE = 2 * bytes.fromhex("e8 00 00 00 00 c3")
BUILD_ID = bytes(range(20))
RANGE = Range(0x10, 4, "f")
PAD = ReturnPad(0x11, (ReturnPadEntry("f", "", 0),))


# ---- heads and answers

# As the README of the protocol has them.
EXAMPLE = UploadPart(
    "x", 735912, FileId.parse("d--nFqkSpJIXRFeHMp_Smg"), "ranges", 1, 5
)
HEADERS = {
    "FileID": "d--nFqkSpJIXRFeHMp_Smg",
    "FilePart": "1",
    "FileParts": "5",
    "Content-Length": "735912",
    "Authorization": "APIKey QzJqQ1Q0WUI1NlR0QVl4NTlZcXg6Y0xhcFN1Sw==",
}


def test_headers_are_those_of_the_protocol() -> None:
    key = "QzJqQ1Q0WUI1NlR0QVl4NTlZcXg6Y0xhcFN1Sw=="
    assert dict(part_headers(EXAMPLE, key)) == HEADERS
    without = {name: text for name, text in HEADERS.items() if name != "Authorization"}
    assert dict(part_headers(EXAMPLE, "")) == without
    paths = {"ranges": "api/symbols-ranges", "returnpads": "api/symbols-returnpads"}
    assert paths == ENDPOINTS


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ({"success": True, "status": 200}, UploadAnswer(True, 200, "", "", "")),  # noqa: FBT003 - a record
        (
            {
                "success": False,
                "uuid": "f1ada52e-d705-423f-a1b0-fc054eb8900e",
                "error": {"Code": "1000", "Text": "Something went wrong on our side."},
                "status": 400,
            },
            UploadAnswer(
                *(False, 400, "1000", "Something went wrong on our side."),
                "f1ada52e-d705-423f-a1b0-fc054eb8900e",
            ),
        ),
        ({"success": False}, UploadAnswer(False, 0, "", "", "")),  # noqa: FBT003 - a record
        (
            {"success": False, "error": {"Code": 7, "Text": ["x"]}, "uuid": 10**30},
            UploadAnswer(False, 0, "7", "", ""),  # noqa: FBT003 - a record
        ),
        (
            {"success": False, "error": "x", "status": "200", "more": 1},
            UploadAnswer(False, 0, "", "", ""),  # noqa: FBT003 - a record
        ),
        (
            {"success": False, "error": {"Text": "a\ud800b"}},
            UploadAnswer(False, 0, "", "a?b", ""),  # noqa: FBT003 - a record
        ),
        (
            {"success": False, "error": {"Text": 2000 * "x", "Code": True}},
            UploadAnswer(False, 0, "", 1000 * "x", ""),  # noqa: FBT003 - a record
        ),
    ],
)
def test_answers_are_read(answer: object, read: UploadAnswer) -> None:
    assert read_answer(json.dumps(answer).encode()) == read


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"3", b"null", b"\xff\xfe", b"{}", b"<html>"),
        *(b'{"success": 1}', b'{"success": "true"}', b"[" * 100_000),
    ],
    ids=lambda body: repr(body[:20]),
)
def test_an_invalid_answer_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_answer(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
FIELDS = st.sampled_from(["success", "status", "uuid", "error", "Code", "Text"])


@given(st.dictionaries(FIELDS, JSON | st.dictionaries(FIELDS, JSON)) | JSON)
def test_any_answer_is_read_or_refused(answer: object) -> None:
    try:
        read = read_answer(json.dumps(answer).encode())
    except ValueError:
        return
    assert isinstance(read.success, bool)
    assert isinstance(read.status, int)
    for text in read[2:]:
        text.encode()  # no half of a surrogate pair


# ---- parts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `app` is deployed, and the outputs go to `parts`."""
    monkeypatch.chdir(tmp_path)
    write_program("app")
    (tmp_path / "parts").mkdir()
    return tmp_path


def write_program(
    name: str,
    *functions: str,
    build_id: bytes | None = BUILD_ID,
    machine: int = elf.X86_64,
) -> None:
    """A program with symbols for its functions."""
    text = elf.Section(".text", CODE, flags=elf.CODE, address=START)
    symbols = [
        elf.Symbol(function, START + 6 * number, 6)
        for number, function in enumerate(functions or ("one", "two"))
    ]
    binary = elf.Elf((text,), symbols=symbols, build_id=build_id, machine=machine)
    Path(name).write_bytes(binary.to_bytes())


def write_debug_file(name: str, build_id: bytes = BUILD_ID) -> None:
    """Names for the functions of a program, in a GSYM file."""
    line = (gsym.LineEntry(START, "/main.c", 7),)
    main = gsym.FunctionInfo(START, 6, "main", line)
    functions = [main, gsym.FunctionInfo(START + 6, 6, "f")]
    Path(name).write_bytes(create(functions, uuid=build_id))


def records_of(upload: Upload, kind: str) -> list[Record]:
    paths = [part.path for part in upload.parts if part.kind == kind]
    return [record for path in paths for record in open_symbfile(path).records()]


def functions_of(upload: Upload, kind: str) -> list[str]:
    return [
        record.func if isinstance(record, Range) else record.entries[0].func
        for record in records_of(upload, kind)
    ]


@pytest.mark.usefixtures("folder")
def test_an_executable_becomes_parts_of_both_kinds() -> None:
    upload = extract_upload("app", ID, "parts")
    assert [(p.kind, p.file_part, p.file_parts) for p in upload.parts] == [
        ("ranges", 0, 1),
        ("returnpads", 0, 1),
    ]
    for part in upload.parts:
        assert (part.size, part.file_id) == (Path(part.path).stat().st_size, ID)
    assert functions_of(upload, "ranges") == ["one", "two"]
    assert [each.elf_va for each in records_of(upload, "returnpads")] == [
        START + 4,
        START + 10,
    ]
    assert upload.notes == ()
    assert upload.conversion is not None
    assert upload.conversion.functions_debug_info == 0


@pytest.mark.usefixtures("folder")
def test_parts_are_numbered_by_kind() -> None:
    upload = extract_upload("app", ID, "parts", part_size=1)
    assert [(p.kind, p.file_part, p.file_parts) for p in upload.parts] == [
        ("ranges", 0, 2),
        ("ranges", 1, 2),
        ("returnpads", 0, 2),
        ("returnpads", 1, 2),
    ]
    assert functions_of(upload, "ranges") == ["one", "two"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", ENDPOINTS)
def test_one_kind_can_be_asked_for(kind: str) -> None:
    upload = extract_upload("app", ID, "parts", kinds=(kind,))
    assert {part.kind for part in upload.parts} == {kind}


@pytest.mark.usefixtures("folder")
def test_names_come_from_the_debug_file_and_calls_from_the_executable() -> None:
    write_debug_file("app.debug")
    upload = extract_upload("app", ID, "parts", debug_file="app.debug")
    assert functions_of(upload, "ranges") == ["main", "f"]
    assert functions_of(upload, "returnpads") == ["main", "f"]
    assert upload.notes == ()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kinds", [("ranges",), ("returnpads",), tuple(ENDPOINTS)])
def test_a_debug_file_of_another_executable_is_refused(kinds: tuple[str, ...]) -> None:
    write_debug_file("other.debug", bytes(19) + b"\1")
    with pytest.raises(UuidMismatchError, match="app"):
        extract_upload("app", ID, "parts", debug_file="other.debug", kinds=kinds)
    assert list(Path("parts").iterdir()) == []


@pytest.mark.usefixtures("folder")
def test_debug_only_files_are_not_accepted_as_executables() -> None:
    Path("a.debug").write_bytes(elf.Elf([elf.code_section()]).to_bytes())
    write_debug_file("a.gsym")
    for name in ("a.debug", "a.gsym"):
        with pytest.raises(GsymError, match="no machine code"):
            extract_upload(name, ID, "parts")


@pytest.mark.usefixtures("folder")
def test_without_a_decoder_for_the_processor_there_are_only_ranges() -> None:
    write_program("app", machine=elf.RISCV)
    upload = extract_upload("app", ID, "parts")
    assert [part.kind for part in upload.parts] == ["ranges"]
    assert upload.notes[0].startswith("return pads left out: ")
    assert "riscv64" in upload.notes[0]


@pytest.mark.usefixtures("folder")
def test_the_number_of_parts_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert MOST_PARTS == 2**15 - 1
    monkeypatch.setattr(upload, "MOST_PARTS", 2)
    assert len(extract_upload("app", ID, "parts", part_size=1).parts) == 4
    monkeypatch.setattr(upload, "MOST_PARTS", 1)
    with pytest.raises(LimitError, match="2 parts of ranges exceed the limit of 1"):
        extract_upload("app", ID, "parts", part_size=1)


# ---- symbfiles that are there already


def write_symbfile(name: str, *records: Record) -> str:
    Path(name).write_bytes(b"".join(encode(records)))
    return name


@pytest.mark.usefixtures("folder")
def test_ready_symbfiles_are_parts_of_their_kind_in_order() -> None:
    paths = [
        write_symbfile("b", RANGE),
        write_symbfile("pads", PAD),
        write_symbfile("a", RANGE, RANGE),
    ]
    upload = ready_upload(paths, ID, "parts")
    found = [(p.path, p.kind, p.file_part, p.file_parts) for p in upload.parts]
    assert found == [
        ("b", "ranges", 0, 2),
        ("a", "ranges", 1, 2),
        ("pads", "returnpads", 0, 1),
    ]
    assert [part.size for part in upload.parts] == [
        Path(part.path).stat().st_size for part in upload.parts
    ]


@pytest.mark.usefixtures("folder")
def test_a_compressed_symbfile_is_sent_plain() -> None:
    plain = Path(write_symbfile("plain", RANGE)).read_bytes()
    Path("packed").write_bytes(zstd.compress(plain))
    (part,) = ready_upload(["packed"], ID, "parts").parts
    assert Path(part.path).read_bytes() == plain
    assert part.size == len(plain)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("records", "kind", "reason"),
    [
        ([RANGE, PAD], FormatError, "both: ranges and return pads in one file"),
        ([], EmptyError, "both: no records"),
    ],
)
def test_a_symbfile_of_no_kind_is_refused(
    records: list[Record], kind: type[GsymError], reason: str
) -> None:
    with pytest.raises(kind, match=reason):
        ready_upload([write_symbfile("both", *records)], ID, "parts")


@pytest.mark.usefixtures("folder")
def test_a_damaged_symbfile_is_refused_with_its_offset() -> None:
    whole = Path(write_symbfile("a", RANGE)).read_bytes()
    Path("cut").write_bytes(whole[:-1])
    with pytest.raises(FormatError, match="cut: offset"):
        ready_upload(["a", "cut"], ID, "parts")
