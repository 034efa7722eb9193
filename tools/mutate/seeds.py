"""Files of each kind that a command reads, small enough to be read often.

Most are made in memory by the writers of the tests; the real ones of GSYM_FIXTURES join
them.
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gsym.profiles.outputs import FORMS, write_form
from gsym.symbfile.columns import LineTableRow, Range
from gsym.symbfile.format import encode
from tests import report_examples
from tests.freeze.inputs import gsym_bytes, kind_of
from tests.fxt.traces import profile_trace, small_trace
from tests.inputs import macho, pe, perf_data
from tests.inputs.archive import member
from tests.inputs.core import small_core
from tests.inputs.dies import Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.elf import (
    RELOCATABLE,
    Compression,
    Elf,
    Section,
    Symbol,
    code_section,
    elf_of,
)
from tests.inputs.go import GO_VERSIONS, PROGRAM, go_elf, go_macho, go_pe
from tests.inputs.minidump import (
    ARM64,
    WINDOWS,
    X86,
    X86_64,
    Minidump,
    Module,
    Thread,
    codeview,
    elf_codeview,
    write_minidump,
)
from tests.inputs.program import LAYOUTS, function, inlined, unit
from tests.inputs.random_program import random_program
from tests.inputs.scaled import SERIES
from tests.inputs.split_examples import build
from tests.profiles import json_profiles, otlp_messages, pprof_messages
from tests.profiles.profiles import small_profile
from tools.fuzz_seeds import images, pdb_files, symbol_files, traces, whole_programs
from tools.mutate.damage import INFLATED, bombs

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.inputs.encoding import ByteOrder

_PROGRAMS = 200  # random ones
_LARGEST = 96 << 10  # bytes of a real file, so that many mutants fit in a minute
_ID = bytes(range(20))


class Seed(NamedTuple):
    """A file to be damaged, with those that belong to it.

    Attributes:
        name: Its name among all seeds.
        door: The commands that read it, one of tools/mutate/doors.py.
        files: All files, by path; the first is the one that is handed to the commands.
        target: The one that is damaged.
        operand: What the commands are given in place of the first file, such as the
            folder of a bundle.
    """

    name: str
    door: str
    files: dict[str, bytes]
    target: str
    operand: str

    @property
    def data(self) -> bytes:
        """The bytes that are damaged."""
        return self.files[self.target]


def single(name: str, door: str, data: bytes, suffix: str = "") -> Seed:
    """A seed of one file."""
    path = f"input{suffix}"
    return Seed(name, door, {path: data}, path, path)


def objects() -> Iterator[tuple[str, bytes]]:
    """Binaries and object files of every container."""
    for number in range(_PROGRAMS):
        yield f"elf-random-{number}", random_program(number)
    yield from ((f"elf-{name}", data) for name, data in whole_programs())
    for make in SERIES:
        yield f"elf-scaled-{make.__name__}", make(4)
    for number, layout in enumerate(LAYOUTS):
        dwarf = program(layout.version, layout.byteorder, layout.address_size)
        yield (
            f"elf-layout-{number}",
            elf_of(dwarf, bits=8 * layout.address_size, byteorder=layout.byteorder),
        )
        yield (
            f"elf-o-{number}",
            Elf(
                [code_section(0), *(Section(*each) for each in dwarf.items())],
                symbols=[Symbol("f", 0, 0x40)],
                type=RELOCATABLE,
                bits=8 * layout.address_size,
                byteorder=layout.byteorder,
            ).to_bytes(),
        )
    yield from compressed_objects()
    yield from foreign_objects()
    yield from go_programs()


def program(
    version: int, byteorder: ByteOrder = "little", address_size: int = 8
) -> dict[str, bytes]:
    """The sections of a program with an inlined call."""
    inner = function("g", 0x1020, 0x1030, label="g")
    outer = function("f", 0x1000, 0x1040, inlined(Ref("g"), (0x1004, 0x1008)), inner)
    return Dwarf([unit(outer, version=version)], byteorder, address_size).sections()


def compressed_objects() -> Iterator[tuple[str, bytes]]:
    """ELF files with compressed sections, honest ones and bombs."""
    kinds: tuple[Compression, ...] = ("zlib", "zstd", "gnu")
    for how, version in product(kinds, (4, 5)):
        yield f"elf-{how}-{version}", elf_of(program(version), compression=how)
        bomb = {**program(version), ".debug_str": bytes(INFLATED)}
        yield f"elf-{how}-{version}-bomb", elf_of(bomb, compression=how)
    mini = Elf([code_section()], symbols=[Symbol("mini", 0x1000, 0x40)]).to_bytes()
    for name, inner in (("", mini), ("-bomb", bytes(INFLATED))):
        section = Section(".gnu_debugdata", lzma.compress(inner))
        yield f"elf-debugdata{name}", Elf([code_section(), section]).to_bytes()


def foreign_objects() -> Iterator[tuple[str, bytes]]:
    """Mach-O and PE files, fat files, archives."""
    bits: tuple[int, ...] = (32, 64)
    orders: tuple[ByteOrder, ...] = ("little", "big")
    for packed, width, order in product((False, True), bits, orders):
        data = macho.macho_of(
            program(4, order, width // 8), packed=packed, bits=width, byteorder=order
        )
        yield f"macho-{width}-{order}-{packed}", data
        cpu = (0x01000007, 3)
        yield f"macho-fat-{width}-{order}-{packed}", macho.fat((cpu, data), wide=packed)
    for machine, base in product((0x8664, 0x14C), (0x400000, None)):
        dwarf = [pe.Section(*each) for each in program(4).items()]
        yield (
            f"pe-{machine:x}-{base}",
            pe.Pe(
                [pe.code_section(), *dwarf],
                [pe.Symbol("f", 0)],
                machine=machine,
                image_base=base,
                unwind=[(0x1000, 0x1040)],
                debug=[(2, pe.codeview(bytes(16), path="a.pdb"))] if base else [],
            ).to_bytes(),
        )
    for number in range(4):
        inside = random_program(number)
        yield (
            f"archive-{number}",
            b"!<arch>\n"
            + b"".join(
                member(f"{name}.o/", inside if number % 2 else elf_of(program(4)))
                for name in "ab"[: 1 + number // 2]
            ),
        )


def go_programs() -> Iterator[tuple[str, bytes]]:
    """Go programs without DWARF."""
    orders: tuple[ByteOrder, ...] = ("little", "big")
    for version, bits, order in product(GO_VERSIONS, (32, 64), orders):
        made = go_elf(PROGRAM, version=version, bits=bits, byteorder=order)
        yield f"go-elf-{version}-{bits}-{order}", made.to_bytes()
    yield "go-pe", go_pe(PROGRAM).to_bytes()
    for chained in (False, True):
        yield f"go-macho-{chained}", go_macho(PROGRAM, chained=chained).to_bytes()


def with_companions() -> Iterator[Seed]:
    """Binaries whose debug information is in another file, which is damaged."""
    for version, order, how in product((4, 5), ("little", "big"), (None, "zlib")):
        made = build("one", "two", version=version, byteorder=order, compression=how)  # type: ignore[arg-type]
        for name, data in (("a.dwo", made.splits[0]), ("app.dwp", made.package)):
            files = {"app": made.binary, name: data}
            kind = f"{name.rpartition('.')[2]}-{version}-{order}-{how}"
            yield Seed(kind, "object", files, name, "app")
            yield Seed(f"{kind}-main", "object", files, "app", "app")
    for order in ("little", "big"):
        image = macho.Macho(
            [macho.code(), *macho.debug_sections(program(4, order))],  # type: ignore[arg-type]
            type=macho.DSYM,
            byteorder=order,  # type: ignore[arg-type]
        ).to_bytes()
        inside = "a.dSYM/Contents/Resources/DWARF/app"
        yield Seed(f"dsym-{order}", "object", {inside: image}, inside, "a.dSYM")


def memory_dumps() -> Iterator[tuple[str, bytes]]:
    """Core files and minidumps."""
    yield "core", small_core()
    for processor, platform, is_long in product(
        (X86, X86_64, ARM64), (WINDOWS, 0x8201), (False, True)
    ):
        record = (
            elf_codeview(_ID) if platform != WINDOWS else codeview(_ID[:16], 1, "a")
        )
        dump = Minidump(
            (Thread(1, 0x401000, 0x7000, 0x7010, bytes(64), "main"),),
            (Module("/opt/app", 0x400000, 0x10000, record),),
            processor,
            platform,
            (1, 11, 0xDEAD, (1, 2)),
            has_long_memory=is_long,
        )
        yield f"minidump-{processor}-{platform:x}-{is_long}", write_minidump(dump)


def profiles() -> Iterator[tuple[str, bytes]]:
    """Profiles and traces of every form."""
    for name in FORMS:
        data = write_form(small_profile(), name)
        yield f"{name}-written", data.encode() if isinstance(data, str) else data
    pprof = pprof_messages.message().SerializeToString()
    yield "pprof", pprof
    yield "pprof-gzip", gzip.compress(pprof)
    yield "pprof-bomb", gzip.compress(bytes(INFLATED))
    for layout in ("1.10", "1.9"):
        otlp = otlp_messages.message(layout).SerializeToString()
        yield f"otlp-{layout}", otlp
        yield f"otlp-{layout}-zstd", zstd.compress(otlp)
    for order in ("little", "big"):
        yield f"perf-data-{order}", perf_data.small_file(order)
        yield f"fxt-{order}", small_trace(order)
    documents = {
        "chrome": json_profiles.CHROME,
        "cpuprofile": json_profiles.CPUPROFILE,
        "speedscope": json_profiles.SPEEDSCOPE,
        "firefox": json_profiles.firefox(),
        "firefox-75": json_profiles.newer_firefox(),
    }
    for name, document in documents.items():
        yield name, json.dumps(document).encode()
    yield "collapsed", b"main;leaf 3\nmain;app`other+0x10 4\n"
    yield (
        "fxt-samples",
        profile_trace(_ID.hex(), 0x1000, ((1500, 1, (0x7F0000001008,)),)),
    )
    yield from ((f"fxt-{name}", data) for name, data in traces())
    yield "fxt-gzip", gzip.compress(small_trace())


def symbfiles() -> Iterator[tuple[str, bytes]]:
    """Symbfiles with every field."""
    rows = (LineTableRow(0, 3), LineTableRow(16, 5))
    for count in range(1, 9):
        ranges = [
            Range(0x1000 + 64 * n, 0x40, f"f{n}", "/a.c", line_table=rows)
            for n in range(count)
        ]
        ranges.append(Range(0x1008, 8, "inner", "/a.h", "/a.c", 4, 1, rows[:1]))
        data = b"".join(encode(ranges))
        yield f"symbfile-{count}", data
        yield f"symbfile-{count}-zstd", zstd.compress(data)
    yield "symbfile-bomb", zstd.compress(bytes(INFLATED))


def texts() -> Iterator[tuple[str, str, bytes]]:
    """Reports, and logs with markup."""
    for name, value in vars(report_examples).items():
        if name.isupper() and isinstance(value, str):
            yield f"report-{name.lower()}", "report", value.encode()
            yield f"log-{name.lower()}", "log", value.encode()
    log = (
        f"{{{{{{reset}}}}}}\n{{{{{{module:0:app:elf:{_ID.hex()}}}}}}}\n"
        "{{{mmap:0x7000:0x1000:load:0:rx:0x1000}}}\n"
        "[1] {{{bt:0:0x7008:pc}}} and {{{pc:0x7084}}}\n"
        "{{{bt:1:0x9000:ra}}} {{{symbol:_Z1fv}}} {{{hexdict:0:7}}}\n"
    ).encode()
    yield "log", "log", log
    yield "log-gzip", "log", gzip.compress(log)
    yield "log-zstd", "log", zstd.compress(log)


def real_files() -> Iterator[Seed]:
    """The small files of GSYM_FIXTURES."""
    doors = {
        "gsym": "gsym",
        "breakpad": "object",
        "symbfile": "symbfile",
        "trace": "trace",
        "log": "log",
        "binary": "object",
    }
    folder = Path(os.environ.get("GSYM_FIXTURES", "none"))
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or not 0 < path.stat().st_size < _LARGEST:
            continue
        door = "report" if path.suffix == ".dmp" else doors.get(kind_of(path))
        if door:
            name = f"real-{path.relative_to(folder)}".replace("/", "-")
            yield single(name, door, path.read_bytes())


def all_seeds() -> list[Seed]:
    """Every seed, in the same order each time."""
    bombs()  # before anything forks
    found = [single(name, "object", data) for name, data in objects()]
    found += with_companions()
    found += [single(f"gsym-{name}", "gsym", data) for name, data in images()]
    found.append(single("gsym-call-sites", "gsym", gsym_bytes()))
    found += [single(f"pdb-{n}", "object", data) for n, data in pdb_files()]
    found += [single(f"breakpad-{n}", "object", data) for n, data in symbol_files()]
    found += [single(name, "symbfile", data) for name, data in symbfiles()]
    found += [single(name, "trace", data) for name, data in profiles()]
    found += [single(name, "report", data) for name, data in memory_dumps()]
    found += [single(name, door, data) for name, door, data in texts()]
    found += real_files()
    return found
