"""Programs that die in every way on several processors: stacks, gdb's and eu-stack's.

    python -m tests.differential.deaths [NAME]... [--keep FOLDER] [--write]

The programs of `sources/deaths.*` are compiled by the compilers that are here. Each
dies at the end of a chain of calls that is known; those of other processors do so under
qemu-user. The core files are those of the kernel and of QEMU; QEMU writes none for
RISC-V, so the registers and memory that its stub for debuggers tells are put into one.
A NAME is a part of the name of a column, such as `musl`. Takes ten minutes. The exit
status is 1 if a stack is less complete than that of gdb or eu-stack. --write keeps
the tables in RESULTS.md, and their sum in docs/quality.md.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import gsym
from benchmarks.markdown import table
from benchmarks.report import context, made_by
from gsym.engine.demangling import demangle
from tests.differential import record
from tests.inputs.core import Part, core_of, note, status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SOURCES = Path(__file__).parent / "sources"
COMMAND = "python -m tests.differential.deaths"
TIMEOUT = 30
SHOWN = 512  # innermost frames that gsym shows of any stack
GDB = "gdb-multiarch" if shutil.which("gdb-multiarch") else "gdb"
PEERS = (GDB, "eu-stack", "qemu-aarch64-static", "gcc")
PAGE = 4096
PACKET = 1024  # bytes that the stub tells at once
AT_RANDOM = 25  # in the auxiliary vector: a place on the first stack
STACK = 1 << 20  # bytes of a stack, so that an overflow is quick
TEXT = """\
## Dumps of programs that died

Each program dies at the end of a known chain of calls, which the first column counts.
The figures of a cell are frames of that chain that gsym, gdb and eu-stack have found,
from the crash outwards, none left out and none too many; a cell with one figure is the
same for all three. Of {dumps} dumps the chain is whole in {gsym} for gsym, in {gdb} for
gdb, in {eu} for eu-stack. In {same} of them all frames have the addresses that gdb has,
as far as both go.

{environment}

