"""`compare`: what the engine says of a binary, against what pyelftools makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from gsym.cli.main import main
from gsym.verification.check import check_structure
from tests.inputs.dies import Die
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import Symbol
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import function, program as program_of, unit
from tests.referee.opening import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gsym.verification.check import Comparison as Compared

    Change = Callable[[gsym.FunctionInfo], gsym.FunctionInfo | None]

pytestmark = pytest.mark.long

SOURCE = """
static volatile int sink;
static inline __attribute__((always_inline)) void innermost(int n) {
    sink = n;
    sink += n * 3;
}
static inline __attribute__((always_inline)) void middle(int n) {
    sink -= n;
    innermost(n + 1);
}
__attribute__((noinline)) int outer(int n) {
    sink = 1;
    middle(n);
    if (n > 3) middle(n * 2);
    return sink;
}
int main(int argc, char **argv) {
    (void)argv;
    return outer(argc);
}
"""


def build(compiler: str, folder: Path, flags: list[str], **sources: str) -> str:
    """Compile and link {name with _ for the dot: text}; the path of the program."""
    paths = []
    for name, text in sources.items():
        path = folder / name.replace("_", ".")
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    program = folder / "program"
    subprocess.run(
        [compiler, "-g", "-Wl,--build-id=sha1", *flags, *paths, "-o", program],
        check=True,
        timeout=60,
    )
    return os.fspath(program)


@pytest.fixture(scope="module")
def compiled(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(compiler, tmp_path_factory.mktemp("once"), ["-O2"], main_c=SOURCE)


@pytest.fixture
def program(compiled: str, tmp_path: Path) -> str:
    """A program to do anything with."""
    return shutil.copy(compiled, os.fspath(tmp_path))


def convert(program: str, **options: object) -> str:
    path = f"{program}.gsym"
    gsym.convert(program, path, **options)  # type: ignore[arg-type]
    assert check_structure(path) == []
    return path


# ---- both sides agree


@pytest.mark.parametrize(
    ("version", "optimisation"), [(2, "-O2"), (3, "-O0"), (4, "-O2"), (5, "-O0")]
)
def test_a_converted_program_is_as_pyelftools_reads_it(
    compiler: str, tmp_path: Path, version: int, optimisation: str
) -> None:
    flags = [f"-gdwarf-{version}", optimisation]
    program = build(compiler, tmp_path, flags, main_c=SOURCE)
    found = compare(convert(program), program)
    assert found.differences == []
    assert (found.unread, found.uncompared) == ({}, {})
    assert found.functions >= 2
    assert found.symbols > 0
    assert found.units == found.units_in_all > 0


@pytest.mark.parametrize(
    ("version", "call_sites", "merged_functions"),
    [(1, True, False), (1, False, True), (2, True, True), (2, False, False)],
)
def test_all_kinds_of_output_can_be_compared(
    program: str, *, version: int, call_sites: bool, merged_functions: bool
) -> None:
    path = convert(
        program,
        output_version=version,
        call_sites=call_sites,
        merged_functions=merged_functions,
    )
    assert compare(path, program).differences == []


def test_rewritten_paths_are_compared(
    program: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rules = ((os.fspath(tmp_path_factory.getbasetemp()), "/src"), ("/src", "/never"))
    path = convert(program, path_map=rules)
    assert subjects(compare(path, program)) == {"lines", "inlined calls"}
    assert compare(path, program, path_map=rules).differences == []


@pytest.mark.parametrize("compression", ["zlib", "zlib-gnu", "zstd"])
def test_compressed_sections_are_inflated(
    program: str, objcopy: str, compression: str
) -> None:
    flag = f"--compress-debug-sections={compression}"
    done = subprocess.run([objcopy, flag, program], check=False, capture_output=True)
    if done.returncode:
        pytest.skip(f"objcopy cannot write {compression}")
    found = compare(convert(program), program)
    assert (found.differences, found.unread) == ([], {})
    assert found.functions >= 2


# ---- planted errors


class Plant(NamedTuple):
    """A change to the function `outer` and what `compare` calls it."""

    name: str
    subject: str
    change: Callable[[gsym.FunctionInfo], gsym.FunctionInfo]


def rows(
    change: Callable[[gsym.LineEntry], gsym.LineEntry], index: int
) -> Callable[[gsym.FunctionInfo], gsym.FunctionInfo]:
    def plant(info: gsym.FunctionInfo) -> gsym.FunctionInfo:
        table = list(info.line_table or ())
        table[index] = change(table[index])
        return info._replace(line_table=tuple(table))

    return plant


def calls(
    change: Callable[[gsym.InlineInfo], gsym.InlineInfo | None],
) -> Callable[[gsym.FunctionInfo], gsym.FunctionInfo]:
    """Change the first inlined call, or cut it out."""

    def plant(info: gsym.FunctionInfo) -> gsym.FunctionInfo:
        assert info.inline is not None
        first, *others = info.inline.children
        changed = change(first)
        children = (changed, *others) if changed is not None else tuple(others)
        return info._replace(inline=info.inline._replace(children=children))

    return plant


def shorten(call: gsym.InlineInfo) -> gsym.InlineInfo:
    """Move a boundary by one byte, for the call and for nothing in it."""
    first, *others = call.ranges
    shorter = first._replace(end=first.end - 1)
    return call._replace(ranges=(shorter, *others), children=())


PLANTS = [
    Plant("a changed line", "lines", rows(lambda r: r._replace(line=r.line + 1), 1)),
    Plant(
        "a shifted row", "lines", rows(lambda r: r._replace(address=r.address - 1), -1)
    ),
    Plant("another file", "lines", rows(lambda r: r._replace(path="/x.c"), 0)),
    Plant(
        "a lost row",
        "lines",
        lambda info: info._replace(line_table=(info.line_table or ())[:-1]),
    ),
    Plant("no rows", "lines", lambda info: info._replace(line_table=None)),
    Plant("a renamed function", "name", lambda info: info._replace(name="renamed")),
    Plant("a cut call", "inlined calls", calls(lambda _: None)),
    Plant(
        "a renamed call", "inlined calls", calls(lambda call: call._replace(name="x"))
    ),
    Plant(
        "a call from another line",
        "inlined calls",
        calls(lambda call: call._replace(call_line=call.call_line + 1)),
    ),
    Plant(
        "a call from another file",
        "inlined calls",
        calls(lambda call: call._replace(call_path="/x.c")),
    ),
    Plant("a shifted boundary", "inlined calls", calls(shorten)),
    Plant(
        "a lost inner call",
        "inlined calls",
        calls(lambda call: call._replace(children=())),
    ),
    Plant("no calls", "inlined calls", lambda info: info._replace(inline=None)),
    Plant("a moved end", "function", lambda info: info._replace(size=info.size + 1)),
]


def rewrite(
    path: str,
    change: Change,
    *,
    uuid: bytes | None = None,
    base_address: int | None = None,
    extra: tuple[gsym.FunctionInfo, ...] = (),
) -> None:
    """Change functions of a file; those that *change* makes None of are left out."""
    with gsym.open(path) as reader:
        header = reader.header
        functions = [*map(change, reader.functions()), *extra]
    with gsym.Creator(
        base_address=header.base_address if base_address is None else base_address,
        uuid=header.uuid if uuid is None else uuid,
    ) as creator:
        for info in functions:
            if info is not None:
                creator.add(info)
        creator.save(path)


def only(name: str, change: Change) -> Change:
    """Change the functions of one name."""
    return lambda info: change(info) if info.name == name else info


def same(info: gsym.FunctionInfo) -> gsym.FunctionInfo:
    return info


def subjects(found: Comparison | Compared) -> set[str]:
    return {difference.subject for difference in found.differences}


def test_a_file_written_anew_is_the_same(program: str) -> None:
    path = convert(program)
    rewrite(path, same)
    assert compare(path, program).differences == []


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_planted_error_is_found(program: str, plant: Plant) -> None:
    path = convert(program)
    with gsym.open(path) as reader:
        (outer,) = reader.find("outer")
    rewrite(path, only("outer", plant.change))
    found = compare(path, program).differences
    assert {difference.subject for difference in found} == {plant.subject}
    for difference in found:
        assert outer.start <= difference.address < outer.start + outer.size
        assert difference.binary != difference.gsym


@pytest.mark.parametrize("version", [4, 5])
def test_planted_errors_are_found_in_split_programs(
    compiler: str, tmp_path: Path, version: int
) -> None:
    flags = ["-O2", f"-gdwarf-{version}", "-gsplit-dwarf"]
    program = build(compiler, tmp_path, flags, main_c=SOURCE)
    if not list(tmp_path.glob("*.dwo")):
        pytest.skip("the compiler splits nothing")
    path = convert(program)
    sound = compare(path, program)
    assert (sound.differences, sound.unread, sound.functions >= 2) == ([], {}, True)
    for plant in PLANTS:
        convert(program)
        rewrite(path, only("outer", plant.change))
        assert subjects(compare(path, program)) == {plant.subject}, plant.name


def test_a_lost_function_is_found(program: str) -> None:
    path = convert(program)
    rewrite(path, only("outer", lambda _: None))
    found = compare(path, program).differences
    # A symbol without a size may extend over it.
    assert [(each.subject, each.binary.split()[0]) for each in found] == [
        ("function", "outer"),
        ("symbol", "outer"),
    ]
    assert found[0].gsym == "(nothing)"


def test_an_invented_function_is_found(program: str) -> None:
    path = convert(program)
    invented = gsym.FunctionInfo(0x7FFF0000, 16, "invented")
    rewrite(path, same, extra=(invented,))
    (difference,) = compare(path, program).differences
    assert (difference.address, difference.subject) == (0x7FFF0000, "function")
    assert "invented" in difference.gsym


def test_a_symbol_under_another_name_or_missing_is_found(program: str) -> None:
    path = convert(program)
    rewrite(path, only("_start", lambda info: info._replace(name="renamed")))
    assert subjects(compare(path, program)) == {"name"}
    rewrite(path, only("renamed", lambda _: None))
    (difference,) = compare(path, program).differences
    assert (difference.subject, difference.binary) == ("symbol", "_start")


def test_the_file_of_another_binary_is_found(program: str) -> None:
    path = convert(program)
    with gsym.open(path) as reader:
        uuid, base_address = reader.uuid, reader.header.base_address
    rewrite(path, same, uuid=b"\xab" * 20)
    (difference,) = compare(path, program).differences
    assert difference.subject == "UUID"
    assert (difference.binary, difference.gsym) == (uuid.hex(), "ab" * 20)
    if base_address:
        rewrite(path, same, uuid=uuid, base_address=base_address - 0x10)
        assert subjects(compare(path, program)) == {"base address"}


def test_a_uuid_that_was_cut_is_no_difference(compiler: str, tmp_path: Path) -> None:
    """GSYM version 1 holds 20 bytes."""
    long = "ab" * 32
    flags = ["-O2", f"-Wl,--build-id=0x{long}"]
    program = build(compiler, tmp_path, flags, main_c=SOURCE)
    path = convert(program)
    rewrite(path, same, uuid=bytes.fromhex(long)[:20])
    found = compare(path, program)
    assert found.differences == []
    assert any("only 20 of 32 bytes of its build id" in note for note in found.notes)
    rewrite(path, same, uuid=bytes.fromhex(long)[:19])
    assert subjects(compare(path, program)) == {"UUID"}


# ---- samples

UNIT = (
    "int first_{0}(int n) {{ return n + {0}; }}\nint second_{0}(int n) {{ return n; }}"
)


@pytest.fixture
def units(compiler: str, tmp_path: Path) -> str:
    """A program of four units, in the order of their names."""
    sources = {f"unit{n}_c": UNIT.format(n) for n in range(3)}
    return build(compiler, tmp_path, ["-O1"], **sources, main_c=SOURCE)


def misline(info: gsym.FunctionInfo) -> gsym.FunctionInfo:
    return rows(lambda row: row._replace(line=row.line + 100), 0)(info)


@pytest.mark.parametrize(
    ("sample", "found_in"),
    [(1, {0}), (2, {0, 2}), (4, {0, 1, 2}), (99, {0, 1, 2})],
)
def test_a_sample_covers_units_spread_over_the_binary(
    units: str, sample: int, found_in: set[int]
) -> None:
    path = convert(units)
    for number in range(3):
        rewrite(path, only(f"first_{number}", misline))
    found = compare(path, units, sample=sample)
    assert found.units == min(sample, 4)
    assert found.units_in_all == 4
    assert {each.subject for each in found.differences} == {"lines"}
    assert len(found.differences) == len(found_in)


def test_a_function_of_several_units_is_left_open_by_a_sample(
    cxx_compiler: str, tmp_path: Path
) -> None:
    (tmp_path / "shared.h").write_text(
        "inline int shared(int n) { return n * 3; }\n", encoding="utf-8"
    )
    user = '#include "shared.h"\nint use_{0}(int n) {{ return shared(n); }}\n'
    program = build(
        cxx_compiler,
        tmp_path,
        ["-O0"],
        one_cc=user.format(1),
        two_cc=user.format(2) + "int main() { return use_2(1); }\n",
    )
    path = convert(program)
    assert compare(path, program).differences == []
    rewrite(path, only("_Z6sharedi", misline))
    assert subjects(compare(path, program)) == {"lines"}
    sampled = compare(path, program, sample=1)
    assert (sampled.differences, sampled.undecided) == ([], 1)


def test_progress_ends_at_the_total(program: str) -> None:
    steps: list[tuple[int, int]] = []
    compare(convert(program), program, progress=partial(_note, steps))
    assert steps
    assert steps[-1][0] == steps[-1][1] > 0


def _note(steps: list[tuple[int, int]], done: int, total: int) -> None:
    steps.append((done, total))


# ---- inputs that cannot be compared


def test_a_binary_without_debug_information_has_symbols_to_compare(
    program: str, objcopy: str
) -> None:
    subprocess.run([objcopy, "--strip-debug", program], check=True)
    path = convert(program)
    found = compare(path, program)
    assert (found.differences, found.functions) == ([], 0)
    assert found.symbols > 2


def test_a_file_of_another_kind_is_an_error(program: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"no ELF")
    with pytest.raises(gsym.UnsupportedError, match="only ELF, Mach-O and PE files"):
        compare(convert(program), os.fspath(other))
    other.write_bytes(b"\x7fELF")
    with pytest.raises(gsym.FormatError, match="not an ELF file"):
        compare(convert(program), os.fspath(other))


# ---- symbols and rows


def described(folder: Path, symbols: Sequence[Symbol], *dies: Die) -> tuple[str, str]:
    """A GSYM file, and its program, which has rows from 0x1000 to 0x1040."""
    lines = LineProgram(
        files=(File("a.c"),),
        ops=sequence((0x1000, 5, 1), (0x1010, 6, 1), (0x1024, 9, 1), end=0x1040),
    )
    image = program_of(unit(*dies, version=4, lines=lines), symbols=symbols)
    (folder / "app").write_bytes(image)
    return gsym.convert(folder / "app").outputs[0], os.fspath(folder / "app")


BARE = Symbol("bare", 0x1020, 0x10)
ROWS = (gsym.LineEntry(0x1020, "/src/a.c", 6), gsym.LineEntry(0x1024, "/src/a.c", 9))


ASSEMBLY = """
    .text
    .globl _start
