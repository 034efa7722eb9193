"""Every byte of the code of small programs, for all processors, beside three readers.

    python -m tests.differential.sweep [NAME]... [--jobs N] [--show CLASS] [--write]

The programs are C, C++ and assembly without libraries, at several levels of
optimization and in several versions of DWARF, by the compilers and linkers that are
here. llvm-symbolizer, addr2line and eu-addr2line answer from the DWARF. Where two of
them agree against us, in the name of the function, the innermost place or the chain of
calls, the difference must be of a known class (`differences.py`); what remains is
unexplained, and the exit status 1. A NAME is a part of the name of a row, such as
`pe` or `riscv64 ld.lld`. Takes five minutes on two cores. --write puts the tables into
tests/differential/RESULTS.md.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from benchmarks.markdown import table
from benchmarks.report import context, made_by
from tests.differential import layout, peers, record
from tests.differential.differences import ADDR2LINE, LLVM_SYMBOLIZER, place_of
from tests.differential.judges import Context, describe, named, our_answers
from tests.differential.relocatable import place
from tests.differential.targets import UNITS, Program, Target, compile_units, make

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.differential.differences import Case, Class
    from tests.differential.judges import Frames

HEAD = (
    *("container", "processor", "linker", "programs", "readers", "addresses"),
    *("all agree", "one differs", "of a class", "unexplained"),
)
TEXT = """\
{environment}

{rows}

