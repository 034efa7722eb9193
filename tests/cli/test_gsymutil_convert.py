"""`gsymutil --convert`: files it writes, lines it prints, ways to fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.dropins.gsymutil_convert import _LLVM_CATEGORY
from gsym.conversion.unit_job import _CATEGORIES
from tests.inputs.elf import Elf, Symbol, code_section

if TYPE_CHECKING:
    from tests.gsymutil_runs import Run

pytestmark = pytest.mark.usefixtures("folder")

_AARCH64 = 183  # e_machine


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


def test_only_warnings_that_exist_are_given_llvms_name() -> None:
    assert set(_LLVM_CATEGORY) <= set(_CATEGORIES.values())


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
