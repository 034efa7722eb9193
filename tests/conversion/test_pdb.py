"""PDB files become GSYM files: functions, lines, inlined calls, names, publics."""

from __future__ import annotations

import os
from dataclasses import replace
from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.conversion.report import LIMIT_REACHED
from tests.inputs.encoding import cstring
from tests.inputs.pdb import (
    CHAR,
    CODE,
    CXX,
    FASTLINK,
    FIRST_TYPE,
    GUID,
    HAS_IDS,
    IMPORTS,
    INT,
    LF_ALIAS,
    LF_ARGLIST,
    LF_ARRAY,
    LF_ENUM,
    LF_MODIFIER,
    LF_POINTER,
    LF_STRUCTURE,
    LF_UNION,
    S_BLOCK32_ST,
    S_GMANPROC,
    S_GPROC32,
    S_GPROC32_ST,
    S_LMANPROC,
    S_LPROC32_ST,
    S_PUB32_ST,
    S_SEPCODE,
    S_THUNK32,
    S_THUNK32_ST,
    TEXT,
    C,
    Function,
    Inline,
    Module,
    Pdb,
    argument_list,
    function_id,
    msf,
    old_lines,
    procedure_type,
    record,
    sized,
    subsection,
)
from tests.inputs.pdb_examples import (
    END,
    IDS,
    INLINEES,
    LENGTH,
    OFFSET,
    OLD_PLACE,
    PDBS,
    REFERENCE as IMPORTED,
    TYPES,
)
from tests.inputs.pe import CODEVIEW, Pe, Section as PeSection, codeview
from tests.referee import opening

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

A, B = r"C:\src\a.cpp", r"C:\src\b.h"
S_LABEL32 = 0x1105


@pytest.fixture
def convert(tmp_path: Path) -> Convert:
    return Convert(tmp_path)


