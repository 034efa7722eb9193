"""Keys as paths in the stores of other tools."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from gsym.modules.key import ModuleKey
from gsym.store.sources import foreign_layouts as layouts
from gsym.store.sources.foreign_layouts import ANY, Layout, is_plain_name

pytestmark = pytest.mark.no_engine

# The example of the reference: a build id and its debug id.
BUILD_ID = "80AE0509E7CE335AE3CAB61C274274DE96049B64"
DEBUG_ID = "0905AE80CEE75A33E3CAB61C274274DE0"
GUID = "44E4EC8C2F41492B9369D6B9A059577C"
LIBC = ModuleKey("libc.so.6", DEBUG_ID, "", BUILD_ID)
XUL = ModuleKey("xul.pdb", f"{GUID}2", "xul.dll", "5CF2591C6859A000")
ALL = [each for each in vars(layouts).values() if isinstance(each, Layout)]


def paths(layout: Layout, key: ModuleKey) -> list[str]:
    return list(layout.paths(key))


def test_a_breakpad_path_has_the_name_twice_and_the_id() -> None:
    key = ModuleKey("libc.so.6", DEBUG_ID)
    assert paths(layouts.BREAKPAD, key) == [f"libc.so.6/{DEBUG_ID}/libc.so.6.sym"]
    assert paths(layouts.BREAKPAD_TREE, key) == [
        f"libc.so.6/{DEBUG_ID}/libc.so.6{suffix}"
        for suffix in (".gsym", ".sym", ".sym.gz")
    ]
    assert paths(layouts.GSYM, key)[0].endswith(".gsym")


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("xul.pdb", ["xul.sym"]),
        ("XUL.PDB", ["XUL.sym", "XUL.PDB.sym"]),
        ("x.pdb.so", ["x.pdb.so.sym"]),
        (".pdb", [".sym"]),
        ("a b+c@<d>~{e}", ["a b+c@<d>~{e}.sym"]),
    ],
    ids=repr,
)
def test_the_suffix_of_a_pdb_is_replaced(name: str, files: list[str]) -> None:
    key = ModuleKey(name, f"{GUID}1")
    assert paths(layouts.BREAKPAD, key) == [f"{name}/{GUID}1/{each}" for each in files]


def test_an_age_with_letters_is_tried_in_both_cases() -> None:
    found = paths(layouts.BREAKPAD, ModuleKey("a.pdb", f"{GUID}1A"))
    assert found == [f"a.pdb/{GUID}1a/a.sym", f"a.pdb/{GUID}1A/a.sym"]


def test_a_code_file_and_its_id_are_a_path_too() -> None:
    found = paths(layouts.BREAKPAD, XUL)
    assert found == [
        f"xul.pdb/{GUID}2/xul.sym",
        "xul.dll/5CF2591C6859a000/xul.sym",
        "xul.dll/5CF2591C6859A000/xul.sym",
    ]
    assert paths(layouts.BREAKPAD, ModuleKey("", "", "a.exe", "5CF2591C1000")) == [
        "a.exe/5CF2591C1000/a.exe.sym"
    ]


def test_a_build_id_names_a_folder_and_a_file() -> None:
    found = paths(layouts.BUILD_ID, LIBC)
    rest = BUILD_ID[2:].lower()
    for expected in (f".build-id/80/{rest}.debug", f".build-id/80/{rest}.gsym"):
        assert expected in found
    assert f"80/{rest}.debug" in found
    assert paths(layouts.DEBUGINFOD, LIBC) == [
        f"buildid/{BUILD_ID.lower()}/debuginfo",
        f"buildid/{BUILD_ID.lower()}/executable",
    ]
    assert f"{BUILD_ID.lower()}/debuginfo" in paths(layouts.DEBUGINFOD_CACHE, LIBC)


def test_of_a_debug_id_the_start_of_the_build_id_is_known() -> None:
    start = BUILD_ID[:32].lower()
    key = ModuleKey("libc.so.6", DEBUG_ID)
    assert f"{start}{ANY}/debuginfo" in paths(layouts.DEBUGINFOD_CACHE, key)
    assert f".build-id/80/{start[2:]}{ANY}.debug" in paths(layouts.BUILD_ID, key)
    big_endian = ModuleKey("libc.so.6", f"{BUILD_ID[:32]}0")
    assert f"{start}{ANY}/debuginfo" in paths(layouts.DEBUGINFOD_CACHE, big_endian)


def test_a_debug_id_with_an_age_is_that_of_no_build_id() -> None:
    assert paths(layouts.BUILD_ID, ModuleKey("a.pdb", f"{GUID}1")) == []


def test_symbol_servers_of_microsoft_have_keys_for_each_format() -> None:
    elf = paths(layouts.SYMSTORE, LIBC)
    lower = BUILD_ID.lower()
    assert f"_.debug/elf-buildid-sym-{lower}/_.debug" in elf
    assert f"libc.so.6/elf-buildid-{lower}/libc.so.6" in elf
    pe = paths(layouts.SYMSTORE, XUL._replace(code_file="XUL.dll"))
    assert "XUL.dll/5CF2591C6859a000/XUL.dll" in pe
    assert "xul.dll/5CF2591C6859a000/xul.dll" in pe
    assert "xul.dll/5cf2591c6859a000/xul.dll" in pe
    assert "xu/xul.dll/5CF2591C6859a000/xul.dll" in pe
    pdb = paths(layouts.SYMSTORE, ModuleKey("App.pdb", f"{GUID}1a"))
    assert pdb[0] == f"App.pdb/{GUID}1a/App.pdb"
    assert f"app.pdb/{GUID}1A/app.pdb" in pdb
    macho = paths(layouts.SYMSTORE, ModuleKey("App", f"{GUID}0"))
    assert f"_.dwarf/mach-uuid-sym-{GUID.lower()}/_.dwarf" in macho
    assert f"App/mach-uuid-{GUID.lower()}/App" in macho


def test_the_unified_layout_goes_by_the_id_alone() -> None:
    assert f"80/{BUILD_ID[2:].lower()}/debuginfo" in paths(layouts.UNIFIED, LIBC)
    assert f"44/{GUID[2:].lower()}2/breakpad" in paths(layouts.UNIFIED, XUL)
    macho = ModuleKey("App", f"{GUID}0")
    assert f"44/{GUID[2:].lower()}/debuginfo" in paths(layouts.UNIFIED, macho)


def test_lldb_cuts_a_uuid_in_parts() -> None:
    key = ModuleKey("App", f"{GUID}0")
    assert paths(layouts.LLDB, key) == ["44E4/EC8C/2F41/492B/9369/D6B9A059577C"]


def test_names_that_lead_elsewhere_have_no_path() -> None:
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "/etc/passwd",
        "..\\a",
        "a\0",
        "x" * 250,
        "\udc80",
        "a/..",
        "..a",
    ]:
        assert not is_plain_name(name) or name == "..a"
        for layout in ALL:
            for path in paths(layout, ModuleKey(name, DEBUG_ID, name, BUILD_ID)):
                assert ".." not in path.split("/")
                assert name in {"", "..a"} or name not in path.split("/")


@example(debug_file="", debug_id=" ", code_file="", code_id="")
@given(*[st.text(max_size=300)] * 4)
def test_no_key_leads_out_of_a_store(
    debug_file: str, debug_id: str, code_file: str, code_id: str
) -> None:
    key = ModuleKey(debug_file, debug_id, code_file, code_id)
    for layout in ALL:
        for path in layout.paths(key):
            parts = path.split("/")
            assert not set(parts) & {"", ".", ".."}
            assert [part for part in parts if len(part.encode()) > 255] == []
            assert "\\" not in path


@given(
    st.sampled_from(ALL),
    st.sampled_from([LIBC, XUL, ModuleKey(), LIBC._replace(code_id="")]),
)
def test_no_path_comes_twice(layout: Layout, key: ModuleKey) -> None:
    found = paths(layout, key)
    assert len(set(found)) == len(found)
