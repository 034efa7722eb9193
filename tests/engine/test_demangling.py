"""Demangling: C++ by the runtime, other languages by a package, hostile names."""

from __future__ import annotations

import json
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.main import main
from gsym.engine import demangling
from gsym.engine.name_texts import cxx_texts
from gsym.engine.native import ffi, lib
from tests.creations import create

if TYPE_CHECKING:
    from pathlib import Path

SEQUENCE = "0123456789ABCDEFGHIJKLMNOPQR"
# In whole names by chance alone; letters are those of types and of what opens a part.
MANGLED_PIECES = st.sampled_from(
    [*"NIJEPRKOFXLDTSZcilfv_0123456789", "St", "S_", "S0_", "S1_", "T_", "3foo", "Dp"]
)


def bomb(levels: int) -> str:
    """A name each part of which has the part before it twice."""
    parts = (f"S_IS{letter}_S{letter}_E" for letter in SEQUENCE[:levels])
    return "_Z1fSt4pairIiiE" + "".join(parts)


needs_runtime = pytest.mark.skipif(
    gsym.demangle("_Z1fv") != "f()", reason="no C++ runtime is installed"
)


@needs_runtime
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_Z3addIiET_S0_S0_", "int add<int>(int, int)"),
        ("__Z3foov", "foo()"),  # as Mach-O files have it
        ("_Z3foov@plt", "foo()@plt"),
        ("_Z3foov@@VERSION_1", "foo()@@VERSION_1"),
        ("._Z3foov", ".foo()"),
        ("_Z3foov.constprop.0", "foo() [clone .constprop.0]"),
        ("_Z1fRSo", "f(std::ostream&)"),
        ("_Z3fo\udcffv", "fo\udcff()"),
        ("_GLOBAL__I_x", "global constructors keyed to x"),
    ],
)
def test_names_of_cxx_are_demangled(name: str, text: str) -> None:
    assert gsym.demangle(name) == text


@pytest.mark.parametrize(
    "name",
    [
        *("", "_", "__", ".", "$", "@", "_Z", "__Z", "_R", "_D", "_D1", "$s", "_$s"),
        *("main", "i", "Ss", "_start", "_GLOBAL__sub_I_x", "_Zgarbage", "_ZN3foo"),
        "_Z3foov\0",
    ],
)
def test_other_names_are_returned_unchanged(name: str) -> None:
    assert gsym.demangle(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "_Z1f" + "P" * 2000 + "i",
        "_Z1f" + "P" * (1 << 20) + "i",
        "_Z" + "N" * 60_000,
        "_Z70000" + "a" * 70_000 + "v",
        "_R" + "NvC" * 20_000,
        "_D1" + "a" * 70_000,
        "$s" + "S" * 70_000,
    ],
)
def test_very_long_and_deep_names_stay(name: str) -> None:
    assert gsym.demangle(name) == name


@needs_runtime
def test_a_deep_name_within_the_limits_is_demangled() -> None:
    assert gsym.demangle("_Z1f" + "P" * 900 + "i") == "f(int" + "*" * 900 + ")"


# What not every C++ runtime knows, with the texts of llvm-cxxfilt 22.
NEW_NAMES = {
    "_ZN2nsW3mod3fooEi": "ns::foo@mod(int)",
    "_ZN2nsW3modWP4part3fooEi": "ns::foo@mod:part(int)",
    "_ZGIW3mod": "initializer for module mod",
    "_ZNH1A1fES_": "A::f(this A)",
    "_ZN1A1gIiEEvT_Qaa1CIS1_E1DIS1_E": "void A::g<int>(int) requires C<int> && D<int>",
    "_Z1fITk1CiEvT_": "void f<int>(int)",
    "_Z1fDF16b": "f(std::bfloat16_t)",
    "_Z1fDF16_DF128_": "f(_Float16, _Float128)",
    "_Z1fDB8_DU16_": "f(_BitInt(8), unsigned _BitInt(16))",
    "___Z4main_block_invoke": "invocation function for block in main",
    "____ZN1A1fEi_block_invoke_2": "invocation function for block in A::f(int)",
    f"_Z1200{'a' * 1200}v": f"{'a' * 1200}()",
}


