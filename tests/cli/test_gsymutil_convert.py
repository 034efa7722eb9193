"""`gsymutil --convert`: files it writes, lines it prints, ways to fail."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.dropins.gsymutil_convert import _LLVM_CATEGORY
from gsym.conversion.report import CATEGORIES
from tests.inputs import macho as macho_inputs
from tests.inputs.elf import Elf, Section, Symbol, code_section

if TYPE_CHECKING:
    from tests.gsymutil_runs import Run

pytestmark = pytest.mark.usefixtures("folder")

_AARCH64 = 183  # e_machine


UNREADABLE = "warning: unable to read the .gnu_debugdata section"


def packed(count: int) -> Section:
    """MiniDebugInfo with that many symbols."""
    symbols = [Symbol(f"inner{n}", 0x1100 + 0x10 * n, 0x10) for n in range(count)]
    image = Elf([code_section()], symbols=symbols).to_bytes()
    return Section(".gnu_debugdata", lzma.compress(image))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing", "No such file or directory"),
        ("text", "The file was not recognized as a valid object file"),
    ],
)
def test_an_input_that_cannot_be_converted_is_named(
    path: str, reason: str, folder: Path, run: Run
) -> None:
    (folder / "text").write_text("no object file")
    printed = run("--convert", path)
    assert printed == (1, f"Input file: {path}\n", f"{path}: {reason}\n")


@pytest.mark.parametrize(
    ("options", "path"),
    [
        (["--out-file=small"], "small"),
        (["--json-summary-file=small"], "small"),
        (["--callsites-yaml-file=a.yaml", "--out-file=a.yaml"], "a.yaml"),
        (["--symtab-file=full", "--out-file=full"], "full"),
    ],
)
def test_no_input_is_written_over(
    options: list[str], path: str, folder: Path, run: Run
) -> None:
    for name in ("a.yaml", "full"):
        (folder / name).write_text("kept")
    before = (folder / path).read_bytes()
    printed = run("--convert=small", *options)
    assert printed == (1, "", f"{path}: the output would replace the input\n")
    assert (folder / path).read_bytes() == before


def test_symbols_are_taken_from_the_file_named_for_them(folder: Path, run: Run) -> None:
    own, other = Symbol("own", 0x1000, 0x10), Symbol("other", 0x1010, 0x10)
    (folder / "app").write_bytes(Elf([code_section()], symbols=[own]).to_bytes())
    (folder / "full").write_bytes(Elf([code_section()], symbols=[other]).to_bytes())
    arm = Elf([code_section()], symbols=[other], machine=_AARCH64).to_bytes()
    (folder / "arm").write_bytes(arm)
    status, printed, _ = run("--convert=app", "--symtab-file=full", "--out-file=a.gsym")
    assert status == 0
    assert "Using symbol table file: full\nLoaded 1 functions from symbol" in printed
    with gsym.open(folder / "a.gsym") as reader:
        assert [each.name for each in reader.functions()] == ["other"]
    status, _, reason = run("--convert=app", "--symtab-file=arm")
    assert (status, reason[:5]) == (1, "arm: ")
    status, _, reason = run("--convert=app", "--symtab-file=none")
    assert (status, reason) == (1, "none: No such file or directory\n")


# ---- steps of a conversion, as in LLVM's main branch of November 2026: the source of
# ObjectFileTransformer.cpp, and for --stubs-file the test macho-stubs-file.yaml


def steps(printed: str) -> list[str]:
    """The lines between the output and what was pruned."""
    lines = printed.splitlines()
    ends = [n for n, line in enumerate(lines) if line.startswith(("Loaded", "Pruned"))]
    return lines[ends[0] + 1 : ends[-1]]


def macho(*names: str, indirect: tuple[int, ...] = ()) -> bytes:
    """A Mach-O file with a stub, which calls the imported function that comes first."""
    defined = [
        macho_inputs.Symbol(f"_{name}", 0x1000 + 8 * n) for n, name in enumerate(names)
    ]
    imported = macho_inputs.Symbol(
        "_puts", 0, 0, macho_inputs.UNDEFINED | macho_inputs.EXTERNAL
    )
    stubs = macho_inputs.Section(
        "__stubs",
        address=0x2000,
        size=12,
        flags=macho_inputs.CODE | macho_inputs.SYMBOL_STUBS,
        stub_size=12,
    )
    sections = [macho_inputs.code(0x1000, 0x10), stubs]
    symbols = [imported, *defined]
    x86_64 = (macho_inputs.X86_64, 3)
    return macho_inputs.Macho(
        sections, symbols, indirect=indirect, cpu=x86_64
    ).to_bytes()


# A number stands for the line of that many stubs.
MACHO_STEPS = [
    ("dsym", [], ["Loaded 2 functions from symbol table.", 0]),
    ("app", [], ["Loaded 1 functions from symbol table.", 1]),
    (
        "dsym",
        ["--stubs-file=app"],
        ["Using symbol stubs file: app", "Loaded 2 functions from symbol table.", 1],
    ),
    (
        "dsym",
        ["--symtab-file=app"],
        ["Using symbol table file: app", "Loaded 1 functions from symbol table.", 1],
    ),
    (
        "dsym",
        ["--symtab-file=app", "--stubs-file=app"],
        [
            "Using symbol stubs file: app",
            "Using symbol table file: app",
            "Loaded 1 functions from symbol table.",
            1,
        ],
    ),
    (
        "dsym",
        ["--stubs-file=elf"],
        [
            "Using symbol stubs file: elf",
            "Loaded 2 functions from symbol table.",
            "warning: the symbol stubs file is not a mach-o file",
        ],
    ),
]


@pytest.mark.parametrize(("path", "options", "expected"), MACHO_STEPS)
def test_each_source_of_symbols_is_reported(
    path: str, options: list[str], expected: list[str | int], folder: Path, run: Run
) -> None:
    (folder / "dsym").write_bytes(macho("main", "helper"))
    (folder / "app").write_bytes(macho("main", indirect=(0,)))
    elf = Elf([code_section()]).to_bytes()
    (folder / "elf").write_bytes(elf)
    status, printed, _ = run(f"--convert={path}", *options, "-o", "a.gsym")
    assert status == 0
    lines = [
        f"Loaded {each} functions from symbol stubs." if isinstance(each, int) else each
        for each in expected
    ]
    assert steps(printed) == lines
    with gsym.open(folder / "a.gsym") as reader:
        names = [each.name for each in reader.functions() if each.start == 0x2000]
    assert names == ["symbol stub for: puts"] * (expected[-1] == 1)


def test_a_file_of_stubs_must_be_one(folder: Path, run: Run) -> None:
    (folder / "dsym").write_bytes(macho("main"))
    (folder / "text").write_text("no object file")
    status, _, reason = run("--convert=dsym", "--stubs-file=text", "-o", "a.gsym")
    assert status == 1
    assert reason.startswith("text: ")
    status, _, reason = run("--convert=dsym", "--stubs-file=dsym", "-o", "dsym")
    assert (status, reason) == (1, "dsym: the output would replace the input\n")


@pytest.mark.parametrize(
    ("sections", "dynamic", "expected"),
    [
        ((), 0, []),
        # Without a symbol table, where LLVM takes dynamic symbols only beside the next.
        ((), 1, ["Loaded 1 functions from dynamic symbol table."]),
        (
            (packed(2),),
            1,
            [
                "Loaded 1 functions from dynamic symbol table.",
                "Loaded 2 functions from .gnu_debugdata symbol table.",
            ],
        ),
        (
            (Section(".gnu_debugdata", lzma.compress(b"")[:-1]),),
            1,
            [
                "Loaded 1 functions from dynamic symbol table.",
                f"{UNREADABLE}: it is damaged: it is truncated",
            ],
        ),
    ],
)
def test_each_symbol_table_of_an_elf_file_is_reported(
    sections: tuple[Section, ...],
    dynamic: int,
    expected: list[str],
    folder: Path,
    run: Run,
) -> None:
    exported = [Symbol("exported", 0x1040, 0x10)] * dynamic
    own = [] if dynamic else [Symbol("own", 0x1040, 0x10)]
    image = Elf([code_section(), *sections], symbols=own, dynamic_symbols=exported)
    (folder / "app").write_bytes(image.to_bytes())
    status, printed, _ = run("--convert=app")
    first = f"Loaded {len(own)} functions from symbol table."
    assert (status, steps(printed)) == (0, [first, *expected])
    counted = "Failed to load the .gnu_debugdata section occurred 1 time(s)\n"
    assert (counted in printed) == (UNREADABLE in printed)
    assert UNREADABLE not in run("--convert=app", "--quiet").out


def test_only_warnings_that_exist_are_given_llvms_name() -> None:
    assert set(_LLVM_CATEGORY) <= set(CATEGORIES)


class TestConversion:
    @pytest.fixture
    def binary(self, gsym_fixtures: Path, folder: Path) -> str:
        (folder / "shapes").write_bytes((gsym_fixtures / "shapes").read_bytes())
        return "shapes"

    def test_the_output_is_the_input_with_an_ending(
        self, binary: str, run: Run
    ) -> None:
        assert "Output file (x86_64): shapes.gsym\n" in run("--convert", binary).out
        assert Path("shapes.gsym").exists()

    def test_the_last_of_several_outputs_counts(self, binary: str, run: Run) -> None:
        run("--convert", "no", "--convert", binary, "-o", "a", "--out-file=b")
        assert Path("b").exists()
        assert not Path("a").exists()

    def test_segments_are_named_after_their_first_function(
        self, binary: str, run: Run
    ) -> None:
        assert run("--convert", binary, "-o", "s", "--segment-size=300").status == 0
        assert sorted(map(str, Path().glob("s-*"))) == [
            "s-0x1670",
            "s-0x1770",
            "s-0x1840",
        ]
        assert not Path("s").exists()

    def test_a_segment_must_hold_a_function(self, binary: str, run: Run) -> None:
        printed = run("--convert", binary, "--segment-size=57")
        assert printed.status == 1
        assert printed.err == (
            "DWARF conversion failed: : a segment size of 57 is to small to fit any "
            "function infos, specify a larger value\n"
        )

    def test_an_output_that_cannot_be_written_fails_the_conversion(
        self, binary: str, run: Run
    ) -> None:
        printed = run("--convert", binary, "-o", "no/where")
        reason = "No such file or directory"
        assert (printed.status, printed.err) == (
            1,
            f"DWARF conversion failed: : {reason}\n",
        )

    def test_the_summary_counts_warnings_by_category(
        self, binary: str, run: Run
    ) -> None:
        assert run("--convert", binary, "--json-summary-file=s.json").status == 0
        summary = Path("s.json").read_text()
        assert summary == '{"error-categories":{},"error-count":0}'

    def test_a_summary_that_cannot_be_written_is_named(
        self, binary: str, run: Run
    ) -> None:
        printed = run("--convert", binary, "--json-summary-file=no/where")
        assert printed.status == 1
        assert printed.out.endswith(
            "error opening aggregate error json file 'no/where' for writing: "
            "No such file or directory\n"
        )

    def test_verification_finds_nothing_in_a_good_file(
        self, binary: str, run: Run
    ) -> None:
        printed = run("--convert", binary, "--verify")
        assert printed.status == 0
        assert printed.out.endswith('Verifying GSYM file "shapes.gsym":\n')
