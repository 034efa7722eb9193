"""Packaged programs that crash: the stacks they print, or their cores, beside gdb.

    python -m tests.differential.crashes [NAME]... [--keep FOLDER] [--write]

Each program of `PROGRAMS` that is installed runs in a folder of its own and is made to
crash: by a signal, or by its own command for that. The text that it prints is answered
by gsym; where it prints none, its core is. gdb reads the core, and tells for each
address of the text, or of the stack, the function, the file and the line. The exit
status is 1 if a frame has another answer than gdb's. --write keeps the table in
RESULTS.md, and its sum in docs/quality.md. Takes five minutes.
"""

# ruff: noqa: T201 - a command prints
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

import gsym
from benchmarks.markdown import table
from benchmarks.report import context, made_by
from gsym.engine.demangling import demangle
from tests.differential import record
from tests.differential.deaths import GDB, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.reports.report import Report, ReportFrame

COMMAND = "python -m tests.differential.crashes"
TIMEOUT = 120
TEXT = """\
## Crashes of packaged programs

Each program has crashed by a signal, or by its own command for that. *read* is what
gsym was given: the text that the program prints, or its core. In the core of the same
process gdb has answered the address of each frame of that text, or of its stack. *same*
are frames with the innermost function that gdb names, and its file and line if gdb
knows them, or with the line that the text has. Those of *eu-addr2line* have what that
names, and not gdb. At *gsym alone* gdb names no function, at *neither* gsym does not
either; *others* are the rest. *crash frame* says whether the instruction that crashed
has its own line, and not that of the call before it.

Of {frames} frames of {programs} programs {same} are answered as by gdb or eu-addr2line,
{others} otherwise.

{environment}

{rows}

Not installed: {skipped}."""


class Program(NamedTuple):
    """A program, and how it crashes.

    Attributes:
        name: Its row of the table.
        needs: Programs that must be there, the one that crashes first.
        command: For a shell, in an empty folder; runs it, and leaves its core.
        frame: Finds a frame in what it prints, with the address in the process as
            `address`, or as `offset` in the file `module`; `path` and `line` if the
            program knows them and gdb does not. "": its core is read.
        has_maps: Whether the text alone does not say where modules were.
        has_module: Whether its addresses are those of a program that was not moved.
    """

    name: str
    needs: str
    command: str
    frame: str = ""
    has_maps: bool = False
    has_module: bool = False


def _dies(command: str, wait: str = "1", name: str = "SEGV") -> str:
    """A command that starts a program and sends it a signal."""
    return f"{command} & sleep {wait}; kill -{name} $!; wait"