@pytest.mark.parametrize("at_once", [False, True])
def test_names_that_a_runtime_does_not_know_are_left_to_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, at_once: bool
) -> None:
    pytest.importorskip("demangle", reason="the extra `demangle` is not installed")
    found = {name: gsym.demangle(name) for name in NEW_NAMES}
    if at_once:
        path = tmp_path / "a.gsym"
        others = [f"_Z{len(name)}{name}v" for name in (f"n{at}" for at in range(99))]
        path.write_bytes(
            create(
                gsym.FunctionInfo(0x1000 + 16 * at, 8, name)
                for at, name in enumerate([*NEW_NAMES, *others])
            )
        )
        main(
            [
                "lookup",
                str(path),
                *(hex(0x1000 + 16 * at) for at in range(99 + len(NEW_NAMES))),
            ]
        )
        lines = capsys.readouterr().out.splitlines()
        texts = [line.partition(": ")[2] for line in lines]
        found = dict(zip(NEW_NAMES, texts[: len(NEW_NAMES)], strict=True))
    assert found == NEW_NAMES


def test_a_name_that_stands_for_gigabytes_stays() -> None:
    for levels in range(8, len(SEQUENCE)):
        text = gsym.demangle(bomb(levels))
        assert len(text) <= demangling.MAX_TEXT_SIZE
    assert gsym.demangle(bomb(26)) == bomb(26)


@needs_runtime
def test_the_estimated_text_of_a_name_has_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demangling, "_from_package", lambda _plain, _kind: None)

    def name(size: int) -> str:
        return bomb(9).replace("ii", f"{size}{'n' * size}i", 1)

    def work(size: int) -> int:
        return int(lib.gsym_cxx_name_work(name(size).encode(), len(name(size))))

    size = next(size for size in range(1, 900) if work(size + 1) > 1 << 24)
    assert len(gsym.demangle(name(size))) > 10_000
    assert gsym.demangle(name(size + 1)) == name(size + 1)


@pytest.mark.parametrize("repeat", ["S_", "S0_", "T_", "T0_", "SS_", "S1S_", "SZZ_"])
def test_every_kind_of_repetition_is_counted(repeat: str) -> None:
    name = "_Z1f3foo" + repeat * 64
    name += "".join(f"S{letter}_" for letter in SEQUENCE) * 2
    work = lib.gsym_cxx_name_work(name.encode(), len(name))
    assert work > demangling.MAX_CXX_WORK


@given(st.lists(MANGLED_PIECES, max_size=120).map("".join))
def test_random_names_are_demangled_or_unchanged(tail: str) -> None:
    for front in ("_Z", "_Z1f", "_ZN", "__Z", "_R", "_D1", "$s"):
        text = gsym.demangle(front + tail)
        assert text == front + tail or 0 < len(text) <= demangling.MAX_TEXT_SIZE


def text_of_engine(name: str) -> tuple[bytes, list[int]]:
    """What `cxx_texts` returns for one name."""
    data = create([gsym.FunctionInfo(0x1000, 16, name)])
    with gsym.Reader(data) as reader:
        table = reader.header.strtab_offset
        strp = data.index(b"\0" + name.encode() + b"\0", table) + 1 - table
        strps = ffi.new("uint64_t[]", [strp])
        return cxx_texts(reader.mapped.image, strps, 1, demangling.cxx_demangler())


@needs_runtime
@given(st.text("_ZRTDMG$LOBAIsSe0179@?.fvmain", min_size=1, max_size=9))
def test_names_that_the_engine_does_not_leave_have_the_same_text(name: str) -> None:
    text, left = text_of_engine(name)
    assert left or text == gsym.demangle(name).encode() + b"\0"


@pytest.mark.parametrize("name", ["__GI_memcpy", "___a", "_", "_start", "__libc_main"])
@needs_runtime
def test_names_of_c_are_not_left_by_the_engine(name: str) -> None:
    assert text_of_engine(name) == (name.encode() + b"\0", [])


def test_the_cache_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demangling, "_MAX_CACHED_SIZE", 1000)
    cache = demangling.Cache()
    for number in range(1000):
        assert cache[b"_Z1fv.%d" % number]
        assert len(cache) < 100


# ---- languages of the package


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
    """Stands in for the package `demangle`; the names it was asked for."""
    asked: list[tuple[str, tuple[str, ...]]] = []

    def demangle(name: str, *, language: tuple[str, ...]) -> str:
        asked.append((name, language))
        if "fault" in name:
            raise RecursionError
        return name if "unknown" in name else f"<{name}>"

    module = ModuleType("demangle")
    module.demangle = demangle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "demangle", module)
    monkeypatch.setattr(demangling, "_cache", demangling.Cache())
    return asked