class Convert:
    """Converts a PDB and keeps its report."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report: gsym.ConversionReport

    def __call__(self, pdb: Pdb | bytes, threads: int = 1) -> gsym.Reader:
        data = pdb if isinstance(pdb, bytes) else pdb.to_bytes()
        output = self.folder / "made.gsym"
        self.report = gsym.convert(data, output, name="made.pdb", threads=threads)
        return gsym.open(output)


def names(reader: gsym.Reader) -> list[str]:
    with reader:
        return [each.name for each in reader.functions()]


def frames(reader: gsym.Reader, address: int) -> list[tuple[str, str, int]]:
    answer = reader.lookup(address)
    assert answer is not None
    return [(each.name, each.path, each.line) for each in answer.frames]


# ---- functions and lines -------------------------------------------------------


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("page_size", [512, 4096])
def test_functions_have_lines_and_inlined_calls(
    convert: Convert, page_size: int, *, scattered: bool
) -> None:
    pdb = replace(PDBS["functions"], page_size=page_size, scattered=scattered)
    with convert(pdb) as reader:
        f = ("N::f(int, char)", A)
        outer, inner = ("outer(int, char)", B), ("N::inner(int, char)", B)
        assert frames(reader, 0x1000) == [(*f, 10)]
        assert frames(reader, 0x1010) == [(*outer, 20), (*f, 11)]
        assert frames(reader, 0x1014) == [(*inner, 6), (*outer, 22), (*f, 11)]
        assert frames(reader, 0x101C) == [(*outer, 22), (*f, 11)]
        assert frames(reader, 0x1028) == [(*f, 12)]
    assert convert.report.warnings == {}
    assert convert.report.architecture == "x86_64"
    assert convert.report.build_id == GUID


def test_a_site_that_is_called_from_two_lines_becomes_two_calls(
    convert: Convert,
) -> None:
    site = Inline(0x1001, bytes([OFFSET, 8, LENGTH, 16]))
    function = Function("f", 0, 32, [(0, 1), (16, 2)], [site])
    with convert(Pdb([Module([function], inlinees=INLINEES)], ids=IDS)) as reader:
        lines = [frames(reader, 0x1000 + at)[-1][2] for at in (8, 15, 16, 23, 24)]
        assert lines == [1, 1, 2, 2, 2]
        assert [len(frames(reader, 0x1000 + at)) for at in (7, 8, 23, 24)] == [
            1,
            2,
            2,
            1,
        ]


def test_lines_that_debuggers_skip_are_those_of_the_line_before(
    convert: Convert,
) -> None:
    lines = [(0, 7), (8, 0xFEEFEE), (16, 9), (24, 0xF00F00)]
    with convert(Pdb([Module([Function("f", 0, 32, lines)])])) as reader:
        found = [frames(reader, 0x1000 + at)[0][2] for at in (0, 8, 16, 24)]
        assert found == [7, 7, 9, 9]


def test_code_apart_from_its_function_has_the_same_name(convert: Convert) -> None:
    with convert(PDBS["functions"]) as reader:
        assert frames(reader, 0x1300) == [("N::f(int, char)", "", 0)]


def test_publics_name_code_that_no_module_describes(convert: Convert) -> None:
    with convert(PDBS["functions"]) as reader:
        assert frames(reader, 0x1180) == [("?g@@YAXXZ", "", 0)]
        assert frames(reader, 0x1200) == [("thunk", "", 0)]
        assert frames(reader, 0x1082) == [("plain", A, 3)]


@pytest.mark.parametrize(("flags", "count"), [(0x20000020, 2), (0x40000041, 1)])
def test_publics_name_code_only(flags: int, count: int, convert: Convert) -> None:
    publics = [("f", 1, 0), ("g", 2, 0)]
    sections = ((TEXT, 0x1000, CODE), (0x2000, 0x100, flags))
    assert len(names(convert(Pdb(publics=publics, sections=sections)))) == count


def test_publics_have_the_lines_of_assemblers(convert: Convert) -> None:
    """NASM and yasm write lines, and symbols of global labels alone."""
    assembly = [
        Function("", 0x20, 0x20, [(0, 5), (8, 6), (0x10, 9)], kind=S_LABEL32),
        Function("", 0x80, 0x10, [(0, 20)], kind=S_LABEL32),
    ]
    both = Function("", 0, 0x18, [(0, 1), (0x10, 3)], kind=S_LABEL32)
    functions = [Function("f", 0, 0x10), both, *assembly]
    publics = [("e", 1, 0x10), ("g", 1, 0x20), ("h", 1, 0x30), ("k", 1, 0x60)]
    with convert(Pdb([Module(functions)], publics=publics)) as reader:
        found = {
            at: frames(reader, 0x1000 + at) for at in (0, 0x10, 0x28, 0x30, 0x68, 0x80)
        }
    assert found == {
        0: [("f", A, 1)],
        0x10: [("e", A, 3)],
        0x28: [("g", A, 6)],
        0x30: [("h", A, 9)],
        0x68: [("k", "", 0)],
        0x80: [("k", A, 20)],
    }


def test_a_stripped_pdb_has_its_publics(convert: Convert) -> None:
    publics = [("?g@@YAXXZ", 1, 0x100), ("h", 1, 0)]
    assert names(convert(Pdb(publics=publics))) == ["h", "?g@@YAXXZ"]


def test_moved_code_is_found_where_it_was_moved_to(convert: Convert) -> None:
    with convert(PDBS["moved"]) as reader:
        assert frames(reader, 0x5000)[-1] == ("N::f(int, char)", A, 10)
        assert frames(reader, 0x6010) == [("moved", "", 0)]
        assert reader.lookup(0x1000) is None


@pytest.mark.parametrize("before", [0, 1, 2])
def test_ids_of_other_modules_are_resolved(before: int, convert: Convert) -> None:
    """A reference counts the modules that the list of imports names."""
    pdb = PDBS["imports"]
    exporter, importer, last = pdb.modules
    reference = IMPORTED | before << 20
    call = Inline(reference, bytes([OFFSET, 8, LENGTH, 8]))
    others = pack("<IIII", 0, 2, 7, 8) * before
    importer = replace(
        importer,
        functions=[Function("f", 0, 32, [(0, 1)], [call])],
        inlinees=[(reference, "a.obj", 5)],
        subsections=subsection(IMPORTS, others + pack("<III", 14, 1, IMPORTED | 1)),
    )
    with convert(replace(pdb, modules=[exporter, importer, last])) as reader:
        assert frames(reader, 0x1008)[0][0] == "N::inner(int, char)"
    assert convert.report.warnings == {}


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_file_does_not_depend_on_the_number_of_threads(
    convert: Convert, threads: int
) -> None:
    modules = [
        Module([Function(f"f{i}", 16 * i, 16, [(0, i + 1)], file=f"{i % 7}.c")])
        for i in range(64)
    ]
    pdb = Pdb(modules).to_bytes()
    with convert(pdb, threads=1) as reader:
        expected = list(reader.functions())
    with convert(pdb, threads=threads) as reader:
        assert list(reader.functions()) == expected


@pytest.mark.parametrize("threads", [1, 2])
def test_an_id_of_c_and_of_cxx_is_named_for_each(
    convert: Convert, threads: int
) -> None:
    site = Inline(0x1001, bytes([OFFSET, 0, LENGTH, 8]))
    modules = [
        Module(
            [Function("f", 16 * at, 16, [(0, 1)], [site])],
            name=f"{at}.obj",
            inlinees=INLINEES,
            language=(C, CXX)[at % 2],
        )
        for at in range(8)
    ]
    with convert(Pdb(modules, types=TYPES, ids=IDS), threads) as reader:
        found = [frames(reader, 0x1000 + 16 * at)[0][0] for at in range(8)]
    assert found == ["N::inner", "N::inner(int, char)"] * 4


# ---- other ages ------------------------------------------------------------------

VC60, VC110 = 19970606, 20091201


def test_before_visual_studio_2012_a_stream_has_no_ids(convert: Convert) -> None:
    """That of this number may be any other; the list of features says what it is."""
    streams = replace(PDBS["functions"], features=()).streams()
    link = b"J\0\0\0\2\0\0\0\x18\0\0\0C:\\src\0link.exe /DEBUG /INCREMENTAL\0"
    with convert(msf([*streams[:4], link, *streams[5:]])) as reader:
        assert frames(reader, 0x1000) == [("N::f(int, char)", A, 10)]
        assert len(frames(reader, 0x1014)) == 3
        assert [name for name, _, _ in frames(reader, 0x1014)[:2]] == ["", ""]


@pytest.mark.parametrize("features", [(VC110,), (0x4D544F4E, HAS_IDS)])
def test_a_feature_says_that_there_are_ids(
    convert: Convert, features: tuple[int, ...]
) -> None:
    with convert(replace(PDBS["functions"], features=features)) as reader:
        assert frames(reader, 0x1014)[0][0] == "N::inner(int, char)"


@pytest.mark.parametrize("version", [VC60, 20091201])
def test_versions_of_dbi_that_are_alike_are_read(
    convert: Convert, version: int
) -> None:
    assert names(convert(replace(ONE, dbi_version=version))) == ["f"]


@pytest.mark.parametrize("version", [930803, 19960307])
def test_an_older_version_of_dbi_is_named(convert: Convert, version: int) -> None:
    with pytest.raises(gsym.UnsupportedError, match=rf"of version {version}, of befo"):
        convert(replace(ONE, dbi_version=version))


def test_symbols_whose_names_begin_with_their_size_are_read(convert: Convert) -> None:
    place = OLD_PLACE
    thunk = pack("<IIIIHHB", 0, 0, 0, 0x40, 1, 6, 0)
    block = record(S_BLOCK32_ST, bytes(12))
    symbols = [
        *(sized(S_GPROC32_ST, place, "global"), block, END, END),
        *(sized(S_LPROC32_ST, place.replace(b"\x20", b"\x30"), "local"), END),
        *(sized(S_THUNK32_ST, thunk, "thunk"), END),
    ]
    public = sized(S_PUB32_ST, pack("<IIH", 2, 0x80, 1), "public")
    pdb = Pdb([Module(symbols=b"".join(symbols))], symbol_records=public)
    with convert(pdb) as reader:
        found = [(each.start, each.name) for each in reader.functions()]
    assert found == [
        (0x1020, "global"),
        (0x1030, "local"),
        (0x1040, "thunk"),
        (0x1080, "public"),
    ]
    assert convert.report.warnings == {}


# f has lines of two files, as of an #include; the last row is not of its range.
OLD = [
    Function("f", 0, 32, [(0, 10), (16, 12), (40, 99)]),
    Function("g", 64, 16, [(0, 65535)]),
    Function("part of f", 8, 8, [(0, 3)], file=B),
]


def test_lines_of_before_2005_are_read(convert: Convert) -> None:
    pdb = Pdb([Module(OLD[:2], is_old=True)])
    lines = old_lines(OLD)
    streams = pdb.streams()
    sizes = len(old_lines(OLD[:2]))
    at = streams[10].index(old_lines(OLD[:2]))
    streams[10] = streams[10][:at] + lines + streams[10][at + sizes :]
    streams[3] = streams[3].replace(pack("<I", sizes), pack("<I", len(lines)), 1)
    with convert(msf(streams)) as reader:
        found = {at: frames(reader, 0x1000 + at) for at in (0, 8, 15, 16, 31, 64, 79)}
    assert found == {
        **{at: [("f", A, 10)] for at in (0,)},
        **{at: [("f", B, 3)] for at in (8, 15)},
        **{at: [("f", A, 12)] for at in (16, 31)},
        **{at: [("g", A, 65535)] for at in (64, 79)},
    }
    assert convert.report.warnings == {}


@pytest.mark.hostile
def test_lines_of_before_2005_are_not_shared(convert: Convert) -> None:
    """Each of very many files names the same table, which has very many lines."""
    count = 60_000
    file = pack("<HHIII", 1, 0, 0, 0, 0xFFF) + b"a.c\0"
    at = 4 + 4 * 2000
    table_at = at + 2000 * len(file)
    files = b"".join(
        pack("<HHIII", 1, 0, table_at, 0, 0xFFF) + b"a.c\0" for _ in range(2000)
    )
    starts = b"".join(pack("<I", at + each * len(file)) for each in range(2000))
    table = pack("<HH", 1, count) + bytes(4 * count) + bytes(2 * count)
    lines = pack("<HH", 2000, 0) + starts + files + table
    pdb = replace(ONE, modules=[Module(ONE.modules[0].functions, is_old=True)])
    streams = replace(pdb, page_size=4096).streams()
    old = old_lines(pdb.modules[0].functions)
    streams[10] = streams[10].replace(old, lines)
    streams[3] = streams[3].replace(pack("<I", len(old)), pack("<I", len(lines)), 1)
    path = convert.folder / "made.pdb"
    path.write_bytes(msf(streams, 4096))
    assert names(convert(path.read_bytes())) == ["f"]
    assert convert.report.warnings == {"Damaged lines in a PDB module": 1}
    with pytest.raises(gsym.FormatError, match="share their bytes"):
        opening.compare(convert.report.outputs[0], str(path))


# ---- .NET ------------------------------------------------------------------------


def managed(kind: int, name: str) -> bytes:
    place = pack("<IIIIIIIIHBH", 0, 0, 0, 16, 0, 0, 0x6000001, 0x80, 1, 0, 0)
    return record(kind, place + cstring(name)) + END


@pytest.mark.parametrize("machine", [0, 0x14C])
@pytest.mark.parametrize("kind", [S_GMANPROC, S_LMANPROC])
def test_a_pdb_of_dotnet_alone_is_refused_as_such(
    convert: Convert, kind: int, machine: int
) -> None:
    pdb = Pdb(
        [Module(symbols=managed(kind, "Main"))],
        publics=[("Main", 1, 0)],
        public_flags=8,  # fMSIL
        machine=machine,
        features=(),
    )
    with pytest.raises(gsym.UnsupportedError, match=r"of \.NET code alone") as caught:
        convert(pdb)
    assert caught.value.path == "made.pdb"


def test_functions_of_dotnet_between_others_are_counted(convert: Convert) -> None:
    """A program of C++/CLI has both."""
    symbols = managed(S_GMANPROC, "h") + managed(S_LMANPROC, "i")
    module = replace(ONE.modules[0], symbols=symbols)
    assert names(convert(replace(ONE, modules=[module]))) == ["f"]
    assert convert.report.warnings == {"Function of .NET code, which has no address": 2}


# ---- names -----------------------------------------------------------------------


def test_a_member_function_that_changes_nothing_is_const(convert: Convert) -> None:
    assert names(convert(PDBS["members"])) == [
        "N::S::get() const",
        "`x'::`anonymous namespace'::y",
    ]


@pytest.mark.parametrize(("modifier", "end"), [(2, ""), (3, " const")])
def test_a_volatile_member_function_is_const_if_it_says_so(
    modifier: int, end: str, convert: Convert
) -> None:
    types = list(TYPES)
    types[3] = record(LF_MODIFIER, pack("<IH", FIRST_TYPE + 2, modifier))
    pdb = replace(PDBS["members"], types=types)
    assert names(convert(pdb))[0] == f"N::S::get(){end}"


def test_functions_of_c_have_no_parameters_in_their_names(convert: Convert) -> None:
    function = Function("f", 0, 16, type=0x1001)
    assert names(convert(Pdb([Module([function], language=C)], types=TYPES))) == ["f"]


POINTER, REFERENCE, MOVED, CONST_POINTER = 0x1000C, 0x1002C, 0x1008C, 0x1040C
SPELLED = {
    "char *": [record(LF_POINTER, pack("<II", CHAR, POINTER))],
    "char &": [record(LF_POINTER, pack("<II", CHAR, REFERENCE))],
    "char &&": [record(LF_POINTER, pack("<II", CHAR, MOVED))],
    "char *const": [record(LF_POINTER, pack("<II", CHAR, CONST_POINTER))],
    "char **": [
        record(LF_POINTER, pack("<II", CHAR, POINTER)),
        record(LF_POINTER, pack("<II", FIRST_TYPE, POINTER)),
    ],
    "int (*)(char)": [
        argument_list(CHAR),
        procedure_type(FIRST_TYPE, INT),
        record(LF_POINTER, pack("<II", FIRST_TYPE + 1, POINTER)),
    ],
    "char": [record(LF_MODIFIER, pack("<IH", CHAR, 1))],
    "char *, ...": [
        record(LF_POINTER, pack("<II", CHAR, POINTER)),
    ],
    "char *volatile": [record(LF_POINTER, pack("<II", CHAR, POINTER | 0x200))],
    "char *const volatile": [record(LF_POINTER, pack("<II", CHAR, POINTER | 0x600))],
    "char const volatile *": [
        record(LF_MODIFIER, pack("<IH", CHAR, 3)),
        record(LF_POINTER, pack("<II", FIRST_TYPE, POINTER)),
    ],
    "char (*)[]": [
        record(LF_ARRAY, pack("<IIH", CHAR, INT, 8) + cstring("")),
        record(LF_POINTER, pack("<II", FIRST_TYPE, POINTER)),
    ],
    "int S::*": [
        record(LF_STRUCTURE, pack("<HHIIIH", 0, 0, 0, 0, 0, 8) + cstring("S")),
        record(LF_POINTER, pack("<III", INT, POINTER | 2 << 5, FIRST_TYPE)),
    ],
    "int (S::*)(char)": [
        record(LF_STRUCTURE, pack("<HHIIIH", 0, 0, 0, 0, 0, 8) + cstring("S")),
        argument_list(CHAR),
        procedure_type(FIRST_TYPE + 1, INT),
        record(LF_POINTER, pack("<III", FIRST_TYPE + 2, POINTER | 3 << 5, FIRST_TYPE)),
    ],
    "U": [record(LF_UNION, pack("<HHIH", 0, 0, 0, 8) + cstring("U"))],
    "E": [record(LF_ENUM, pack("<HHII", 0, 0, INT, 0) + cstring("E"))],
    "Alias": [record(LF_ALIAS, pack("<I", INT) + cstring("Alias"))],
    "?": [record(0x1234, bytes(8))],
}
# Sizes of the numbers that begin with 0x8000, 0x8001 and so on.
NUMBERS = (1, 2, 2, 4, 4, 4, 8, 10, 16, 8, 8)
SPELLED |= {
    f"Sized{kind}": [
        record(
            LF_UNION,
            pack("<HHIH", 0, 0, 0, 0x8000 + kind)
            + bytes(size)
            + cstring(f"Sized{kind}"),
        )
    ]
    for kind, size in enumerate(NUMBERS)
}


@pytest.mark.parametrize("text", SPELLED)
def test_types_are_spelled_as_in_cxx(convert: Convert, text: str) -> None:
    types = SPELLED[text]
    last = FIRST_TYPE + len(types) - 1
    listed = argument_list(last, 0) if text.endswith("...") else argument_list(last)
    types = [*types, listed, procedure_type(last + 1)]
    function = Function("f", 0, 16, type=last + 2)
    assert names(convert(Pdb([Module([function])], types=types))) == [f"f({text})"]


BASIC_TYPES = {
    "void": [0x03],
    "HRESULT": [0x08],
    "signed char": [0x10],
    "unsigned char": [0x20],
    "char": [0x70],
    "wchar_t": [0x71],
    "char16_t": [0x7A],
    "char32_t": [0x7B],
    "char8_t": [0x7C],
    "__int8": [0x68],
    "unsigned __int8": [0x69],
    "short": [0x11, 0x72],
    "unsigned short": [0x21, 0x73],
    "long": [0x12],
    "unsigned long": [0x22],
    "int": [0x74],
    "unsigned int": [0x75],
    "__int64": [0x13, 0x76],
    "unsigned __int64": [0x23, 0x77],
    "__int128": [0x14, 0x78],
    "unsigned __int128": [0x24, 0x79],
    "_Float16": [0x46],
    "float": [0x40],
    "double": [0x41, 0x42],
    "__float128": [0x43],
    "bool": [0x30],
    "std::nullptr_t": [0x103],
    "void *": [0x403],  # of 32 bits
    "char *": [0x670],  # of 64 bits
}


def test_basic_types_have_their_names(convert: Convert) -> None:
    named = {code: name for name, codes in BASIC_TYPES.items() for code in codes}
    named |= {code: "?" for code in range(1, 0x100) if code not in named}
    types: list[bytes] = []
    for code in named:
        types += [argument_list(code), procedure_type(FIRST_TYPE + len(types))]
    functions = [
        Function("f", 8 * number, 8, type=FIRST_TYPE + 2 * number + 1)
        for number in range(len(named))
    ]
    made = names(convert(Pdb([Module(functions)], types=types)))
    assert made == [f"f({name})" for name in named.values()]


# ---- images ----------------------------------------------------------------------


def image(path: str, age: int = 1) -> bytes:
    section = PeSection(".text", bytes(0x1000), 0x1000, 0x60000020)
    record = codeview(GUID, age, path)
    made = Pe([section], image_base=0x140000000, debug=[(CODEVIEW, record)])
    return made.to_bytes()


ONE = Pdb([Module([Function("f", 0, 16, [(0, 5)])])])
PLACES = {
    "beside it": "app.pdb",
    "under the name of the image": "other.pdb",
    "in a folder": "debug/app.pdb",
    "in a symbol store": "debug/app.pdb/030201000504070608090A0B0C0D0E0F1/app.pdb",
}


@pytest.mark.parametrize("place", PLACES)
def test_an_image_finds_its_pdb(tmp_path: Path, place: str) -> None:
    program = tmp_path / "other.exe"
    program.write_bytes(image(r"D:\build\app.pdb"))
    path = tmp_path / PLACES[place]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ONE.to_bytes())
    report = gsym.convert(program, debug_file_directories=[str(tmp_path / "debug")])
    assert report.companions == (str(path),)
    with gsym.open(report.outputs[0]) as reader:
        assert frames(reader, 0x140001004) == [("f", A, 5)]
        assert reader.header.base_address == 0x140000000


@pytest.mark.parametrize(
    "pdb", [replace(ONE, age=2), replace(ONE, guid=b"\1" * 16)], ids=["age", "guid"]
)
def test_the_pdb_of_another_build_is_not_taken(tmp_path: Path, pdb: Pdb) -> None:
    program = tmp_path / "app.exe"
    program.write_bytes(image("app.pdb"))
    (tmp_path / "app.pdb").write_bytes(pdb.to_bytes())
    with pytest.raises(gsym.EmptyError, match=r"app\.pdb: is of another build"):
        gsym.convert(program)


def test_lookup_in_an_image_answers_from_its_pdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    program = tmp_path / "app.exe"
    program.write_bytes(image("app.pdb"))
    (tmp_path / "app.pdb").write_bytes(ONE.to_bytes())
    answer = gsym.lookup(program, 0x140001004)
    assert answer is not None
    assert str(answer).endswith(f"f + 4 at {A}:5")


def test_lookups_in_a_pdb_are_answered_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "app.pdb"
    for line in (5, 6):
        path.write_bytes(Pdb([Module([Function("f", 0, 16, [(0, line)])])]).to_bytes())
        os.utime(path, ns=(line, line))
        for _ in range(2):
            assert str(gsym.lookup(path, 0x1004)).endswith(f"f + 4 at {A}:{line}")
    assert len(list(tmp_path.rglob("cache/**/*.gsym"))) == 2


def test_addresses_of_a_pdb_count_from_the_image(tmp_path: Path) -> None:
    path = tmp_path / "app.pdb"
    path.write_bytes(ONE.to_bytes())
    with gsym.open(gsym.convert(path).outputs[0]) as reader:
        assert reader.header.base_address == 0
        assert frames(reader, 0x1004) == [("f", A, 5)]


def test_a_pdb_identifies_its_module(tmp_path: Path) -> None:
    path = tmp_path / "app.pdb"
    path.write_bytes(replace(ONE, age=0x2A).to_bytes())
    found = gsym.identify(path)
    assert found.debug_id == "030201000504070608090A0B0C0D0E0F2a"
    assert (found.os, found.architecture) == ("windows", "x86_64")
    assert (found.debug_file, found.code_file) == ("app.pdb", "")


def test_a_jump_of_an_incremental_link_has_the_name_of_its_target(
    convert: Convert,
) -> None:
    with convert(PDBS["trampolines"]) as reader:
        found = [(each.start, each.size, each.name) for each in reader.functions()]
    assert found == [
        (0x1000, 5, "first"),
        (0x1005, 5, "?f@@YAXXZ"),
        (0x100A, 5, "gone"),
        (0x1040, 16, "f"),
        (0x1060, 0xFA0, "gone"),
    ]


# ---- refusals ----------------------------------------------------------------------


def test_fastlink_is_refused_with_advice(convert: Convert) -> None:
    with pytest.raises(gsym.UnsupportedError, match=r"FASTLINK: .* /DEBUG:FULL"):
        convert(replace(ONE, features=[FASTLINK]))


def test_the_number_of_a_name_is_not_a_feature(convert: Convert) -> None:
    assert names(convert(replace(ONE, next_name=FASTLINK))) == names(convert(ONE))


@pytest.mark.parametrize("scattered", [False, True])
def test_damage_is_named_by_its_offset_in_the_file(
    convert: Convert, *, scattered: bool
) -> None:
    pdb = replace(ONE, omap=((0x2000, 1), (0x1000, 1)), scattered=scattered)
    offset = pdb.to_bytes().index(pack("<II", *pdb.omap[0]))
    with pytest.raises(gsym.FormatError, match="omap") as refused:
        convert(pdb)
    assert refused.value.offset == offset


def test_a_pdb_of_types_alone_is_refused(convert: Convert) -> None:
    streams = ONE.streams()
    streams[3] = b""
    with pytest.raises(gsym.UnsupportedError, match="types alone"):
        convert(msf(streams))


TYPE_STREAMS = [2, 4]


@pytest.mark.parametrize("stream", TYPE_STREAMS)
def test_a_stream_of_types_may_be_empty(convert: Convert, stream: int) -> None:
    streams = ONE.streams()
    streams[stream] = b""
    assert names(convert(msf(streams))) == names(convert(ONE))


@pytest.mark.parametrize("stream", TYPE_STREAMS)
@pytest.mark.parametrize("limits", [(0x0FFF, 0x1000), (0x1001, 0x1000)])
def test_an_impossible_range_of_types_is_refused(
    convert: Convert, stream: int, limits: tuple[int, int]
) -> None:
    streams = ONE.streams()
    streams[stream] = streams[stream][:8] + pack("<II", *limits)
    with pytest.raises(gsym.FormatError, match=f"types in stream {stream} is damaged"):
        convert(msf(streams))


def test_streams_that_share_a_page_are_refused(convert: Convert) -> None:
    data = bytearray(ONE.to_bytes())
    streams = ONE.streams()
    directory = data.rindex(pack("<II", len(streams), 0))
    pages = directory + 4 + 4 * len(streams)
    data[pages : pages + 4] = data[pages + 4 : pages + 8]
    with pytest.raises(gsym.FormatError, match="page 4 of stream 2 is also") as caught:
        convert(bytes(data))
    assert caught.value.offset == 4 * 512


@pytest.mark.parametrize("size", [0, 3, 100, 1000, 1 << 17])
def test_impossible_page_sizes_are_refused(convert: Convert, size: int) -> None:
    data = bytearray(ONE.to_bytes())
    data[32:36] = pack("<I", size)
    with pytest.raises(gsym.FormatError, match="impossible page size") as caught:
        convert(bytes(data))
    assert caught.value.offset == 32


def test_a_stream_of_two_modules_is_refused(convert: Convert) -> None:
    """Any number of modules could have it, and each would read it."""
    streams = Pdb([*ONE.modules, Module(name="b.obj")]).streams()
    second = streams[3].replace(pack("<H", 11), pack("<H", 10), 1)
    with pytest.raises(gsym.FormatError, match="stream 10 is of two modules"):
        convert(msf([*streams[:3], second, *streams[4:]]))


# ---- damage --------------------------------------------------------------------------


def damaged(data: bytes, reasons: set[str], convert: Convert) -> None:
    """Convert, and note why not."""
    try:
        convert(data).close()
    except gsym.GsymError as error:
        reasons.add(type(error).__name__)


def test_every_prefix_is_converted_or_refused(convert: Convert) -> None:
    data = PDBS["functions"].to_bytes()
    reasons: set[str] = set()
    for size in range(1, len(data), 61):
        damaged(data[:size], reasons, convert)
    assert reasons


@pytest.mark.hostile
@pytest.mark.parametrize("name", PDBS)
def test_every_changed_byte_is_converted_or_refused(
    convert: Convert, name: str
) -> None:
    data = PDBS[name].to_bytes()
    reasons: set[str] = set()
    places = [at for at, byte in enumerate(data) if byte or at % 16 == 0]
    for at in places[len(name) % 5 :: 5]:
        changed = bytes([data[at] ^ 0xFF])
        damaged(data[:at] + changed + data[at + 1 :], reasons, convert)
    assert "FormatError" in reasons


def test_a_type_in_itself_ends(convert: Convert) -> None:
    """Each argument of a function is a pointer to that function."""
    types = [
        record(LF_POINTER, pack("<II", FIRST_TYPE + 2, POINTER)),
        record(LF_ARGLIST, pack("<I", 4000) + pack("<I", FIRST_TYPE) * 4000),
        procedure_type(FIRST_TYPE + 1),
    ]
    functions = [Function("f", 16 * i, 16, type=FIRST_TYPE + 2) for i in range(200)]
    made = names(convert(Pdb([Module(functions)], types=types)))
    assert len(made) == 200
    assert [name for name in made if not name.startswith("f(")] == []


def test_an_id_that_is_its_own_scope_ends(convert: Convert) -> None:
    site = Inline(FIRST_TYPE, bytes([OFFSET, 8, LENGTH, 8]))
    module = Module([Function("f", 0, 32, [(0, 1)], [site])])
    ids = [function_id("inner", FIRST_TYPE)]
    with convert(Pdb([module], ids=ids)) as reader:
        assert [each[0] for each in frames(reader, 0x1008)] == ["inner", "f"]


@pytest.mark.parametrize("depth", [4096, 4097, 10_000])
def test_sites_are_nested_up_to_a_limit(convert: Convert, depth: int) -> None:
    site = Inline(0x1001, bytes([OFFSET, 0, LENGTH, 32])).to_bytes()
    function = Function("f", 0, 32, [(0, 1)]).to_bytes()
    ends = site[-4:] * depth + function[-4:]
    symbols = function[:-4] + site[:-4] * depth + ends
    with convert(Pdb([Module(symbols=symbols, inlinees=INLINEES)], ids=IDS)) as reader:
        assert len(frames(reader, 0x1008)) == 1 + 4096
    left_out = depth - 4096
    assert convert.report.warnings == ({LIMIT_REACHED: left_out} if left_out else {})


@pytest.mark.parametrize(("count", "left_out"), [(32, 0), (60, 12), (900, 852)])
def test_functions_share_lines_up_to_a_limit(
    convert: Convert, count: int, left_out: int
) -> None:
    """65,536 rows, and 16 for each."""
    lines = [(i, i + 1) for i in range(2000)]
    functions = [
        Function(f"f{i}", 0, 2000 + i, lines if i == 0 else ()) for i in range(count)
    ]
    with convert(Pdb([Module(functions)])) as reader:
        with_lines = [bool(each.line_table) for each in reader.functions()]
    assert with_lines.count(False) == left_out
    assert convert.report.warnings == ({LIMIT_REACHED: left_out} if left_out else {})


@pytest.mark.parametrize(
    ("depth", "text"), [(32, "char " + "*" * 32), (33, "? " + "*" * 32)]
)
def test_types_are_nested_up_to_a_limit(
    convert: Convert, depth: int, text: str
) -> None:
    types = [
        record(LF_POINTER, pack("<II", FIRST_TYPE + at - 1 if at else CHAR, POINTER))
        for at in range(depth)
    ]
    last = FIRST_TYPE + depth - 1
    types += [argument_list(last), procedure_type(last + 1)]
    function = Function("f", 0, 16, type=last + 2)
    assert names(convert(Pdb([Module([function])], types=types))) == [f"f({text})"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(255, ", ".join(["char *"] * 255)), (256, ", ".join(["char *"] * 255) + ", ?")],
)
def test_a_name_reads_1024_records_of_types(
    convert: Convert, count: int, text: str
) -> None:
    """Those of the function and its list, and a pointer four times."""
    types = [
        record(LF_POINTER, pack("<II", CHAR, POINTER)),
        argument_list(*[FIRST_TYPE] * count),
        procedure_type(FIRST_TYPE + 1),
    ]
    function = Function("f", 0, 16, type=FIRST_TYPE + 2)
    assert names(convert(Pdb([Module([function])], types=types))) == [f"f({text})"]


def test_damaged_symbols_and_lines_are_warnings(convert: Convert) -> None:
    module = Module(
        [Function("f", 0, 16, [(0, 5)])], symbols=pack("<HH", 60000, 0x1110)
    )
    with convert(replace(ONE, modules=[module])) as reader:
        assert frames(reader, 0x1004) == [("f", A, 5)]
    assert convert.report.warnings == {
        "Damaged symbol or inline site in a PDB module": 1
    }


@pytest.mark.parametrize("kind", [S_SEPCODE, S_THUNK32, S_GPROC32])
def test_a_symbol_that_is_cut_off_is_a_warning(convert: Convert, kind: int) -> None:
    cut = record(kind, bytes(8))
    with convert(Pdb([replace(ONE.modules[0], symbols=cut)])) as reader:
        assert len(list(reader.functions())) == 1
    assert len(convert.report.warnings) >= 1


@pytest.mark.parametrize("count", [1, 2])
def test_modules_need_no_stream(convert: Convert, count: int) -> None:
    empty = [Module(name=f"{number}.obj") for number in range(count)]
    streams = Pdb([*ONE.modules, *empty]).streams()
    for number in range(11, 11 + count):
        place = streams[3].index(pack("<34xH", number))
        streams[3] = (
            streams[3][:place] + pack("<34xH", 0xFFFF) + streams[3][place + 36 :]
        )
    assert names(convert(msf(streams))) == ["f"]


def test_the_number_for_no_stream_is_of_none(convert: Convert) -> None:
    """Any number of modules have none; each would read the stream of that number."""
    optimized = Module(name="* CIL *")
    streams = Pdb([*ONE.modules, optimized]).streams()
    no_stream = 0xFFFF
    streams += [b""] * (no_stream - len(streams))
    streams.append(bytes(40))  # an omap that does not ascend
    with convert(msf(streams, 4096)) as reader:
        assert len(list(reader.functions())) == 1
