"""`gsym-addr2line` beside GNU addr2line: programs built here and real files."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.modules.binary_lookup import BinarySearch, find_gsym
from tests.addr2line_runs import addr2line
from tests.differential.differences import ADDR2LINE, why
from tests.differential.judges import Context, describe, unchanged
from tests.differential.layout import symbol_table
from tests.differential.peers import (
    addr2line_answers,
    addr2line_frames,
    addr2line_texts,
    run,
    symbolizer_answers,
    without_discriminators,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCES = Path(__file__).parent / "sources"
MOST_ADDRESSES = 4000
# With -a, so that the answers can be told apart.
NAMELESS_FORMS = ("-a", "-as", "-ai", "-pa", "-spia")
FORMS = (*NAMELESS_FORMS, "-af", "-afi", "-Cafi", "-Cfpia")
BUILDS = tuple(
    (compiler, source, options)
    for compiler, source in (("gcc", "shapes.c"), ("g++", "shapes.cc"))
    for options in (
        *("-gdwarf-4 -O0", "-gdwarf-5 -O0", "-gdwarf-5 -O1", "-gdwarf-4 -O2"),
        *("-gdwarf-5 -O2", "-gdwarf-5 -O2 -gz=zlib", "-g0"),
    )
)
FIXTURES = (
    "symbolic/linux/crash",
    "symbolic/linux/crash.debug",
    "symblib/inline",
    "symblib/inline-compressed-dwarf-zstd",
    "gsym/shapes",
)

missing = [tool for tool in ("addr2line", "gcc", "g++") if shutil.which(tool) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"not installed: {missing}")


def addresses_of(path: str, cache: Path) -> list[int]:
    """Of all functions, with what is right before and after them."""
    with gsym.open(converted(path, cache)) as reader:
        found = sorted(
            {
                address
                for function in reader.functions()
                for address in range(
                    max(0, function.start - 2), function.start + function.size + 3
                )
            }
        )
    return found[:: len(found) // MOST_ADDRESSES + 1]


def converted(path: str, cache: Path) -> Path:
    """The GSYM file that answers for a binary."""
    reader = find_gsym(path, BinarySearch(cache=str(cache))).reader
    assert reader is not None
    assert reader.path is not None
    with reader:
        return Path(reader.path)


def both(path: str, form: str, lines: bytes, cache: Path) -> tuple[str, str]:
    """What GNU addr2line prints, without discriminators, and what we do."""
    gnu = run("addr2line", form, "-e", path, stdin=lines.decode())
    ours = addr2line(form, "-e", path, cache=cache, lines=lines)
    assert (ours.complaints, ours.status) == ("", 0)
    return without_discriminators(gnu), ours.output.decode()


def compare(
    path: str, numbers: Sequence[int], cache: Path, forms: Sequence[str]
) -> Counter[str]:
    """How often answers are equal, and why those that are not differ.

    What is equal in the form that tells most must be so in all *forms*.
    """
    lines = b"".join(b"%x\n" % number for number in numbers)
    gnu, ours = map(addr2line_texts, both(path, "-afi", lines, cache))
    llvm = symbolizer_answers(Path(path), numbers)
    equal = []
    cases = []
    with Context(Path(path), converted(path, cache)) as context:
        for number, theirs, own, other in zip(numbers, gnu, ours, llvm, strict=True):
            if theirs == own:
                equal.append(number)
                continue
            frames = (addr2line_frames(own), addr2line_frames(theirs))
            cases.append(context.case(number, *frames, other))
        cases = context.detailed(cases, unchanged)
    counts = Counter(equal=len(equal))
    for case in cases:
        reason = why(case, ADDR2LINE)
        assert reason, describe(case)
        counts[reason] += 1
    lines = b"".join(b"0x%x\n" % number for number in equal)
    for form in forms:
        theirs, own = both(path, form, lines, cache)
        assert theirs == own, form
    return counts


@pytest.mark.parametrize(("compiler", "source", "options"), BUILDS)
def test_programs_get_the_answers_of_addr2line(
    compiler: str, source: str, options: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "program")
    command = [compiler, *options.split(), "-o", path, str(SOURCES / source)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{' '.join(command)}: {done.stderr}")
    # The names that addr2line gives to calls of C++ depend on what it was asked before.
    has_odd_names = compiler == "g++" and "-O0" not in options
    forms = NAMELESS_FORMS if has_odd_names else FORMS
    found = compare(path, addresses_of(path, tmp_path), tmp_path, forms)
    assert found["equal"] > found.total() * (0.3 if "-gdwarf" in options else 0)
    if "-gdwarf-4" in options:
        assert found["path_is_joined_differently"] == 0


@pytest.mark.quick
@pytest.mark.parametrize("options", ["-O2 -g", "-O2 -g -flto"])
def test_names_of_functions_are_those_of_addr2line(
    options: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "program")
    run("g++", *options.split(), "-o", path, str(SOURCES / "shapes.cc"))
    with gsym.open(converted(path, tmp_path)) as reader:
        ours = {each.start: each.name for each in reader.functions()}
    aliases: dict[int, set[str]] = {}
    for symbol in symbol_table(Path(path)).symbols:
        if symbol.size:
            aliases.setdefault(symbol.start, set()).add(symbol.name)
    assert len(aliases) > 10
    # It names the function around a call that is inlined at the start, or that call.
    answers = addr2line_answers(Path(path), list(aliases))
    for (start, names), frames in zip(aliases.items(), answers, strict=True):
        theirs = {frame.name for frame in frames}
        assert theirs & {ours[start], *(names if ours[start] in names else ())}


def test_sections_of_an_object_file_count_from_zero(tmp_path: Path) -> None:
    path = str(tmp_path / "a.o")
    options = ["-g", "-O1", "-ffunction-sections", "-c"]
    run("gcc", *options, "-o", path, str(SOURCES / "shapes.c"))
    named = run("readelf", "-SW", path)
    sections = re.findall(r"\] (\.text\.\S+) +PROGBITS +\S+ \S+ (\S+)", named)
    assert len(sections) > 2
    for name, size in sections:
        lines = b"".join(b"%x\n" % offset for offset in range(int(size, 16) + 2))
        words = ("-fij", name, "-e", path)
        gnu = run("addr2line", *words, stdin=lines.decode())
        ours = addr2line(*words, cache=tmp_path, lines=lines).output.decode()
        # A function nested in another one has the name of its symbol.
        assert ours.replace("nested.0", "nested") == without_discriminators(gnu)


@pytest.mark.parametrize("name", FIXTURES)
def test_real_files_get_the_answers_of_addr2line(
    name: str, fixtures: Path, tmp_path: Path
) -> None:
    path = fixtures / name
    if not path.exists():
        pytest.skip(f"{path} is missing")
    numbers = addresses_of(str(path), tmp_path)
    found = compare(str(path), numbers, tmp_path, NAMELESS_FORMS)
    assert found["equal"] > found.total() * 0.3


ODD_ADDRESSES = (
    *("0", "", " ", "zz", "-1", "0x", "0xg", "12zz", "f" * 16, "f" * 17, "1\t2"),
    *("main", "main+1", "main+0x4", " main + 010", "nosuch+1", "main+", "a+1"),
)


def test_odd_addresses_are_read_as_addr2line_reads_them(tmp_path: Path) -> None:
    path = str(tmp_path / "program")
    run("gcc", "-g", "-O1", "-o", path, str(SOURCES / "shapes.c"))
    for word in ODD_ADDRESSES:
        for lines, words in ((f"{word}\n", []), ("", [word])):
            command = ("-af", "-e", path, "--", *words)
            gnu = run("addr2line", *command, stdin=lines)
            ours = addr2line(*command, cache=tmp_path, lines=lines.encode())
            assert ours.output.decode() == without_discriminators(gnu), word