_BRACKETS = r"^.*\[0x(?P<address>[0-9a-f]+)\]$"
_NGINX = "daemon off; master_process off; error_log stderr; events {}"
_OVERFLOWING = "a=[];for(;;)a.push(new Array(1e5))"
_UNSAFE = """\
class J { public static void main(String[] a) throws Exception {
var f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe"); f.setAccessible(true);
((sun.misc.Unsafe) f.get(null)).putAddress(0, 1); } }"""
_IMPORTED = """\
using System.Runtime.InteropServices; class A {
[DllImport("libc.so.6")] static extern int strlen(System.IntPtr text);
static void Main() { strlen((System.IntPtr)1); } }"""
_NAMED = (
    'options { directory "."; listen-on { none; }; listen-on-v6 { none; }; '
    "pid-file none; }; controls {};"
)
PROGRAMS = (
    Program(
        "Redis",
        "redis-server redis-cli",
        "redis-server --port 0 --unixsocket s --enable-debug-command yes & sleep 1; "
        "redis-cli -s s debug segfault; wait",
        _BRACKETS,
    ),
    Program("Xvfb", "Xvfb", _dies("Xvfb -displayfd 1"), _BRACKETS),
    Program(
        "MariaDB",
        "mariadbd mariadb-install-db",
        "mariadb-install-db --no-defaults --user=root --datadir=$PWD/d >log; "
        + _dies(
            "mariadbd --no-defaults --user=root --datadir=$PWD/d --skip-networking "
            "--socket=$PWD/s --core-file",
            "5",
        ),
        _BRACKETS,
        has_maps=True,
    ),
    Program(
        "OpenJDK, error file",
        "java javac",
        f"cat > J.java <<'END'\n{_UNSAFE}\nEND\njavac J.java 2>log; "
        "java -Xint -XX:ErrorFile=e J > log; cat e",
        r"^[VC]  \[(?P<module>\S+)\+0x(?P<offset>[0-9a-f]+)\]",
    ),
    Program(
        "Node.js",
        "node",
        f"node --max-old-space-size=8 -e '{_OVERFLOWING}'",
        r"^ *\d+: 0x(?P<address>[0-9a-f]+)",
    ),
    Program(
        "Node.js, report",
        "node",
        "(node --report-on-fatalerror --report-filename=r --max-old-space-size=8 "
        f"-e '{_OVERFLOWING}'; true) > log 2>&1; cat r",
        r'"pc": "0x(?P<address>[0-9a-f]+)"',
    ),
    Program("Ruby", "ruby", "ruby -e 'Process.kill :SEGV, $$'", _BRACKETS),
    Program(
        "clang",
        "clang-22",
        "echo '#pragma clang __debug crash' > c.c; "
        "LLVM_DISABLE_SYMBOLIZATION=1 clang-22 -cc1 -fsyntax-only c.c",
        r"^ *#?\d+ .*?0x(?P<address>[0-9a-f]{9,16})",
    ),
    Program(
        "uWSGI",
        "uwsgi curl",
        "echo 'def application(e, s): import os; os.kill(os.getpid(), 11)' > app.py; "
        "uwsgi --plugin python3 --use-abort --http-socket $PWD/s --wsgi-file app.py & "
        "sleep 2; curl -s --unix-socket s http://localhost/; sleep 1",
        _BRACKETS,
    ),
    Program(
        "Emacs",
        "emacs",
        "emacs -Q --batch --eval '(signal-process (emacs-pid) 11)'",
        _BRACKETS,
    ),
    Program(
        "Varnish",
        "varnishd varnishadm",
        "varnishd -j none -F -n $PWD/v -a $PWD/s -b none & sleep 2; "
        "varnishadm -n $PWD/v debug.panic.worker > log; sleep 1; kill $!; wait",
        _BRACKETS,
    ),
    Program(
        "Go's compiler",
        "go",
        "GOTRACEBACK=crash go tool compile -p a -o o <(echo package a; sleep 3) & "
        "sleep 1; pkill -QUIT -P $!; wait",
        r"^\t(?P<path>\S+):(?P<line>\d+) .*pc=0x(?P<address>[0-9a-f]+)$",
        has_module=True,
    ),
    Program(
        "rustc",
        "rustc",
        "rustc - < <(sleep 4) & sleep 2; for n in 1 2; do "
        "kill -SEGV $!; pkill -SEGV -P $!; sleep 0.5; done; wait",
        _BRACKETS,
    ),
    Program(
        "Mono",
        "mono mcs",
        f"cat > a.cs <<'END'\n{_IMPORTED}\nEND\nmcs a.cs; mono a.exe",
        r"^\t0x(?P<address>[0-9a-f]+) - ",
        has_maps=True,
    ),
    Program(
        "nginx",
        "nginx",
        f"mkdir logs; echo '{_NGINX}' > n; " + _dies("nginx -p $PWD -e stderr -c n"),
    ),
    Program(
        "Python",
        "/usr/bin/python3.11",
        "/usr/bin/python3.11 -c '\nimport ctypes\nlist(map(ctypes.string_at, [0]))'",
    ),
    Program(
        "PHP", "php", "php -r 'array_map(fn($a) => posix_kill($a, 11), [getmypid()]);'"
    ),
    Program(
        "BIND",
        "named",
        f"echo '{_NAMED}' > c; " + _dies("named -g -c c", "2", "ABRT"),
    ),
    Program("QEMU", "qemu-x86_64", _dies("qemu-x86_64 /bin/sleep 9")),
    Program("memcached", "memcached", _dies("memcached -u root -s $PWD/s")),
    Program("SQLite", "sqlite3", _dies("sqlite3 d < <(echo 'select 1;'; sleep 3)")),
    Program("Perl", "perl", "perl -e '@a = sort { kill SEGV => $$ } 1, 2'"),
    Program(
        "Git",
        "git",
        "mkfifo f; git hash-object --stdin < f & exec 3> f; sleep 1;"
        " kill -SEGV $!; wait",
    ),
    Program(
        "HAProxy",
        "haproxy",
        "printf 'frontend f\n bind unix@s\n mode http\n "
        "timeout client 1s\n' > c; " + _dies("haproxy -f c"),
    ),
    Program(
        "HAProxy, watchdog",
        "haproxy socat",
        "printf 'global\n nbthread 2\n stats socket %s/v level admin\nfrontend f\n "
        "bind unix@s\n mode http\n timeout client 1s\n' $PWD > c; "
        "haproxy -f c & sleep 1; "
        "echo 'expert-mode on; debug dev loop 9000' | socat -t 9 - UNIX:v > log; wait",
        r"^ *\| +0x(?P<address>[0-9a-f]+) (?!.*vdso).*",  # which no file has
        has_maps=True,
    ),
    Program(
        "lighttpd",
        "lighttpd",
        """echo "server.document-root = \\"$PWD\\" """
        """server.bind = \\"$PWD/s\\"" > c; """ + _dies("lighttpd -D -f c"),
    ),
    Program(
        "GLib",
        "gio",
        "G_DEBUG=fatal-warnings gio launch /none; mkdir w; " + _dies("gio monitor w"),
    ),
    Program("Qt", "qmake", "mkfifo f; " + _dies("qmake f")),
    Program(
        "PostgreSQL",
        "/usr/lib/postgresql/15/bin/postgres setpriv",
        "B=/usr/lib/postgresql/15/bin; chmod 755 ..; chmod 777 .; "
        "P='setpriv --reuid=postgres --regid=postgres --clear-groups'; "
        "$P $B/initdb -D d > log; "
        + _dies("$P $B/postgres --single -D $PWD/d postgres < <(sleep 9)"),
    ),
)