{rows}"""

# ---- ways to die ---------------------------------------------------------------------

ANY = "..."  # frames of libraries, or repeats
CHAIN = "work outer main"
WAYS = {
    "leaf": "leaf by_leaf",
    "null": "? by_null",
    "data": "? by_data",
    "freed": "? by_freed",
    "overflow": "deep ... by_overflow",
    "recursion": "leaf ... odd even by_recursion",
    "abort": "... by_abort",
    "tail": "... fatal by_tail",
    "assert": "... by_assert",
    "trap": "by_trap",
    "breakpoint": "breakpoint by_breakpoint",
    "smash": "... by_smash",
    "free": "... by_free",
    "quit": "... by_quit",
    "handler": "leaf handler ... leaf by_handler",
    "other_stack": "... last ... leaf by_other_stack",
    "handled_null": "... last ... ? by_handled_null",
    "handled_overflow": "... last ... deep ... by_handled_overflow",
    "callback": "leaf compare ... by_callback",
    "coroutine": "leaf routine",
    "thread": "leaf run",
    "bare_thread": "leaf bare",
    "vfork": "leaf by_vfork",
    "lost_stack": "by_lost_stack",
    "made_code": "leaf by_leaf ? by_made_code",
}
ENDS = {"coroutine", "thread", "bare_thread", "lost_stack"}  # where main is no caller
WAYS_OF_GO = {
    "leaf": "... main.leaf main.work main.outer main.main runtime.main",
    "panic": "... main.work main.outer main.main runtime.main",
    "deferred": "... main.leaf ... main.work main.outer main.main",
    "callback": "... main.leaf ... main.work main.outer main.main",
    "goroutine": "... main.leaf main.work.func3",
}
WAYS_OF_RUST = {
    "leaf": "... leaf work outer main",
    "panic": "... work outer main",
    "abort": "... work outer main",
    "overflow": "... deep ... work outer main",
    "thread": "... leaf",
}
WAYS_OF_CXX = {
    "throw": "... by_throw work outer main",
    "noexcept": "... by_throw by_noexcept work outer main",
    "destructor": "leaf ~Ends ... by_destructor work outer main",
    "at": "... by_at work outer main",
    "lambda": "leaf ... by_lambda work outer main",
    "pure": "... show ... by_pure work outer main",
}


WAYS_OF_C = {
    name: chain if name in ENDS else f"{chain} {CHAIN}" for name, chain in WAYS.items()
}
LANGUAGES = {
    ".c": WAYS_OF_C,
    ".cc": WAYS_OF_CXX,
    ".go": WAYS_OF_GO,
    ".rs": WAYS_OF_RUST,
}


class Build(NamedTuple):
    """A program, and what runs it.

    Attributes:
        column: Its column of the table.
        source: Its source.
        command: What compiles it.
        emulator: What runs it; empty if the processor does.
        root: Where its libraries are for the emulator and for gdb.
    """

    column: str
    source: str
    command: tuple[str, ...]
    emulator: tuple[str, ...] = ()
    root: str = ""

    @property
    def ways(self) -> dict[str, str]:
        """The chain of calls of each way to die."""
        return LANGUAGES[Path(self.source).suffix]


FLAGS = ("-g", "-O1", "-w", "-pthread", "-fcf-protection=none")


def _c(column: str, compiler: str, *flags: str) -> Build:
    own = FLAGS if "86" in column else FLAGS[:-1]
    return Build(column, "deaths.c", (compiler, *own, *flags))


def _emulated(column: str, name: str, *flags: str) -> Build:
    of_qemu = column.partition(" ")[0]
    root = f"/usr/{name}" if "-static" not in flags else ""
    libraries = ("-L", root) if root else ()
    emulator = (f"qemu-{of_qemu}-static", "-s", str(STACK), *libraries)
    made = _c(column, f"{name}-gcc", *flags)
    return made._replace(emulator=emulator, root=root)


def _go(
    column: str, processor: str, *emulator: str, flags: tuple[str, ...] = ()
) -> Build:
    command = ("env", f"GOARCH={processor}", "CGO_ENABLED=0", "go", "build", *flags)
    return Build(f"Go {column}", "deaths.go", command, emulator)


BUILDS = (
    _c("x86-64", "gcc"),
    _c("x86-64 static", "gcc", "-static", "-no-pie"),
    _c("x86-64 musl", "musl-gcc", "-static"),
    _c("i386 static", "i686-linux-gnu-gcc", "-static"),
    _emulated("aarch64", "aarch64-linux-gnu", "-no-pie"),
    _emulated("aarch64 static", "aarch64-linux-gnu", "-static"),
    _emulated("riscv64 static", "riscv64-linux-gnu", "-static"),
    _emulated("ppc64le static", "powerpc64le-linux-gnu", "-static"),
    _emulated("s390x static", "s390x-linux-gnu", "-static"),
    Build("C++ x86-64", "deaths.cc", ("g++", "-g", "-O1", "-w")),
    Build("Rust x86-64", "deaths.rs", ("rustc", "-g", "-Copt-level=1")),
    _go("x86-64", "amd64"),
    _go("x86-64 stripped", "amd64", flags=("-ldflags=-s -w",)),
    _go("i386", "386"),
    _go("aarch64", "arm64", "qemu-aarch64-static"),
    _go("ppc64le", "ppc64le", "qemu-ppc64le-static"),
    _go("s390x", "s390x", "qemu-s390x-static"),
)


# ---- programs die --------------------------------------------------------------------


def build(made: Build, folder: Path) -> Path | None:
    """The program of a build; None if its compiler is not here."""
    if shutil.which(made.command[0 if made.command[0] != "env" else 3]) is None:
        return None
    path = folder / "deaths"
    command = (*made.command, "-o", str(path), str(SOURCES / made.source))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{made.column}: {done.stderr.strip()[-400:]}", file=sys.stderr)
    return path if path.exists() else None


def allow_core() -> None:
    """Allow a core file, and no more than a small stack."""
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))


def core(made: Build, program: Path, way: str, folder: Path) -> Path | None:
    """The core file of a program that dies; None if there is none."""
    if "riscv64" in made.column:
        return told_core(made, program, way, folder)
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            (*made.emulator, str(program), way),
            cwd=folder,
            env=os.environ | {"GOTRACEBACK": "crash"},
            preexec_fn=allow_core,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    written = sorted(folder.glob("qemu_*.core" if made.emulator else "core*"))
    return written[0] if written else None


_ANSWER = re.compile(rb"\$(.*?)#..", re.DOTALL)
_ESCAPED = re.compile(rb"}(.)", re.DOTALL)


class Stub:
    """The stub of QEMU for debuggers, as far as a core file needs it."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT)
        for _ in range(100):
            with suppress(OSError):
                self._socket.connect(str(path))
                break
            time.sleep(0.05)
        self._held = b""

    def ask(self, text: bytes) -> bytes:
        """The answer to a packet."""
        packet = b"$%s#%02x" % (text, sum(text) % 256)
        self._socket.sendall(packet)
        while not (found := _ANSWER.search(self._held)):
            read = self._socket.recv(1 << 16)
            if not read:
                return b""
            self._held += read
        self._held = self._held[found.end() :]
        self._socket.sendall(b"+")
        return _ESCAPED.sub(lambda it: bytes([it[1][0] ^ 0x20]), found[1])

    def page(self, address: int) -> bytes:
        """A page of memory; empty if it is not there."""
        places = range(address, address + PAGE, PACKET)
        answers = [self.ask(b"m%x,%x" % (at, PACKET)) for at in places]
        return (
            bytes.fromhex(b"".join(answers).decode()) if b"E" not in answers[0] else b""
        )

    def around(self, address: int) -> Iterator[tuple[int, bytes]]:
        """The pages around an address, as far as there are some."""
        page = address & -PAGE
        for places in range(page, 1 << 48, PAGE), range(page - PAGE, -1, -PAGE):
            for at in islice(places, 2 * STACK // PAGE):
                data = self.page(at)
                if not data:
                    break
                yield at, data


def told_core(made: Build, program: Path, way: str, folder: Path) -> Path | None:
    """A core file of RISC-V from what the stub of QEMU tells at the last signal."""
    path, calls = folder / "stub", folder / "calls"
    command = (*made.emulator, "-strace", "-g", str(path), str(program), way)
    with (
        calls.open("w") as written,
        subprocess.Popen(command, cwd=folder, stderr=written) as process,
    ):
        stub, last, stop = Stub(path), b"", b"T"
        while stop.startswith(b"T"):
            stop = stub.ask(b"C" + stop[1:3] if last else b"c")
            if stop.startswith(b"T"):
                last = saved(stub, program, int(stop[1:3], 16), calls.read_text())
        process.kill()
    if not last:
        return None
    (folder / "told.core").write_bytes(last)
    return folder / "told.core"


def saved(stub: Stub, program: Path, signal: int, calls: str) -> bytes:
    """The process at a signal as a core file; *calls* are those of the system."""
    words = struct.unpack("<33Q", bytes.fromhex(stub.ask(b"g").decode())[: 33 * 8])
    auxiliary = stub.ask(b"qXfer:auxv:read::0,fff")[1:]
    pairs = dict(struct.iter_unpack("<2Q", auxiliary[: len(auxiliary) // 16 * 16]))
    read = subprocess.run(
        ("readelf", "-lW", str(program)), capture_output=True, text=True, check=True
    ).stdout
    loads = re.findall(r"LOAD +\S+ 0x(\S+) \S+ \S+ (\S+) ..(.)", read)
    pages: dict[int, bytes] = {}
    code: set[int] = set()
    for start, size, runs in loads:
        of_load = range(int(start, 16) & -PAGE, int(start, 16) + int(size, 16), PAGE)
        pages.update((each, stub.page(each)) for each in of_load)
        code.update(of_load if runs == "E" else ())
    for each in words[2], pairs.get(AT_RANDOM, 0):
        if each & -PAGE not in pages:
            pages.update(stub.around(each))
    for size, start in re.findall(r"mmap\(\w+,(\d+),\S*PROT_EXEC.* = 0x(\w+)", calls):
        at = int(start, 16)
        pages.setdefault(at, stub.page(at))
        code.update(range(at, at + int(size), PAGE))
    parts = [Part(at, data, at in code) for at, data in sorted(pages.items()) if data]
    information = bytes(40) + program.name.encode().ljust(16, b"\0")
    notes = status_of([words[32], *words[1:32]], signal=signal) + note(
        3, information + str(program).encode().ljust(80, b"\0")
    )
    return core_of(parts, notes + note(6, auxiliary), machine=243)


# ---- stacks --------------------------------------------------------------------------


class Frame(NamedTuple):
    """A frame: its address, and the functions there, innermost first."""

    address: int
    names: tuple[str, ...]


PRINT_FRAMES = """\
import gdb
try:
    print("thread", gdb.selected_thread().ptid[1])
    frame, count = gdb.newest_frame(), 0
    while frame is not None and count < 30000:
        inlined = frame.type() == gdb.INLINE_FRAME
        if frame.type() != gdb.TAILCALL_FRAME:
            print("inlined" if inlined else "frame", hex(frame.pc()), frame.name())
        frame, count = frame.older(), count + 1
except gdb.error as error:
    print("error", error)
"""


def plain(name: str) -> str:
    """A name without its namespaces and parameters."""
    found = name.partition("(")[0].rpartition("::")[2].partition("@")[0]
    return found if found not in {"", "None"} else "?"


class Symbols:
    """The functions of a program that is loaded where it is linked."""

    def __init__(self, program: Path) -> None:
        command = ("nm", "--defined-only", "-n", str(program))
        read = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = (line.split(maxsplit=2) for line in read.stdout.splitlines())
        self._found = [
            (int(at, 16), name if kind in "tTW" else "") for at, kind, name in lines
        ]

    def name(self, address: int) -> str:
        """The function at an address."""
        at = bisect_right(self._found, (address, "\x7f")) - 1
        return plain(self._found[at][1]) if at >= 0 else "?"


def stack_of_gsym(path: Path, made: Build, program: Path) -> list[Frame]:
    """The stack of the thread that died."""
    sources = [str(program.parent), *([made.root] if made.root else [])]
    report = gsym.symbolicate(path, source=sources)
    stacks = str(report).split("\nThread ")[1:]
    at = next((at for at, each in enumerate(stacks) if "(crashed)" in each), 0)
    addresses = re.findall(r"^#\d+ +0x(\S+)", stacks[at], re.MULTILINE)
    return [
        Frame(
            int(address, 16),
            tuple(plain(demangle(call.name)) for call in each.calls) or ("?",),
        )
        for address, each in zip(addresses, report.threads[at].frames, strict=True)
    ]


def stack_of_gdb(path: Path, made: Build, program: Path) -> tuple[int, list[Frame]]:
    """The thread that died by its number, and its stack."""
    script = path.with_name("frames.py")
    script.write_text(PRINT_FRAMES)
    root = ("-iex", f"set sysroot {made.root}") if made.root else ()
    past = ("-iex", "set backtrace past-main on")
    command = (GDB, "-batch", "-nx", *root, *past, str(program), str(path))
    lines = output_of(*command, "-x", str(script))
    thread, frames, inlined = 0, list[Frame](), list[str]()
    for line in lines:
        kind, _, rest = line.partition(" ")
        at, _, name = rest.partition(" ")
        if kind == "thread":
            thread = int(at)
        elif kind == "inlined":
            inlined.append(plain(name))
        elif kind == "frame":
            frames.append(Frame(int(at, 16), (*inlined, plain(name))))
            inlined = []
    return thread, frames


def stack_of_elfutils(path: Path, program: Path, thread: int) -> list[Frame]:
    """The stack of a thread."""
    lines = output_of("eu-stack", "-n", "20000", f"--core={path}", "-e", str(program))
    of_thread, frames = 0, list[Frame]()
    for line in lines:
        words = line.split()
        if line.startswith("TID "):
            of_thread = int(words[1].rstrip(":"))
        elif line.startswith("#") and of_thread == thread:
            name = words[3] if words[2:3] == ["-"] else "".join(words[2:3])
            frames.append(Frame(int(words[1], 16), (plain(name),)))
    return frames


def output_of(*command: str) -> list[str]:
    """The lines that a command prints, as far as it comes."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return []
    return done.stdout.decode(errors="replace").splitlines()


def length_of(chain: str) -> int:
    """Number of frames that a chain names."""
    return len(chain.replace(ANY, "").split())


def frames_of_chain(chain: str, frames: Iterable[Frame]) -> int:
    """Number of frames of a chain that a stack has, from the innermost on."""
    names = [name for each in frames for name in each.names]
    count = at = 0
    for number, part in enumerate(chain.split(ANY)):
        wanted = part.split()
        starts = range(at, len(names) + 1) if number else (at,)
        held = [common(wanted, names[each:]) for each in starts]
        best = max(held, default=0)
        count += best
        if best < len(wanted):
            break
        at = starts[held.index(best)] + best
    return count


def common(wanted: Sequence[str], names: Sequence[str]) -> int:
    """Number of names that are equal from the first on."""
    pairs = zip(wanted, names, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class Judged(NamedTuple):
    """The frames of the chain that each tool has found of a dump."""

    length: int
    found: tuple[int, ...]
    is_same: bool


def judge(made: Build, program: Path, way: str, path: Path, symbols: Symbols) -> Judged:
    """A dump as the three read it."""
    thread, by_gdb = stack_of_gdb(path, made, program)
    stacks = [
        stack_of_gsym(path, made, program),
        by_gdb,
        stack_of_elfutils(path, program, thread),
    ]
    for stack in stacks[1:]:
        for at, each in enumerate(stack):
            if each.names == ("?",):
                name = symbols.name(each.address - bool(at))
                stack[at] = each._replace(names=(name,))
    chain = made.ways[way]
    addresses = [[each.address for each in stack] for stack in stacks[:2]]
    shared = min(SHOWN, *map(len, addresses))
    return Judged(
        length_of(chain),
        tuple(frames_of_chain(chain, each) for each in stacks),
        addresses[0][:shared] == addresses[1][:shared],
    )


# ---- table ---------------------------------------------------------------------------


def judged(made: Build, keep: Path | None) -> Iterator[tuple[str, Judged]]:
    """Each way to die of a build."""
    with tempfile.TemporaryDirectory() as root:
        program = build(made, Path(root))
        if program is None:
            return
        symbols = Symbols(program)
        for way in made.ways:
            folder = Path(root, way)
            folder.mkdir()
            path = core(made, program, way, folder)
            if path is not None:
                found = judge(made, program, way, path, symbols)
                print(f"{made.column}: {way}: {found}", flush=True)
                yield way, found
            if path is not None and keep is not None:
                kept = keep / made.column.replace(" ", "-")
                kept.mkdir(parents=True, exist_ok=True)
                shutil.copy(program, kept / program.name)
                shutil.copy(path, kept / f"{way}.core")
            shutil.rmtree(folder)


def cell(found: Judged | None) -> str:
    """What a cell of the table says."""
    if found is None:
        return ""
    same = len(set(found.found)) == 1
    return str(found.found[0]) if same else " ".join(map(str, found.found))


def table_of(ways: dict[str, str], columns: dict[str, dict[str, Judged]]) -> str:
    """The table of a language; "" if nothing was compiled."""
    made = {column: found for column, found in columns.items() if found}
    rows = [
        [
            f"{way} ({length_of(chain)})",
            *(cell(each.get(way)) for each in made.values()),
        ]
        for way, chain in ways.items()
    ]
    return table(["way (frames)", *made], rows) if made else ""


def main(words: Sequence[str] | None = None) -> int:
    """Make the dumps, read them, and print or write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of columns")
    parser.add_argument("--keep", type=Path, help="folder for programs and dumps")
    parser.add_argument("--write", action="store_true", help="keep the record")
    options = parser.parse_args(words)
    chosen = [
        each
        for each in BUILDS
        if not options.names or any(name in each.column for name in options.names)
    ]
    found = {each.column: dict(judged(each, options.keep)) for each in chosen}
    tables = [
        table_of(
            ways,
            {each.column: found[each.column] for each in chosen if each.ways is ways},
        )
        for ways in LANGUAGES.values()
    ]
    every = [each for ways in found.values() for each in ways.values()]
    whole = [sum(it.found[at] == it.length for it in every) for at in range(3)]
    text = TEXT.format(
        dumps=len(every),
        gsym=whole[0],
        gdb=whole[1],
        eu=whole[2],
        same=sum(each.is_same for each in every),
        environment=f"{made_by(COMMAND, PEERS)}\n{context()}",
        rows="\n\n".join(filter(None, tables)),
    )
    print(text)
    if options.write:
        record.keep_region(record.DEATHS, text)
    return int(any(each.found[0] < max(each.found) for each in every))


if __name__ == "__main__":
    sys.exit(main())
