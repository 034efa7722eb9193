"""The input of a conversion is a path, bytes or a binary file object."""

from __future__ import annotations

import io
import mmap
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.engine.native import ffi
from tests.companions import ID, ID_PATH, debug_file, place, stripped
from tests.inputs.pdb_scaled import pdb_modules
from tests.inputs.scaled import functions_of_a_unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.conversion.input_file import Input

DEBUG = debug_file(ID)
BREAKPAD = b"MODULE Linux x86_64 0 app\nFUNC 1000 10 0 f\n1000 10 3 0\nFILE 0 a.c\n"


@pytest.mark.parametrize(
    "given",
    [bytes, bytearray, memoryview, io.BytesIO],
    ids=lambda given: given.__name__,
)
@pytest.mark.parametrize("content", [DEBUG, BREAKPAD], ids=["ELF", "Breakpad"])
def test_bytes_and_file_objects_give_the_file_that_a_path_gives(
    given: Callable[[bytes], Input], content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "app").write_bytes(content)
    gsym.convert(tmp_path / "app", tmp_path / "1")
    report = gsym.convert(given(content), tmp_path / "2")
    assert report.input == "<input>"
    with gsym.open(tmp_path / "1") as one, gsym.open(tmp_path / "2") as two:
        assert one.module is not None
        assert two.module is not None
        assert one.module.debug_file == "app"
        # Bytes have no name, unless they contain it.
        name = "app" if content is BREAKPAD else ""
        assert two.module == one.module._replace(debug_file=name)
    for number in "12":
        gsym.convert(tmp_path / number, tmp_path / f"{number}.plain", identity=False)
    plain = [(tmp_path / f"{number}.plain").read_bytes() for number in "12"]
    assert plain[0] == plain[1]


def test_a_gsym_file_in_memory_is_converted(tmp_path: Path) -> None:
    gsym.convert(DEBUG, tmp_path / "1")
    gsym.convert((tmp_path / "1").read_bytes(), tmp_path / "2", output_version=2)
    with gsym.open(tmp_path / "2") as reader:
        assert reader.header.version == 2


def test_a_file_object_is_read_from_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "padded"
    path.write_bytes(b"junk" + DEBUG)
    with path.open("rb") as file:
        file.seek(4)
        report = gsym.convert(file, tmp_path / "out")
    assert report.input == str(path)
    assert report.functions


def test_the_name_is_that_of_messages_and_the_report(tmp_path: Path) -> None:
    report = gsym.convert(DEBUG, tmp_path / "out", name="lib/app.debug")
    assert report.input == "lib/app.debug"
    with pytest.raises(gsym.FormatError, match=r"^lib/app: offset 0x0: neither"):
        gsym.convert(b"junk", tmp_path / "out", name=Path("lib/app"))
    with pytest.raises(gsym.FormatError, match=r"^<input>: offset 0x0: the file is"):
        gsym.convert(b"", tmp_path / "out")


def test_companions_are_searched_for_beside_the_name(tmp_path: Path) -> None:
    place(tmp_path / "lib" / ID_PATH, DEBUG)
    report = gsym.convert(
        stripped(build_id=ID),
        tmp_path / "out",
        name=tmp_path / "app",
        debug_file_directories=[str(tmp_path / "lib")],
    )
    assert report.companions == (str(tmp_path / "lib" / ID_PATH),)


def test_an_output_is_needed_where_there_is_no_path() -> None:
    with pytest.raises(ValueError, match="output: an input that is not a path needs"):
        gsym.convert(DEBUG, name="app")


def test_a_path_has_no_other_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name: only for bytes and file objects"):
        gsym.convert(place(tmp_path / "app", DEBUG), name="other")


def test_a_text_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="not binary: open it with mode 'rb'"):
        gsym.convert(io.StringIO("MODULE"), tmp_path / "out")  # type: ignore[arg-type]


def test_without_a_file_nothing_is_known_to_be_unchanged(tmp_path: Path) -> None:
    first = gsym.convert(DEBUG, tmp_path / "out", if_changed=True)
    second = gsym.convert(stripped(build_id=ID), tmp_path / "out", if_changed=True)
    assert first.functions_debug_info
    assert not second.functions_debug_info


def private_map(content: bytes) -> memoryview:
    """A private map of an empty file, in which *content* was written."""
    with tempfile.TemporaryFile() as file:
        file.truncate(len(content))
        data = mmap.mmap(file.fileno(), len(content), access=mmap.ACCESS_COPY)
    data[:] = content
    return memoryview(data)


def buffer_of_cffi(content: bytes) -> object:
    return ffi.buffer(ffi.new("char[]", content), len(content))


@pytest.mark.parametrize("given", [bytes, bytearray, private_map, buffer_of_cffi])
@pytest.mark.parametrize("content", [functions_of_a_unit(2000), pdb_modules(200)])
def test_a_conversion_leaves_the_bytes_of_its_caller_alone(
    given: Callable[[bytes], Input], content: bytes, tmp_path: Path
) -> None:
    data = given(bytes(bytearray(content)))  # a copy
    gsym.convert(data, tmp_path / "1")
    assert bytes(data) == content  # type: ignore[arg-type]
