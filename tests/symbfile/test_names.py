"""gsym.symbfile.names: many names at once are written as each of them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.engine import demangling
from gsym.engine.native import ffi, lib, new_error, to_bytes
from gsym.symbfile.format import Encoder
from gsym.symbfile.names import STYLES, ImageNames, NameTexts, texts_of
from tests.creations import create

if TYPE_CHECKING:
    CData = Any  # a cffi object

LONGEST = "_Z1016" + "x" * 1016 + "v"  # 1023 bytes
DOUBLINGS = "_ZN" + "1AIS_S_E" * 40 + "E"  # stands for far more text than any limit
NAMES_OF_ALL_KINDS = (
    *("main", "_start", "__libc_start_main", "$x", "a.b", ".hidden", "_", "_Z"),
    *("_Z1fv", "_Z1fIiEvT_", "_ZlsIcERSoS0_RK1AIT_E", "_Z1fv.cold", "_Z1fv@plt"),
    *("_Z1fv.part.0", "__Z1fv", "_Zbroken", "_Z17hollow3foov", "_Z4foo@v"),
    "_ZN4core3fmt5Write17h40d2a72f9527ade5E",
    *("_RNvC7mycrate3foo", "_D3std5stdio4File5closeMFZv", "$s4main3fooyyF"),
    *(LONGEST, LONGEST + "v", LONGEST + "vv", DOUBLINGS, "_Z3f\udcffov", "\udcff"),
    *("_Z1h", "_Z7hv", "_Z17", "_Z17h", "_Z1fv@@V1", "_Z1fIXgtstT_Li4EEEvS0_"),
)


DEEP = "a<" + "(" * 254 + ")" * 254 + ">"
# Demangled names, and what is left of them without template arguments.
REDUCED = {
    "A<B<int>, C>::f<char>(D<int>)": "A::f(D)",
    "f(A<((1)<(2))>)": "f(A)",  # a comparison
    "f(A<(x)>, B)": "f(A, B)",
    "operator<< <int>(A<B>)": "operator<<(A)",
    "operator<<int>(A)": "operator<<int>(A)",
    "A::operator() <int>()": "A::operator()()",
    "A::operator()<int>()": "A::operator()()",
    "my_operator<int>(A)": "my_operator(A)",
    "operators<int>()": "operators()",
    "Zoperator<int>()": "Zoperator()",
    "9operator<int>()": "9operator()",
    "$operator<int>()": "$operator()",
    "operator9<int>()": "operator9()",
    "operator_<int>()": "operator_()",
    "operatorZ<int>()": "operatorZ()",
    "operator": "operator",
    "operator<=>(A<int>)": "operator<=>(A)",
    "operator->*(A<int>)": "operator->*(A)",
    "operator[](A<int>)": "operator[](A)",
    "operator new(A<int>)": "operator new(A)",
    "auto f()->A<int>": "auto f()->A",
    "(f)<int>": "(f)<int>",
    "<int>f": "<int>f",
    "f>": "f>",
    DEEP: "a",
    # Brackets that do not match: nothing is left out.
    "A<int": "A<int",
    "A<(int>": "A<(int>",
    "A<int>::f(": "A<int>::f(",
    "A<int>)": "A<int>)",
    "A<int)>": "A<int)>",
    "A<int>" + "(" * 257 + ")" * 257: "A<int>" + "(" * 257 + ")" * 257,
    "a" + "<" * 257 + ">" * 257: "a" + "<" * 257 + ">" * 257,
}


@pytest.mark.parametrize("name", REDUCED)
def test_template_arguments_are_left_out(name: str) -> None:
    out = ffi.new("char[]", len(name))
    size = lib.gsym_name_without_template_arguments(name.encode(), len(name), out)
    assert ffi.buffer(out, size)[:].decode() == REDUCED[name]


@pytest.mark.parametrize("style", ["symblib", "full", "mangled"])
def test_many_names_at_once_are_written_as_each_of_them(style: str) -> None:
    check_names(list(NAMES_OF_ALL_KINDS), style)


@pytest.mark.parametrize("style", ["symblib", "full"])
def test_without_a_runtime_names_are_written_as_they_are(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demangling, "_CXX_RUNTIMES", ("libno-such-runtime.so",))
    monkeypatch.setattr(demangling, "_cxx_runtime", demangling.CxxRuntime())
    monkeypatch.setattr(demangling, "_cache", demangling.Cache())
    check_names(list(NAMES_OF_ALL_KINDS), style)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "_Z", "_ZN", "_Z1f", "_Z1fI", "_", "$s", "_R", "."]),
            st.text(alphabet="_ZNSTIEKRPxv0123479h.@<>$AB", max_size=40),
        ),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(["symblib", "full"]),
)
def test_names_by_chance_are_written_as_each_of_them(
    names: list[tuple[str, str]], style: str
) -> None:
    check_names([front + tail or "f" for front, tail in names], style)


def check_names(names: list[str], style: str) -> None:
    """Of a file with functions of these names."""
    functions = [gsym.FunctionInfo(n + 1, 1, name) for n, name in enumerate(names)]
    reader = gsym.Reader(create(functions))
    image = reader.mapped.image
    strps = distinct_names(image, len(reader))
    texts = texts_of(image, style, strps, len(strps))
    size = ffi.new("size_t *")
    raw = [ffi.buffer(lib.gsym_image_string(image, n, size), size[0])[:] for n in strps]
    assert {to_bytes(name) for name in names} == set(raw)
    assert texts.split(b"\0") == [*map(STYLES[style], raw), b""]


def test_symbfiles_of_one_file_share_its_names() -> None:
    data = create([gsym.FunctionInfo(1, 1, "_Z1fv"), gsym.FunctionInfo(2, 1, "g")])
    texts = NameTexts("symblib")
    with gsym.Reader(data) as reader, gsym.Reader(data) as other:
        for each in (reader, reader, other):
            names = ImageNames(each, Encoder(), texts)
            assert len(strps_of(names.handle)) == 2
    assert texts.blocks == (b"f()\0g\0",)


def test_names_of_another_file_are_not_shared() -> None:
    short, long = (
        gsym.Reader(create([gsym.FunctionInfo(1, 1, name)])) for name in ("f", "longer")
    )
    known = ImageNames(long, Encoder(), NameTexts("full")).handle
    for reader, reason in ((short, b"another image"), (long, b"")):
        names = new_names(reader.mapped.image)
        error: CData = new_error()
        status = lib.gsym_symbfile_names_share(names, known, error)
        assert status == (lib.GSYM_E_ARGUMENT if reason else 0)
        assert reason in ffi.string(error.what)
    assert len(strps_of(names)) == 1
    assert lib.gsym_symbfile_names_share(names, known, error) == lib.GSYM_E_ARGUMENT
    assert b"have been listed" in ffi.string(error.what)


def distinct_names(image: CData, entries: int) -> CData:
    """The string offsets of all names that functions have."""
    names, error = new_names(image), new_error()
    assert lib.gsym_symbfile_names_collect(names, 0, entries, error) == 0
    return strps_of(names)


def new_names(image: CData) -> CData:
    place, error = ffi.new("gsym_symbfile_names **"), new_error()
    assert lib.gsym_symbfile_names_create(image, place, error) == 0
    return ffi.gc(place[0], lib.gsym_symbfile_names_destroy)


def strps_of(names: CData) -> CData:
    """The string offsets of the names that were collected."""
    error = new_error()
    count = ffi.new("uint64_t *")
    assert lib.gsym_symbfile_names_list(names, 0, ffi.NULL, 0, count, error) == 0
    strps = ffi.new("uint64_t[]", count[0])
    size = count[0]
    assert lib.gsym_symbfile_names_list(names, 0, strps, size, count, error) == 0
    return strps