{classes}"""
BFD, GOLD, MOLD, LLD = "ld.bfd", "ld.gold", "ld.mold", "ld.lld-22"
READERS: dict[str, Callable[[Path, Sequence[int]], list[Frames]]] = {
    peers.LLVM_SYMBOLIZER: peers.symbolizer_answers,
    "addr2line": peers.addr2line_answers,
    "eu-addr2line": peers.eu_addr2line_answers,
}

MEASURED = ("clang-22", "gcc", BFD, GOLD, MOLD, LLD, *READERS)  # by their versions

# ---- what is built -------------------------------------------------------------------

LANGUAGES = {"C++": UNITS, "C": ("bare.c",), "assembly": ("bare.S",)}
VARIANTS = {
    "C++": ("-O0 -gdwarf-4", "-O1 -gdwarf-5", "-O2 -gdwarf-4", "-Os -gdwarf-5"),
    "C": (
        *("-O0 -gdwarf-5", "-O1 -gdwarf-4", "-O2 -gdwarf-5", "-Os -gdwarf-4"),
        "-O2 -gdwarf-6",
    ),
    "assembly": ("-gdwarf-4", "-gdwarf-5"),
}
# What is not called from here is dead code of the programs for size.
ENTRIES = {"C++": "plain_name", "C": "shown", "assembly": "start"}


class Toolchain(NamedTuple):
    """A compiler for a processor, and commands that link what it compiles.

    Both are commands in words; the compiler is that of C, and "" links nothing.
    """

    container: str
    processor: str
    compiler: str
    linkers: tuple[str, ...]

    def row(self, linker: str) -> tuple[str, str, str]:
        """The first columns of the line of the table."""
        used = linker.partition(" ")[0] if linker else "not linked"
        return self.container, self.processor, used


class Job(NamedTuple):
    """Something to compile once, and link with each linker."""

    toolchain: Toolchain
    language: str
    options: str

    def title(self, linker: str) -> str:
        """What is built, for reports."""
        row = self.toolchain.row(linker)
        compiler = self.toolchain.compiler
        return " ".join([*row, compiler, self.language, self.options])


def _clang(container: str, processor: str, target: str, *linkers: str) -> Toolchain:
    compiler = f"clang-22 --target={target}"
    return Toolchain(container, processor, compiler, linkers or ("",))


def _zig(container: str, processor: str, target: str) -> Toolchain:
    compiler = f"zig cc -target {target} -fno-sanitize=undefined -fno-stack-protector"
    return Toolchain(container, processor, compiler, (f"{compiler} -nostdlib",))


_X86_64 = (BFD, GOLD, MOLD, LLD)
_X32 = ("ld.bfd -melf32_x86_64", GOLD, LLD)
_I386 = ("ld.bfd -melf_i386", GOLD, MOLD, LLD)
_S390X = ("s390x-linux-gnu-ld.bfd", MOLD, LLD)
_LOW = f"{LLD} --image-base=0x1000"  # DWARF of 16 bits
_LD64 = "ld64.lld-22 -undefined dynamic_lookup"
_MACOS, _WATCHOS = (
    f"-platform_version {name}" for name in ("macos 11 11", "watchos 5 5")
)
TOOLCHAINS = (
    _clang("elf", "x86-64", "x86_64-unknown-elf", *_X86_64),
    _clang("elf", "x32", "x86_64-linux-gnux32", *_X32),
    _clang("elf", "i386", "i386-unknown-elf", *_I386),
    _clang("elf", "aarch64", "aarch64-elf", "aarch64-linux-gnu-ld.bfd", MOLD, LLD),
    _clang("elf", "aarch64_be", "aarch64_be-elf", LLD),
    _clang("elf", "arm", "armv7-linux-gnueabi", "arm-linux-gnueabi-ld.bfd", MOLD, LLD),
    _clang("elf", "armeb", "armebv7-elf", LLD),
    _clang("elf", "thumb", "thumbv7m-elf", MOLD, LLD),
    _clang("elf", "thumbeb", "thumbebv7-elf", LLD),
    _clang("elf", "riscv64", "riscv64-elf", "riscv64-linux-gnu-ld.bfd", MOLD, LLD),
    _clang("elf", "riscv32", "riscv32-elf", MOLD, LLD),
    _clang("elf", "powerpc64", "powerpc64-linux-gnu", LLD),
    _clang("elf", "powerpc64 v2", "powerpc64-linux-musl", MOLD, LLD),
    _clang("elf", "powerpc64le", "powerpc64le-linux-gnu", MOLD, LLD),
    _clang("elf", "powerpc", "powerpc-linux-gnu", MOLD, LLD),
    _clang("elf", "powerpcle", "powerpcle-elf", LLD),
    _clang("elf", "s390x", "s390x-linux-gnu", *_S390X),
    _clang("elf", "mips", "mips-linux-gnu", "mips-linux-gnu-ld.bfd", LLD),
    _clang("elf", "mipsel", "mipsel-elf", LLD),
    _clang("elf", "micromips", "mips-linux-gnu -mmicromips", LLD),
    _clang("elf", "mips64", "mips64-elf", LLD),
    _clang("elf", "mips64el", "mips64el-elf", LLD),
    _clang("elf", "loongarch64", "loongarch64-elf", LLD),
    _clang("elf", "loongarch32", "loongarch32-elf", LLD),
    _clang("elf", "sparc64", "sparc64-linux-gnu", MOLD, LLD),
    _clang("elf", "sparc", "sparc-elf"),
    _clang("elf", "sparcel", "sparcel-elf"),
    _clang("elf", "m68k", "m68k-linux-gnu", f"{MOLD} --defsym=__mulsi3=start"),
    _clang("elf", "hexagon", "hexagon-elf", LLD),
    _clang("elf", "avr", "avr-elf -mmcu=atmega2560", _LOW),
    _clang("elf", "msp430", "msp430-elf", _LOW),
    _clang("elf", "amdgcn", "amdgcn-amd-amdhsa -nogpulib", f"{LLD} -shared"),
    _clang("elf", "bpfel", "bpfel"),
    _clang("elf", "bpfeb", "bpfeb"),
    _clang("elf", "lanai", "lanai-elf"),
    _clang("elf", "ve", "ve-linux-gnu"),
    _clang("elf", "xtensa", "xtensa-elf"),
    Toolchain("elf", "x86-64", "gcc", _X86_64),
    Toolchain("elf", "x32", "gcc -mx32", _X32),
    Toolchain("elf", "i386", "gcc -m32", _I386),
    Toolchain("elf", "s390x", "s390x-linux-gnu-gcc", _S390X),
    _zig("elf", "x86-64", "x86_64-linux-musl"),
    _zig("elf", "sparc", "sparc-freestanding")._replace(linkers=("",)),
    _clang("macho", "arm64", "arm64-apple-macos11", f"{_LD64} -arch arm64 {_MACOS}"),
    _clang(
        "macho",
        "arm64_32",
        "arm64_32-apple-watchos5",
        f"{_LD64} -arch arm64_32 {_WATCHOS}",
    ),
    _clang("macho", "x86-64", "x86_64-apple-macos11", f"{_LD64} -arch x86_64 {_MACOS}"),
    _clang("macho", "i386", "i386-apple-macos10.6"),
    _clang("macho", "armv7", "armv7-apple-ios9"),
    _clang("macho", "armv7k", "armv7k-apple-watchos3"),
    _zig("macho", "arm64", "aarch64-macos"),
    _zig("macho", "x86-64", "x86_64-macos"),
    _clang(
        *("pe", "x86-64", "x86_64-w64-mingw32"),
        *(f"{LLD} -m i386pep", "x86_64-w64-mingw32-ld"),
    ),
    _clang(
        *("pe", "i386", "i686-w64-mingw32"),
        *(f"{LLD} -m i386pe", "i686-w64-mingw32-ld"),
    ),
    _clang("pe", "arm", "armv7-w64-mingw32", f"{LLD} -m thumb2pe"),
    _clang("pe", "aarch64", "aarch64-w64-mingw32", f"{LLD} -m arm64pe"),
    _clang(
        "pe",
        "arm64ec",
        "arm64ec-w64-mingw32",
        f"{LLD} -m arm64ecpe",
    ),
    Toolchain("pe", "x86-64", "x86_64-w64-mingw32-gcc", ("x86_64-w64-mingw32-ld",)),
    Toolchain("pe", "i386", "i686-w64-mingw32-gcc", ("i686-w64-mingw32-ld",)),
    _zig("pe", "x86-64", "x86_64-windows-gnu"),
    _zig("pe", "aarch64", "aarch64-windows-gnu"),
)


def _is_useless(toolchain: Toolchain, language: str, options: str) -> bool:
    """Whether it cannot be built, or the tools that build it spoil the DWARF."""
    is_bundled = toolchain.container == "macho" and toolchain.linkers != ("",)
    if "dwarf-6" in options:  # dsymutil drops it
        return is_bundled or not toolchain.compiler.startswith("clang")
    # In the debug map of zig's linker weak functions are where their stubs are.
    is_zig = toolchain.compiler.startswith("zig")
    return is_bundled and is_zig and language == "C++" and "-O0" in options


JOBS = tuple(
    Job(toolchain, language, options)
    for toolchain in TOOLCHAINS
    for language in LANGUAGES
    for options in VARIANTS[language]
    if not _is_useless(toolchain, language, options)
)


def missing_tools() -> list[str]:
    """Compilers and linkers of the list and readers that are not installed."""
    words = {
        command.partition(" ")[0]
        for each in TOOLCHAINS
        for command in (each.compiler, *each.linkers)
    }
    names = sorted({*words, *READERS, "dsymutil-22"} - {"", "zig"})
    return [*peers.missing_tools(*names), *([] if peers.zig() else ["zig"])]


def build(job: Job, linker: str, folder: Path) -> Program:
    """The program of a job; a test is skipped where it cannot be built here.

    The judge of DWARF 6, which no reader knows, is the program with DWARF 5.
    """
    if "dwarf-6" not in job.options:
        return _build(job, linker, folder)
    known = job._replace(options=job.options.replace("dwarf-6", "dwarf-5"))
    judge = shutil.copy(_build(known, linker, folder).judge, folder / "judge")
    return Program(_build(job, linker, folder).binary, Path(judge))


def _build(job: Job, linker: str, folder: Path) -> Program:
    container, is_small = job.toolchain.container, "-Os" in job.options
    target = Target("", container, _compiler(job), ())
    options = (*job.options.split(), "-Dmain=start", "-ffunction-sections")
    options = options if is_small or container == "macho" else options[:-1]
    if job.toolchain.compiler.startswith("clang") and job.language == "C++":
        options += ("-gdwarf-aranges",)  # without which eu-addr2line finds no line
    units = LANGUAGES[job.language]
    objects = compile_units(target, folder, *options, units=units)
    if not linker:
        return _not_linked(container, objects[0])
    entry = ENTRIES[job.language] if is_small else "start"
    words = [peers.zig() if word == "zig" else word for word in linker.split()]
    words += ["-e", f"_{entry}" if container == "macho" else entry]
    if container == "elf" and words[0] != peers.zig():
        words += ["--unresolved-symbols=ignore-all"]
    if is_small:
        is_driver = words[0] == peers.zig()
        dead = "-dead_strip" if container == "macho" else "--gc-sections"
        words.append(f"-Wl,{dead}" if is_driver else dead)
    output = folder / ("program.exe" if container == "pe" else "program")
    make(*words, *map(str, objects), "-o", str(output), folder=folder)
    if container != "macho":
        return Program(output, output)
    make("dsymutil-22", str(output), folder=folder)
    inner = folder / "program.dSYM" / "Contents" / "Resources" / "DWARF" / "program"
    return Program(folder / "program.dSYM", inner)


def _compiler(job: Job) -> tuple[str, ...]:
    program, *words = job.toolchain.compiler.split()
    if program == "zig":
        program, words[0] = peers.zig(), "c++" if job.language == "C++" else "cc"
    elif job.language == "C++":
        program = program.replace("clang", "clang++").replace("gcc", "g++")
    return program, *words


def _not_linked(container: str, path: Path) -> Program:
    if container != "elf":
        return Program(path, path)
    return Program(path, place(path, path.with_suffix(".judge")))


# ---- what is asked -------------------------------------------------------------------


class Swept(NamedTuple):
    """What came of a program, or of all of a row.

    *readers* are those that read it. *alone* counts the addresses where they do not
    agree with each other against us, *classes* those where they do, by class, ""
    where there is none. *unexplained* has those as text, *shown* the cases of the
    class that was asked for.
    """

    programs: int
    readers: frozenset[str]
    addresses: int
    equal: int
    alone: int
    classes: Counter[str]
    unexplained: list[str]
    shown: list[str]

    def __add__(self, other: Swept) -> Swept:  # type: ignore[override]
        return Swept(
            self.programs + other.programs,
            self.readers | other.readers,
            self.addresses + other.addresses,
            self.equal + other.equal,
            self.alone + other.alone,
            self.classes + other.classes,
            [*self.unexplained, *other.unexplained],
            [*self.shown, *other.shown],
        )


ASPECTS: tuple[Callable[[Frames], object], ...] = (
    lambda frames: frames[-1].name if frames else "",
    lambda frames: place_of(frames[0]) if frames else ("", 0),
    lambda frames: [(frame.name, *place_of(frame)) for frame in frames],
)


def sweep(program: Program, title: str, show: str = "") -> Swept:
    """Ask every byte of the code of a program, converted beside nothing."""
    with tempfile.TemporaryDirectory() as folder:
        ours = Path(folder) / "ours.gsym"
        gsym.convert(str(program.binary), str(ours))
        code = layout.code(program.judge)
        addresses = [at for start, end in code for at in range(start, end)]
        theirs = _answers(program.judge, addresses)
        equal = 0
        against: dict[tuple[Class, ...], list[tuple[int, tuple[Frames, ...]]]]
        against = {LLVM_SYMBOLIZER: [], ADDR2LINE: []}
        for at, answer in enumerate(our_answers(ours, addresses)):
            said = {name: frames[at] for name, frames in theirs.items()}
            equal += all(_agree(answer, each) for each in said.values())
            pair = against_us(answer, said)
            if pair:
                other = next((each for each in said if each not in pair), pair[-1])
                is_llvm = pair[0] == peers.LLVM_SYMBOLIZER
                classes = LLVM_SYMBOLIZER if is_llvm else ADDR2LINE
                frames = (answer, said[pair[0]], said[other])
                against[classes].append((addresses[at], frames))
        found: list[tuple[str, Case]] = []
        with Context(program.judge, ours, program.binary) as context:
            for classes, cases in against.items():
                asked = [address for address, _ in cases]
                columns = [[said[who] for _, said in cases] for who in range(3)]
                found += named(context, asked, columns, classes)
    return Swept(
        1,
        frozenset(theirs),
        len(addresses),
        equal,
        len(addresses) - equal - len(found),
        Counter(name for name, _ in found),
        _described(title, [case for name, case in found if not name]),
        _described(title, [case for name, case in found if name and name == show]),
    )


def _described(title: str, cases: list[Case]) -> list[str]:
    """Each of several addresses with the same answers, but those after the first."""
    counts = Counter((each.ours, each.theirs, each.other) for each in cases)
    first = {(each.ours, each.theirs, each.other): each for each in reversed(cases)}
    return [
        f"{title}: {count} as {describe(first[answers])}"
        for answers, count in counts.items()
    ]


def _answers(judge: Path, addresses: Sequence[int]) -> dict[str, list[Frames]]:
    """Those of the readers that are here and know the container.

    Where rows have the bit that chooses Thumb code or microMIPS, they are asked at
    addresses that have it, too.
    """
    bit = int(layout.rows_have_isa_bits(judge))
    asked = [address | bit for address in addresses]
    answers = {name: _answered(ask, judge, asked) for name, ask in READERS.items()}
    return {name: each for name, each in answers.items() if each is not None}


def _answered(
    ask: Callable[[Path, Sequence[int]], list[Frames]], judge: Path, asked: list[int]
) -> list[Frames] | None:
    try:
        return ask(judge, asked)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None


def _agree(ours: Frames, theirs: Frames) -> bool:
    return all(aspect(ours) == aspect(theirs) for aspect in ASPECTS)


def against_us(ours: Frames, said: dict[str, Frames]) -> tuple[str, ...]:
    """Two readers that agree with each other and not with us, or the only one."""
    for aspect in ASPECTS:
        other = {name: aspect(frames) for name, frames in said.items()}
        for pair in itertools.combinations(other, min(2, len(other))):
            if all(other[name] == other[pair[0]] != aspect(ours) for name in pair):
                return pair
    return ()


def swept(job: Job, show: str = "") -> list[tuple[str, Swept | str]]:
    """The programs of a job by linker, or why one is not built here."""
    found: list[tuple[str, Swept | str]] = []
    for linker in job.toolchain.linkers:
        with tempfile.TemporaryDirectory() as folder:
            try:
                program = build(job, linker, Path(folder))
                found.append((linker, sweep(program, job.title(linker), show)))
            except (pytest.skip.Exception, gsym.EmptyError) as reason:
                found.append((linker, str(reason).partition("\n")[0]))
    return found


# ---- the command ---------------------------------------------------------------------


def matching(names: Sequence[str]) -> list[Job]:
    """The jobs with rows whose names contain one of *names*; all if there is none."""
    jobs = []
    for job in JOBS:
        linkers = tuple(
            linker
            for linker in job.toolchain.linkers
            if not names or any(name in job.title(linker) for name in names)
        )
        if linkers:
            toolchain = job.toolchain._replace(linkers=linkers)
            jobs.append(job._replace(toolchain=toolchain))
    return jobs


def figures(found: Swept) -> list[str]:
    """The other columns of a line of the table."""
    return [
        f"{found.programs:,}",
        str(len(found.readers)),
        *(f"{each:,}" for each in (found.addresses, found.equal, found.alone)),
        f"{found.classes.total() - found.classes['']:,}",
        f"{found.classes['']:,}",
    ]


def class_rows(rows: dict[tuple[str, str, str], Swept]) -> list[list[str]]:
    """One line for each class: what it is, how often and where."""
    known = {each.__name__: each for each in ADDR2LINE}
    counts = {
        name: {" ".join(row): found.classes[name] for row, found in rows.items()}
        for name in known
    }
    return [
        [
            f"`{name}`: {(known[name].__doc__ or '').partition(chr(10))[0]}",
            f"{sum(of_class.values()):,}",
            ", ".join(
                f"{row} {count:,}"
                for row, count in Counter(of_class).most_common(3)
                if count
            ),
        ]
        for name, of_class in counts.items()
        if any(of_class.values())
    ]


def main() -> int:
    """Build, ask, print, and with --write keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="*", help="part of a title, such as riscv64")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--show", default="", help="print the cases of this class")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    arguments = parser.parse_args()
    if arguments.name and arguments.write:
        parser.error("the tables are those of all programs")
    missing = missing_tools()
    for tool in missing:
        print(f"not installed: {tool}", file=sys.stderr)
    rows: dict[tuple[str, str, str], Swept] = {}
    jobs = matching(arguments.name)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        shown = itertools.repeat(arguments.show)
        for job, found in zip(jobs, pool.map(swept, jobs, shown), strict=True):
            for linker, result in found:
                row = job.toolchain.row(linker)
                if isinstance(result, str):
                    print(f"left out: {job.title(linker)}: {result}", file=sys.stderr)
                    continue
                rows[row] = rows[row] + result if row in rows else result
                for text in (*result.unexplained, *result.shown):
                    print(text, file=sys.stderr)
    if not rows:
        parser.error("nothing was built")
    every = list(rows.values())
    total = sum(every[1:], every[0])
    lines = [[*row, *figures(found)] for row, found in rows.items()]
    tools = [each for each in MEASURED if each not in missing]
    command = "python -m tests.differential.sweep"
    text = TEXT.format(
        environment=f"{made_by(command, tools)}\n{context()}",
        rows=table(HEAD, [*lines, ["all", "", "", *figures(total)]]),
        classes=table(("class", "addresses", "most of them"), class_rows(rows)),
    )
    print(text)
    if arguments.write:
        record.keep_region(record.SWEEP, text)
    return int(bool(total.unexplained))


if __name__ == "__main__":
    sys.exit(main())