# ---- crashes -------------------------------------------------------------------------


class Crash(NamedTuple):
    """A crash of a program.

    Attributes:
        text: What was printed.
        core: The core of the process.
        program: The program of that process.
        places: Where its files are loaded: start and size, by path.
    """

    text: str
    core: Path
    program: str
    places: dict[str, tuple[int, int]]

    @property
    def maps(self) -> str:
        """What /proc/PID/maps would have said, in one line for each file."""
        return "".join(
            f"{start:x}-{start + size:x} r-xp 00000000 00:00 0 {path}\n"
            for path, (start, size) in self.places.items()
        )


def missing(program: Program) -> str:
    """The first program that is not installed; "" if all are."""
    return next((it for it in program.needs.split() if not shutil.which(it)), "")


def crash(program: Program, folder: Path) -> Crash | None:
    """A crash of a program that is installed; None if it leaves no core."""
    printed = folder / "printed"
    with printed.open("wb") as stream:
        process = subprocess.Popen(
            ("bash", "-c", f"ulimit -c unlimited; {program.command}"),
            cwd=folder,
            env=os.environ | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            print(f"{program.name}: does not end", file=sys.stderr)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    cores = [each for each in folder.rglob("core*") if each.is_file()]
    if not cores:
        return None
    command = ("eu-unstrip", "-n", f"--core={cores[0]}")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    places: dict[str, tuple[int, int]] = {}
    for line in done.stdout.splitlines():
        place, _, found, _, name = line.split(None, 4)
        start, _, size = place.partition("+")
        path = name if name.startswith("/") else found
        places[path] = int(start, 16), int(size, 16)
    text = printed.read_text(errors="replace")
    return Crash(text, cores[0], next(iter(places)), places)


# ---- gdb -----------------------------------------------------------------------------

ASK = """\
import gdb, json

def symbol_at(place):
    text = gdb.execute(f"info symbol {place}", to_string=True)
    if text.startswith("No symbol"):
        return None, 0
    name, _, rest = text.partition(" in section ")[0].rpartition(" + ")
    return (name, int(rest)) if name else (rest, 0)

def answer(place):
    sal, block = gdb.find_pc_line(place), gdb.block_for_pc(place)
    while block and not block.function:
        block = block.superblock
    name, offset = symbol_at(place)
    if block:
        name = block.function.print_name
    return name, sal.symtab.filename if sal.symtab else "", sal.line, offset

answers, stack, exact = {}, [], set()
frame, inner, innermost = gdb.newest_frame(), None, None
while frame is not None and len(stack) < 1000:
    if innermost is None:
        innermost = frame
    if frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
        continue
    pc = frame.pc()
    if inner in (None, gdb.SIGTRAMP_FRAME) or frame.type() == gdb.SIGTRAMP_FRAME:
        exact.add(pc)
    if frame.type() != gdb.TAILCALL_FRAME:
        stack.append((pc, inner == gdb.SIGTRAMP_FRAME or inner is None))
        sal, name = innermost.find_sal(), innermost.name()
        offset = symbol_at(pc - (pc not in exact))[1]
        path = sal.symtab.filename if sal.symtab else ""
        answers[pc] = name, path, sal.line, offset
    inner, innermost = frame.type(), None
    frame = frame.older()
for line in open(ASKED):
    place = int(line)
    if place not in answers:
        try:
            answers[place] = answer(place - (place not in exact))
        except (gdb.error, RuntimeError):
            answers[place] = None, "", 0, 0
print("JSON" + json.dumps([stack, list(answers.items())]))
"""


class Answer(NamedTuple):
    """The innermost call at an address; *offset* is from the start of its symbol."""

    name: str | None
    path: str
    line: int
    offset: int


class Stack(NamedTuple):
    """The stack that gdb shows, and what it knows of addresses.

    Attributes:
        frames: Their addresses, and whether a signal has interrupted there.
        answers: By address.
    """

    frames: list[tuple[int, bool]]
    answers: dict[int, Answer]


def ask_gdb(crashed: Crash, addresses: Sequence[int]) -> Stack:
    """The stack of a core, and the answers to addresses of the process."""
    with tempfile.TemporaryDirectory() as folder:
        asked, script = Path(folder, "asked"), Path(folder, "ask.py")
        asked.write_text("".join(f"{each}\n" for each in addresses))
        script.write_text(ASK.replace("ASKED", repr(str(asked))))
        command = (GDB, "-batch", "-nx", crashed.program, str(crashed.core))
        past = ("-iex", "set backtrace past-main on")
        done = subprocess.run(
            (*command, *past, "-x", str(script)),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )
    text = next(it for it in done.stdout.splitlines() if it.startswith("JSON"))
    stack, answers = json.loads(text.removeprefix("JSON"))
    return Stack(
        [(at, bool(exact)) for at, exact in stack],
        {at: Answer(*each) for at, each in answers},
    )


# ---- comparison ----------------------------------------------------------------------


class Wanted(NamedTuple):
    """A frame of a text: its address in the process, and what the text says of it."""

    start: int
    end: int
    address: int
    path: str
    line: int


def expected(program: Program, crashed: Crash) -> Iterator[Wanted]:
    """The frames of a text."""
    for found in re.finditer(program.frame, crashed.text, re.MULTILINE):
        named = found.groupdict()
        address = int(named.get("address") or named["offset"], 16)
        if "offset" in named:
            (start,) = {
                start
                for path, (start, _) in crashed.places.items()
                if PurePath(path).name == named["module"]
            }
            address += start
        path, line = named.get("path", ""), int(named.get("line", 0))
        yield Wanted(*found.span(), address, path, line)


def placed(report: Report) -> Iterator[tuple[int, int, ReportFrame]]:
    """The frames of a report with their places in its text."""
    at = 0
    for part in report.parts:
        if isinstance(part, str):
            at += len(part)
        else:
            frame = report.threads[part[0]].frames[part[1]]
            yield at, at + len(frame.text), frame
            at += len(frame.text)


Pair = tuple[int, "ReportFrame | None"]


def pairs_of_text(report: Report, wanted: Sequence[Wanted]) -> Iterator[Pair]:
    """Each address of a text with the frame there."""
    if not report.is_verbatim:
        by_address = {each.address: each for each in report.frames()}
        for each in wanted:
            yield each.address, by_address.get(each.address)
        return
    frames = [*placed(report)]
    for each in wanted:
        here = (
            it for start, end, it in frames if start < each.end and each.start < end
        )
        yield each.address, next(here, None)


def pairs_of_core(report: Report, stack: Stack) -> Iterator[Pair]:
    """Each address of the stack of gdb with the frame of gsym."""
    (thread,) = (each for each in report.threads if each.is_crashed)
    shown = str(report).split("(crashed)", 1)[1].partition("\nThread ")[0]
    places = re.findall(r"^#\d+ +0x(\S+)", shown, re.MULTILINE)
    left = [(int(at, 16), each) for at, each in zip(places, thread.frames, strict=True)]
    for address, _ in stack.frames:
        at = next((n for n, it in enumerate(left) if it[0] == address), None)
        yield address, None if at is None else left[at][1]
        if at is not None:
            del left[: at + 1]


# What compilers and linkers add to the name of a function.
_PART = re.compile(r"\.(?:cold|part|isra|constprop|lto_priv|localalias)\b.*")


EU = "eu-addr2line"


def is_of_elfutils(frame: ReportFrame, address: int, crashed: Crash) -> bool:
    """Whether eu-addr2line gives the innermost call of a frame its line."""
    command = ("eu-addr2line", "-f", "-i", f"--core={crashed.core}")
    place = f"{address - frame.is_return:#x}"
    done = subprocess.run(
        (*command, place), capture_output=True, text=True, check=False
    )
    name, path, *_ = [*done.stdout.splitlines(), "", ""]
    call = frame.calls[0]
    shown = PurePath(path.partition(" (")[0]).name.split(":")[:2]
    is_named = plain(demangle(name.partition(" inlined at ")[0])) == plain(
        demangle(call.name)
    )
    return is_named and shown == [call.filename, str(call.line)]


def kind(frame: ReportFrame | None, answer: Answer) -> str:
    """The column that counts a frame."""
    if frame is None or not frame.calls:
        return "neither" if answer.name is None else "others"
    if answer.name is None:
        return "gsym alone"
    calls = frame.calls
    call = calls[0 if answer.name else -1]
    names = {_PART.sub("", plain(demangle(each))) for each in (call.name, answer.name)}
    is_start = len(calls) == 1 and call.offset - frame.is_return == answer.offset
    is_line = (call.filename, call.line) == (PurePath(answer.path).name, answer.line)
    return (
        "same"
        if (len(names) == 1 or is_start or not answer.name)
        and (is_line or not answer.line)
        else "others"
    )


class Judged(NamedTuple):
    """A row of the table."""

    program: Program
    counts: Counter[str]
    crash: str


def judge(program: Program, crashed: Crash, store: Path) -> Judged:
    """The frames of a crash as gsym and gdb answer them."""
    wanted = [*expected(program, crashed)] if program.frame else []
    stack = ask_gdb(crashed, [each.address for each in wanted])
    parents = (Path(each).parent for each in crashed.places)
    folders = [str(each) for each in parents if each.is_absolute() and each.is_dir()]
    read: str | Path = crashed.text if program.frame else crashed.core
    for each in wanted:  # what the program knows itself
        if each.line and stack.answers[each.address].name is None:
            stack.answers[each.address] = Answer("", each.path, each.line, 0)
    maps = crashed.maps if program.has_maps else None
    module = PurePath(crashed.program).name if program.has_module else None
    report = gsym.symbolicate(
        read,
        source=[*dict.fromkeys(folders)],
        store=str(store),
        maps=maps,
        module=module,
    )
    pairs = (
        pairs_of_text(report, wanted) if program.frame else pairs_of_core(report, stack)
    )
    interrupted = {at for at, is_exact in stack.frames if is_exact}
    counts: Counter[str] = Counter()
    exact = ""
    for address, frame in pairs:
        answer = stack.answers[address]
        found = kind(frame, answer)
        if found == "others" and frame is not None and frame.calls:
            found = EU if is_of_elfutils(frame, address, crashed) else found
        counts[found] += 1
        if address in interrupted and frame is not None and found != "neither":
            exact = "exact" if not frame.is_return and found != "others" else "wrong"
        if found == "others":
            print(f"  {address:#x}: gdb {answer}, gsym {frame}")
    return Judged(program, counts, exact)


COLUMNS = ("same", EU, "gsym alone", "neither", "others")


def row(judged: Judged) -> list[str]:
    """A row of the table."""
    read = "text" if judged.program.frame else "core"
    frames = sum(judged.counts.values())
    counts = (judged.counts[column] for column in COLUMNS)
    return [judged.program.name, read, *map(str, (frames, *counts)), judged.crash]


def main(words: Sequence[str] | None = None) -> int:
    """Make the crashes, compare them, and print or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of programs")
    parser.add_argument("--keep", type=Path, help="folder for texts and cores")
    parser.add_argument("--write", action="store_true", help="keep the record")
    options = parser.parse_args(words)
    found: list[Judged] = []
    skipped: list[str] = []
    with tempfile.TemporaryDirectory() as root:
        for number, program in enumerate(PROGRAMS):
            if options.names and not any(it in program.name for it in options.names):
                continue
            if lacks := missing(program):
                skipped.append(f"{program.name} ({lacks})")
                continue
            folder = Path(root, str(number))
            folder.mkdir()
            crashed = crash(program, folder)
            if crashed is None:
                skipped.append(f"{program.name} (leaves no core)")
            else:
                found.append(judge(program, crashed, Path(root, "store")))
                print(" | ".join(row(found[-1])), flush=True)
            if options.keep:
                kept = options.keep / program.name
                shutil.copytree(
                    folder,
                    kept,
                    dirs_exist_ok=True,
                    symlinks=True,
                    ignore=lambda _, names: [n for n in names if n in "sfv"],
                )
            shutil.rmtree(folder)
    sums: Counter[str] = sum((each.counts for each in found), Counter())
    text = TEXT.format(
        frames=sums.total(),
        programs=len(found),
        same=sums["same"] + sums[EU],
        others=sums["others"],
        environment=f"{made_by(COMMAND, (GDB,))}\n{context()}",
        rows=table(
            ["program", "read", "frames", *COLUMNS, "crash frame"], map(row, found)
        ),
        skipped=", ".join(skipped) or "none",
    )
    print(text)
    if options.write:
        record.keep_region(record.CRASHES, text)
    return int(bool(sums["others"]))


if __name__ == "__main__":
    sys.exit(main())
