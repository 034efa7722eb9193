"""Source files kept behind a GSYM file, where other readers do not come."""

from __future__ import annotations

import json
import subprocess
import tracemalloc
import zlib
from contextlib import suppress
from struct import pack
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.main import main
from gsym.modules.key import ModuleKey
from gsym.modules.part import FILE_MULTIPLE, module_part
from gsym.reading.statistics import measure
from gsym.writing.source_part import (
    MAX_SOURCE,
    MAX_TEXT,
    SourceFiles,
    fitting_sources,
    make_source_part,
    merged_sources,
    sources_of,
    sources_of_reader,
)
from tests.hostile import small_file

if TYPE_CHECKING:
    from pathlib import Path

KEY = ModuleKey(debug_file="app", os="linux", architecture="x86_64")
TEXT = b"int main(void) {\n}\n" * 20
FILES = SourceFiles(
    {"/src/a.c": TEXT, "/copy/a.c": TEXT, "b.h": b"x"}, (("srcsrv", b"SRCSRV: end"),)
)
paths = st.text(st.characters(exclude_categories=()), max_size=20)
sources = st.builds(
    SourceFiles,
    st.dictionaries(paths, st.binary(max_size=2000)),
    st.lists(st.tuples(st.sampled_from(["sourcelink", "srcsrv"]), st.binary())).map(
        tuple
    ),
)


def appended(image: bytes, files: SourceFiles, key: ModuleKey | None = KEY) -> bytes:
    part = make_source_part(files, set(files.texts), len(image))
    return image + part + module_part(key, len(image) + len(part))


@given(sources, st.binary(max_size=1000), st.sampled_from([None, KEY]))
def test_what_was_written_is_read(
    files: SourceFiles, before: bytes, key: ModuleKey | None
) -> None:
    whole = appended(before, files, key)
    assert not files or len(whole) % FILE_MULTIPLE == 0
    read = sources_of(memoryview(whole))
    assert (dict(read.texts), read.links) == (files.texts, files.links)
    assert bool(read) == bool(files.texts or files.links)


def test_only_used_files_are_kept_and_equal_texts_once() -> None:
    whole = make_source_part(FILES, {"/src/a.c", "/copy/a.c"}, 0)
    assert [*sources_of(memoryview(whole)).texts] == ["/copy/a.c", "/src/a.c"]
    alone = make_source_part(FILES, {"/src/a.c"}, 0)
    assert len(whole) == len(alone) == FILE_MULTIPLE
    assert make_source_part(SourceFiles(FILES.texts), (), 0) == b""


def test_of_several_the_first_that_has_a_file_is_used() -> None:
    other = SourceFiles({"b.h": b"y", "c.h": b"z"}, (*FILES.links, ("srcsrv", b"")))
    merged = merged_sources([FILES, other])
    assert merged.texts == {**FILES.texts, "c.h": b"z"}
    assert merged.links == other.links


def test_large_files_are_kept_and_not_shown() -> None:
    files = SourceFiles(
        {"large": b"x" * (MAX_SOURCE + 1), "most": bytes(MAX_TEXT), "small": b"x"}
    )
    read = sources_of(memoryview(appended(b"", files)))
    assert read.text("large") is None
    assert len(read.texts["most"]) == MAX_TEXT
    assert read.text("small") == b"x"
    assert read.text("absent") is None


def test_one_text_may_have_many_paths() -> None:
    files = SourceFiles(dict.fromkeys("abcdefghijklmnop", bytes(MAX_TEXT)))
    read = sources_of(memoryview(appended(b"", files)))
    assert len(read.texts["p"]) == MAX_TEXT