@pytest.mark.parametrize(
    ("name", "plain", "language"),
    [
        ("_RNvC3foo3bar", "_RNvC3foo3bar", "rust"),
        ("__RNvC3foo3bar", "_RNvC3foo3bar", "rust"),
        (
            "_ZN3foo3bar17h0123456789abcdefE",
            "_ZN3foo3bar17h0123456789abcdefE",
            "rust",
        ),
        (
            "_ZN9a..b..Foo3bar17h0123456789abcdefE.llvm.12",
            "_ZN9a..b..Foo3bar17h0123456789abcdefE.llvm.12",
            "rust",
        ),
        ("$s3foo3barV", "$s3foo3barV", "swift"),
        ("_$s3foo3barV", "_$s3foo3barV", "swift"),
        ("_T03foo", "_T03foo", "swift"),
        ("_D3foo3barFZv", "_D3foo3barFZv", "d"),
        ("__D3foo3barFZv", "_D3foo3barFZv", "d"),
        ("_Dmain", "_Dmain", "d"),
    ],
)
def test_the_package_is_asked_for_its_languages(
    package: list[tuple[str, tuple[str, ...]]], name: str, plain: str, language: str
) -> None:
    assert gsym.demangle(name) == f"<{plain}>"
    assert gsym.demangle(name) == f"<{plain}>"
    assert package == [(plain, (language,))]


@pytest.mark.parametrize("name", ["_RNvC5fault", "_RNvC7unknown", "_Dxyz", "_Runknown"])
def test_names_that_the_package_fails_on_are_unchanged(
    package: list[tuple[str, tuple[str, ...]]], name: str
) -> None:
    assert gsym.demangle(name) == name
    assert len(package) <= 1


@needs_runtime
def test_legacy_rust_reads_as_cxx_without_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "demangle", None)
    monkeypatch.setattr(demangling, "_cache", demangling.Cache())
    name = "_ZN3foo3bar17h0123456789abcdefE"
    assert gsym.demangle(name) == "foo::bar::h0123456789abcdef"
    assert gsym.demangle("_RNvC3foo3bar") == "_RNvC3foo3bar"


def test_the_package_demangles_rust_swift_and_d() -> None:
    pytest.importorskip("demangle", reason="the extra `demangle` is not installed")
    assert gsym.demangle("_RNvC3foo3bar") == "foo::bar"
    assert gsym.demangle("_ZN3foo3bar17h0123456789abcdefE") == "foo::bar"
    assert gsym.demangle("_T0s5printyypF") == "Swift.print(Any) -> ()"
    assert gsym.demangle("_D3foo3barFZv") == "foo.bar()"


def test_the_package_demangles_decorated_names_of_windows() -> None:
    """As llvm-symbolizer prints them."""
    pytest.importorskip("demangle", reason="the extra `demangle` is not installed")
    assert gsym.demangle("?get@S@N@@QEBAHH@Z") == "N::S::get(int) const"
    assert gsym.demangle("??1S@N@@UEAA@XZ") == "N::S::~S(void)"
    assert gsym.demangle("?x") == "?x"


# ---- at the command line


@needs_runtime
def test_lookup_demangles_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    inner = gsym.InlineInfo("_Z5innerv", "/a.c", 3, (gsym.Range(0x1000, 0x1010),))
    root = gsym.InlineInfo("_Z5outerv", "", 0, (gsym.Range(0x1000, 0x1010),), (inner,))
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 0x10, "_Z5outerv", inline=root))
        creator.save(path)

    def lookup(*options: str) -> str:
        command = [sys.executable, "-m", "gsym", "lookup", *options, str(path)]
        return subprocess.run(
            [*command, "0x1000"], check=True, capture_output=True, text=True
        ).stdout

    assert "_Z5innerv" in lookup("--no-demangle")
    for option in ("-C", "--demangle"):
        assert lookup(option) == (
            "0x1000: inner() [inlined]\n        outer() at /a.c:3\n"
        )
    assert '"name": "outer()", "start"' in lookup("--json", "-C")
    assert '"name": "_Z5outerv", "start"' in lookup("--json", "--no-demangle")
    assert "outer()" in lookup("--no-demangle", "-C")  # the last one counts
    assert '"_Z5outerv"' in lookup("--json", "-C", "--no-demangle")
    both = json.loads(lookup("--json"))
    assert [
        (each["name"], each["demangled"])
        for each in (both["function"], *both["frames"])
    ] == [
        ("_Z5outerv", "outer()"),
        ("_Z5innerv", "inner()"),
        ("_Z5outerv", "outer()"),
    ]
