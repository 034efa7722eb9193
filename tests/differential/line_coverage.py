"""How many functions that llvm-dwarfdump shows with lines have lines in our file.

llvm-dwarfdump prints the DIEs and the rows of the line tables; which function has a
row is worked out here, from the text.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from elftools.elf.elffile import ELFFile

import gsym

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

U64_END = 2**64
LLVM_DWARFDUMP = "llvm-dwarfdump-22"

# What is looked at: the rest of a dump, most of it, does not reach Python.
DIE_LINES = r"DW_TAG_|DW_AT_(low_pc|high_pc|ranges)|^ *\[0x[^:]*$|: file format "
ROW_LINES = r"^0x[0-9a-f]{16} "
NUMBER = re.compile(r"0x([0-9a-f]+)(?: \"(.*?)\")?\)$", re.MULTILINE)
RANGE = re.compile(r"\[0x([0-9a-f]+), 0x([0-9a-f]+)\)(?: \"(.*?)\")?")


class Code(NamedTuple):
    """Addresses of a function; *section* where they count from its start."""

    start: int
    end: int
    section: str = ""


class Coverage(NamedTuple):
    """Functions with lines in the DWARF, and those of them that lack them in ours."""

    functions: int
    missing: list[Code]

    @property
    def with_lines(self) -> int:
        return self.functions - len(self.missing)


def cover(binary: Path, debug_file: Path, ours: Path) -> Coverage:
    """Compare the DWARF of *debug_file* with a file made of *binary*.

    Addresses of a relocatable file count from the start of their section, so there
    functions are told by their sizes.
    """
    rows = Rows(debug_file)
    places = text_of(binary)
    is_relocatable = places is None
    functions = {
        code
        for code in dwarf_functions(debug_file, verbose=is_relocatable)
        if rows.any_in(code) and (places is None or places.hold(code))
    }
    with gsym.open(ours) as reader:
        known = {
            (function.start, function.size)
            for function in reader.functions()
            if function.line_table is not None
        }
    if is_relocatable:
        return Coverage(len(functions), missing_sizes(functions, known))
    starts = {address for address, _ in known}
    return Coverage(
        len(functions), sorted(code for code in functions if code.start not in starts)
    )


def missing_sizes(functions: set[Code], known: set[tuple[int, int]]) -> list[Code]:
    """Functions that find none of their size among *known*, each taken once."""
    left = Counter(size for _, size in known)
    left.subtract(code.end - code.start for code in functions)
    return sorted(code for code in functions if left[code.end - code.start] < 0)


def dump(path: Path, pattern: str, *options: str) -> Iterator[str]:
    """Lines of a dump that *pattern* fits."""
    with (
        subprocess.Popen(
            [LLVM_DWARFDUMP, *options, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=path.parent,
        ) as printer,
        subprocess.Popen(
            ["grep", "-aE", pattern],
            stdin=printer.stdout,
            stdout=subprocess.PIPE,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
            text=True,
            errors="replace",
        ) as chosen,
    ):
        assert chosen.stdout is not None
        yield from chosen.stdout


def dwarf_functions(path: Path, *, verbose: bool) -> set[Code]:
    """All subprograms that have code."""
    found: set[Code] = set()
    low, in_subprogram, in_ranges = Code(0, 0), False, False
    options = ["--debug-info", "--dwo", *(["--verbose"] if verbose else [])]
    for line in dump(path, DIE_LINES, *options):
        if "DW_TAG_" in line:
            in_subprogram = "DW_TAG_subprogram" in line
            in_ranges = False
        elif "(dead code)" in line:  # the linker dropped it
            in_subprogram = False
        elif not in_subprogram:
            continue
        elif "DW_AT_low_pc" in line:
            low, in_ranges = _number(line), False
        elif "DW_AT_high_pc" in line:
            in_ranges = False
            end = _number(line).start
            if verbose and "[DW_FORM_addr" not in line:
                end += low.start
            found.add(low._replace(end=end))
        elif "DW_AT_ranges" in line:
            in_ranges = True
        elif in_ranges:
            match = RANGE.search(line)
            assert match is not None
            found.add(Code(int(match[1], 16), int(match[2], 16), match[3] or ""))
    return {code for code in found if code.start < code.end}


def _number(line: str) -> Code:
    match = NUMBER.search(line)
    assert match is not None, line
    return Code(int(match[1], 16), 0, match[2] or "")


class Rows:
    """The addresses of all line tables."""

    def __init__(self, path: Path) -> None:
        sequences: list[tuple[int, int]] = []
        addresses: list[int] = []
        rows: list[int] = []
        for line in dump(path, ROW_LINES, "--debug-line"):
            address = int(line[:18], 16)
            if "end_sequence" in line:
                if rows:
                    sequences.append((rows[0], address))
                addresses += rows
                rows = []
            else:
                rows.append(address)
        self.addresses = sorted(addresses)
        self._sequences = sorted(sequences)
        self._starts = [start for start, _ in self._sequences]

    def any_in(self, code: Code) -> bool:
        """Whether a row stands for one of the addresses."""
        at = bisect_left(self.addresses, code.start)
        if at < len(self.addresses) and self.addresses[at] < code.end:
            return True
        at = bisect_right(self._starts, code.start) - 1
        return at >= 0 and code.start < self._sequences[at][1]


class Places:
    """Addresses that hold code."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self._ranges = sorted(ranges)

    def hold(self, code: Code) -> bool:
        return any(start <= code.start < end for start, end in self._ranges)


_EXECUTABLE = 4
_MH_OBJECT = b"\1\0\0\0"


def text_of(binary: Path) -> Places | None:
    """Where a linked file has code; None for a relocatable one."""
    with binary.open("rb") as file:
        head = file.read(16)
        if not head.startswith(b"\x7fELF"):
            # In a linked file 0 stands for what the linker left out.
            is_object = head[12:] == _MH_OBJECT
            return Places([(0 if is_object else 1, U64_END)])
        elf = ELFFile(file)
        if elf["e_type"] == "ET_REL":
            return None
        return Places(
            [
                (section["sh_addr"], section["sh_addr"] + section["sh_size"])
                for section in elf.iter_sections()
                if section["sh_flags"] & _EXECUTABLE
            ]
        )