_start:
    nop
    nop
helper:
    nop
"""


@pytest.mark.parametrize("flags", [["-c"], ["-nostdlib", "-static"]], ids=str)
def test_assembly_has_symbols_without_a_size_or_a_type(
    flags: list[str], compiler: str, tmp_path: Path
) -> None:
    program = build(compiler, tmp_path, flags, main_s=ASSEMBLY)
    assert main(["convert", "--quiet", "--verify", program]) == 0
    path = f"{program}.gsym"
    for name in ("_start", "helper"):
        rewrite(path, only(name, misline))
        (difference,) = compare(path, program).differences
        assert difference.subject == "lines"
        convert(program)


def test_rows_that_no_function_describes_belong_to_the_symbol(tmp_path: Path) -> None:
    path, binary = described(tmp_path, [BARE], function("f", 0x1000, 0x1020))
    rewrite(path, only("bare", lambda info: info._replace(line_table=ROWS)))
    found = compare(path, binary)
    assert (found.functions, found.symbols, found.differences) == (1, 1, [])
    for line_table in (None, ROWS[:1], (ROWS[0], ROWS[1]._replace(line=8))):
        change = partial(gsym.FunctionInfo._replace, line_table=line_table)
        rewrite(path, only("bare", change))
        (difference,) = compare(path, binary).differences
        assert difference.subject == "lines"


def test_a_symbol_has_no_inlined_calls(tmp_path: Path) -> None:
    path, binary = described(tmp_path, [BARE], function("f", 0x1000, 0x1020))
    span = (gsym.Range(0x1020, 0x1030),)
    call = gsym.InlineInfo("g", "/src/a.c", 1, span, ())
    root = gsym.InlineInfo("bare", "", 0, span, (call,))
    change = partial(gsym.FunctionInfo._replace, line_table=ROWS, inline=root)
    rewrite(path, only("bare", change))
    assert subjects(compare(path, binary)) == {"inlined calls"}


@pytest.mark.parametrize(("end", "count"), [(0x1020, 1), (0x1031, 0)])
def test_rows_without_a_function_are_counted_but_for_padding(
    end: int, count: int, tmp_path: Path
) -> None:
    path, binary = described(tmp_path, [], function("f", 0x1000, end))
    rewrite(path, lambda info: info if info.name == "f" else None)
    found = compare(path, binary)
    assert (found.differences, found.rows_alone) == ([], count)


@pytest.mark.parametrize(
    ("names", "name", "is_right"),
    [
        (["_ZN1s1fEv"], "_ZN1s1fEv", True),
        (["operator_name"], "operator_name", True),
        (["f", "alias"], "alias", False),
        (["f", "f.cold"], "f.cold", True),
        (["f.isra.0"], "f.isra.0", True),
        (["f"], "g", False),
    ],
)
def test_a_function_may_have_the_name_of_a_symbol_of_its_range(
    names: list[str], name: str, *, is_right: bool, tmp_path: Path
) -> None:
    symbols = [Symbol(each, 0x1000, 0x20) for each in names]
    path, binary = described(tmp_path, symbols, function("f", 0x1000, 0x1020))
    rewrite(path, lambda info: info._replace(name=name))
    found = subjects(compare(path, binary))
    assert found == (set() if is_right else {"name"})


def test_a_linkage_name_in_the_dwarf_counts(tmp_path: Path) -> None:
    attributes = {At.linkage_name: "_Z1fv"}
    die = function("f", 0x1000, 0x1020, attributes=attributes)
    symbols = [Symbol("_Z1gv", 0x1000, 0x20)]
    path, binary = described(tmp_path, symbols, die)
    assert compare(path, binary).differences == []
    rewrite(path, lambda info: info._replace(name="_Z1gv"))
    assert subjects(compare(path, binary)) == {"name"}


def test_a_function_without_a_name_has_that_of_a_symbol(tmp_path: Path) -> None:
    die = Die(Tag.subprogram, {At.low_pc: 0x1000, At.high_pc: Form.data4(0x20)})
    path, binary = described(tmp_path, [Symbol("f", 0x1000, 0x20)], die)
    found = compare(path, binary)
    assert (found.functions, found.differences, found.uncompared) == (1, [], {})
    rewrite(path, lambda info: info._replace(name="g"))
    assert subjects(compare(path, binary)) == {"name"}
    path, binary = described(tmp_path, [BARE], die)
    assert list(compare(path, binary).uncompared.values()) == [1]


def test_a_symbol_of_another_range_is_found(tmp_path: Path) -> None:
    path, binary = described(tmp_path, [BARE], function("f", 0x1000, 0x1020))
    rewrite(path, only("bare", lambda info: info._replace(size=12, line_table=None)))
    assert "function" in subjects(compare(path, binary))


def test_a_function_that_the_binary_does_not_have_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    die = Die(Tag.subprogram, {At.low_pc: 0x1000, At.high_pc: Form.data4(0x20)})
    _, binary = described(tmp_path, [BARE], die)
    path = convert(binary)
    (tmp_path / "app").write_bytes(program_of(unit(die, version=4)))
    other = gsym.FunctionInfo(0x1000, 0x10, "f")
    rewrite(path, lambda _: None, base_address=0, extra=(other,))
    assert main(["verify", path, "--against", binary, "--sample", "1"]) == 1
    printed = capsys.readouterr().out
    assert "(nothing) in the binary, f [0x1000, 0x1010) in the file" in printed