def test_an_index_may_be_large() -> None:
    files = SourceFiles({f"/{'x' * 90}/{at}.c": b"" for at in range(9000)})
    read = sources_of(memoryview(appended(b"", files)))
    assert len(read.texts) == 9000


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_readers_answer_as_without_it(
    version: int, byteorder: str, llvm_gsymutil: str, tmp_path: Path
) -> None:
    plain = gsym.Reader(small_file(version, byteorder))
    whole = appended(small_file(version, byteorder), FILES)
    with gsym.Reader(whole) as reader:
        assert [*reader.functions()] == [*plain.functions()]
        assert reader.size - reader.module_part_size == plain.size + (
            reader.source_part_size
        )
        assert sources_of_reader(reader).text("/src/a.c") == TEXT
    if version == 1:
        for name, data in (("plain", small_file(1, byteorder)), ("whole", whole)):
            (tmp_path / name).write_bytes(data)
        command = [llvm_gsymutil, "--address=0x1004"]
        plain_answer, answer = (
            subprocess.check_output([*command, each], cwd=tmp_path)
            for each in ("plain", "whole")
        )
        assert plain_answer.replace(b"plain", b"whole") == answer


def test_an_index_is_used_and_the_part_survives_other_versions(
    clang: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = "".join(f"  if (x > {at}) x += f(x) * {at};\n" for at in range(200))
    text = f"extern int f(int);\nint large(int x) {{\n{calls}  return x;\n}}\n"
    (tmp_path / "a.c").write_text(text)
    options = ["-g", "-gdwarf-5", "-gembed-source", "-O1", "-c"]
    subprocess.run([clang, *options, "a.c"], cwd=tmp_path, check=True)
    first, second, third = (str(tmp_path / f"{each}.gsym") for each in "123")
    gsym.convert(tmp_path / "a.o", first, embedded_sources=True)
    gsym.convert(first, second, output_version=2)
    gsym.convert(second, third, output_version=1)
    assert (tmp_path / "1.gsym").read_bytes() == (tmp_path / "3.gsym").read_bytes()
    plain = str(tmp_path / "plain.gsym")
    gsym.convert(tmp_path / "a.o", plain)
    with gsym.open(plain) as without:
        for path in (first, second):
            with gsym.open(path) as reader:
                assert measure(reader).function_index
                assert [*reader.functions()] == [*without.functions()]
                (file,) = reader.files()
                assert sources_of_reader(reader).text(file) == text.encode()
            assert main(["verify", path]) == 0
    assert main(["merge", first, plain, "-o", str(tmp_path / "merged.gsym")]) == 0
    with gsym.open(tmp_path / "merged.gsym") as reader:
        assert [*sources_of_reader(reader).texts] == [file]
    capsys.readouterr()
    assert main(["stats", first]) == 0
    assert "\n  source files " in capsys.readouterr().out


def hostile(index: object, texts: bytes = b"", *, packed: bytes | None = None) -> bytes:
    data = zlib.compress(json.dumps(index).encode()) if packed is None else packed
    footer = pack("<QQ8sQ", len(texts), len(data), b"GSYMSRCS", len(texts + data) + 16)
    return texts + data + footer


BOMB = zlib.compress(b" " * (MAX_TEXT + 1))
DAMAGED = {
    "no index": hostile(None, packed=b""),
    "no JSON": hostile(None, packed=zlib.compress(b"{")),
    "deep JSON": hostile(None, packed=zlib.compress(b"[" * 100_000)),
    "no object": hostile([]),
    "no files": hostile({"links": []}),
    "no links": hostile({"files": {}}),
    "files of another type": hostile({"files": [1], "links": []}),
    "two numbers": hostile({"files": {"a": [0, 0]}, "links": []}),
    "text": hostile({"files": {"a": [0, "0", 0]}, "links": []}),
    "negative": hostile({"files": {"a": [-1, 1, 1]}, "links": []}),
    "too large": hostile({"files": {"a": [0, 1, MAX_TEXT + 1]}, "links": []}),
    "link outside": hostile({"files": {}, "links": [["srcsrv", 0, 9, 9]]}),
    "large index": hostile(None, packed=BOMB),
    "texts that share bytes": hostile(
        {"files": {"a": [0, 2, 2], "b": [1, 2, 2]}, "links": []}, b"abc"
    ),
    "one text of two sizes": hostile(
        {"files": {"a": [0, 2, 9], "b": [0, 2, 8]}, "links": []}, b"ab"
    ),
    "links too large together": hostile(
        {
            "files": {},
            "links": [["srcsrv", at, 1, MAX_TEXT // 2 + 1] for at in range(2)],
        },
        b"ab",
    ),
    "too large together": hostile(
        {"files": {key: [0, 1, MAX_TEXT] for key in "abcdefghijklmnopq"}, "links": []},
        b"a",
    ),
    "index outside": pack("<QQ8sQ", 1 << 60, 1 << 60, b"GSYMSRCS", 16),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_refused_and_reported(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = small_file(2, "little")
    with pytest.raises(gsym.FormatError, match="source file") as caught:
        sources_of(memoryview(image + DAMAGED[name]), "x.gsym")
    assert (caught.value.path, caught.value.offset) == ("x.gsym", len(image))
    (tmp_path / "x.gsym").write_bytes(image + DAMAGED[name])
    assert main(["verify", str(tmp_path / "x.gsym")]) == 1
    assert ": damaged " in capsys.readouterr().out
    assert main(["lookup", str(tmp_path / "x.gsym"), "0x1004"]) == 0


@pytest.mark.parametrize(
    "place",
    [
        [0, 10, 20],
        [0, 5, 5],
        [0, 4, 100],
        [4, 1, 2],
        [0, len(BOMB), 1 << 20],
        [0, len(BOMB), 0],
    ],
)
def test_a_damaged_text_is_refused(place: list[int]) -> None:
    texts = BOMB if place[1] == len(BOMB) else b"abcd"
    part = hostile({"files": {"a": place}, "links": []}, texts)
    with pytest.raises(gsym.FormatError, match="damaged source file"):
        sources_of(memoryview(part)).text("a")


def test_a_text_is_not_unpacked_beyond_its_size() -> None:
    bomb = zlib.compress(bytes(256 << 20))
    part = hostile({"files": {"a": [0, len(bomb), 0]}, "links": []}, bomb)
    texts = sources_of(memoryview(part)).texts
    tracemalloc.start()
    with pytest.raises(gsym.FormatError, match="more than 0 bytes"):
        _ = texts["a"]
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_texts_are_unpacked_one_after_another(tmp_path: Path) -> None:
    """The names of a large part, and texts that zlib makes very small."""
    files = {f"/{at}.c": bytes([at]) * (4 << 20) for at in range(20)}
    image = small_file(2, "little")
    paths = [tmp_path / "a.gsym", tmp_path / "b.gsym"]
    for path in paths:
        path.write_bytes(appended(image, SourceFiles(files)))
    files.clear()
    read = merged_sources(sources_of(memoryview(each.read_bytes())) for each in paths)
    tracemalloc.start()
    part = make_source_part(read, set(read.texts), 0)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
    assert len(sources_of(memoryview(part)).texts) == 20


def test_what_is_too_large_is_left_out_and_counted() -> None:
    large, half = bytes(MAX_TEXT + 1), bytes(MAX_TEXT // 2 + 1)
    links = [("srcsrv", half), ("sourcelink", half), ("sourcelink", b"x")]
    fitting = fitting_sources({"/large": large, "/a": b"a"}, links)
    assert fitting == ({"/a": b"a"}, (links[0], links[2]), 2)
    merged = merged_sources(
        [SourceFiles({}, (links[0],)), SourceFiles({}, (links[1],))]
    )
    assert (len(merged.links), merged.too_large) == (1, 1)


@given(st.data())
def test_no_changed_byte_crashes_the_reader(data: st.DataObject) -> None:
    whole = bytearray(appended(b"", FILES, None))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    with suppress(gsym.FormatError):
        files = sources_of(memoryview(whole))
        assert max(map(len, files.texts.values()), default=0) <= len(TEXT)
