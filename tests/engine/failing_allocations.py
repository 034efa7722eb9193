"""Commands in which one allocation of the engine fails, each in turn.

    LD_PRELOAD=ALLOCATOR python -m tests.engine.failing_allocations FOLDER SECTION...

`ALLOCATOR` below, compiled, counts and fails what the engine allocates. The commands
are those of sections of tests/freeze/made.txt, and of "inputs". Each begins in the same
folder, and prints and writes what it does with enough memory, or reports that there is
none and leaves the folder as it was; in the end the engine has freed all. It prints how
many allocations failed; what goes wrong is its exit code.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shlex
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple

from tests.freeze.inputs import ID, write_made_files
from tests.freeze.transcripts import MAINS, masked, sections
from tests.inputs import macho, pe
from tests.inputs.elf import CODE, Elf, Section, Symbol
from tests.inputs.macho import Macho
from tests.inputs.pdb_examples import PDBS
from tests.inputs.pe import Pe
from tests.inputs.scaled import units
from tests.inputs.scaled_symbols import (
    breakpad_calls,
    breakpad_ranges,
    breakpad_twins,
    go_functions,
    symbols_in_each_other,
)

ALLOCATOR = """
#include <stddef.h>
#include <stdint.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
static uintptr_t start, end; /* of the engine's code */
static long left;            /* allocations up to the one that fails */
static long kept;            /* allocations that are not freed */
void allocator_watch(uintptr_t from, uintptr_t to) { start = from; end = to; }
void allocator_fail(long number) { left = number; }
long allocator_left(void) { return left; }
long allocator_kept(void) { return kept; }
#define IS_OF_ENGINE ((uintptr_t)__builtin_return_address(0) - start < end - start)
static int fails(int is_new) {
    if (__atomic_load_n(&left, __ATOMIC_RELAXED) > 0 &&
        __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) == 0)
        return 1;
    __atomic_add_fetch(&kept, is_new, __ATOMIC_RELAXED);
    return 0;
}
void *malloc(size_t size) {
    return IS_OF_ENGINE && fails(1) ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return IS_OF_ENGINE && fails(1) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    return IS_OF_ENGINE && fails(old == NULL) ? NULL : __libc_realloc(old, size);
}
void free(void *old) {
    if (IS_OF_ENGINE && old != NULL) __atomic_sub_fetch(&kept, 1, __ATOMIC_RELAXED);
    __libc_free(old);
}
"""
MOST_REPORTED = 20
LINK = b"link to "
CLOCK_STEP = 20_000_000  # nanoseconds, the resolution of file times
TEXT = 0x1000
INPUTS = {
    "calls.sym": breakpad_calls(20),
    "code": Elf(
        [
            Section(
                ".text", bytes.fromhex("90 e8 00000000 c3"), flags=CODE, address=TEXT
            )
        ],
        symbols=[Symbol("f", TEXT, 7)],
    ).to_bytes(),
    "go": go_functions(20),
    "macho": Macho(
        [macho.code(TEXT)], [macho.Symbol("_f", TEXT)], function_starts=[TEXT, TEXT + 8]
    ).to_bytes(),
    "pdb": PDBS["functions"].to_bytes(),
    "moved.pdb": PDBS["reordered"].to_bytes(),
    "pe": Pe(
        [pe.code_section(TEXT)],
        [pe.Symbol("f", TEXT)],
        exports=[pe.Export("e", TEXT + 8)],
        unwind=[(TEXT, TEXT + 8)],
    ).to_bytes(),
    "ranges.sym": breakpad_ranges(20),
    "symbols": symbols_in_each_other(20),
    "twins.sym": breakpad_twins(20),
    "units": units(20),
}
"""More files to convert, besides those that the commands of made.txt are about."""
CONVERSION = (
    "gsym convert {name} -o made.gsym -j1 --call-sites --merged-functions",
    "gsym symbfile extract made.gsym -o made.symbfile",
    "gsym symbfile convert made.symbfile -o again.gsym",
    "gsym export --to breakpad made.gsym --os Linux --arch x86_64 --debug-id {id}",
    "gsym lookup --merged-functions made.gsym 0x1000 0x1008",
)
OTHERS = (
    "gsym convert symbols -o made.gsym --output-version 2",
    "gsym embed --share-strings made.gsym symbols -o embedded",
    "gsym lookup embedded 0x1008",
    "gsym symbfile extract code --kind both -o code",
    "gsym symbfile dump code.returnpads.symbfile",
    "gsym symbfile stats code.ranges.symbfile",
)
GOES_ON = (
    *("--output-dir", "--segment-size", "--kind both"),  # several files
    "--verify",  # reads the file that is written
    "lookup program",  # converts it to the cache, which is read then
    "symbolicate",  # adds a module to the store, which is read then
)
"""What is in commands that go on when they have written a file."""
GROWS = {
    b"./report.json",  # of what could be converted
    b"./store/gsym-store.json",  # of a store that has no module yet
}
"""Files that may be left with less in them than with enough memory."""
MISSES = b"./store/.misses/"
"""Records of failed sources, which stop no others, and of modules that none has."""
SECONDS = re.compile(rb"\d+[.]\d+(e-\d+)?")


class Snapshot:
    """All files and links of a folder, also hidden ones, as they are now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._since = time.time_ns() - CLOCK_STEP
        paths, self._folders = self._found()
        self._files = {path: content(path) for path in paths}
        self._changed: dict[Path, bytes | None] = {}
        self._new_folders: list[str] = []

    def _found(self) -> tuple[set[Path], list[str]]:
        """The files and links that are there now, and the folders."""
        paths, places = set(), []
        for place, folders, names in os.walk(self.folder):
            places.append(place)
            paths |= {Path(place, name) for name in names}
            links = (Path(place, name) for name in folders)
            paths |= {path for path in links if path.is_symlink()}
        return paths, places

    def changes(self) -> dict[bytes, bytes | None]:
        """The files that have changed; None: it is gone.

        Names and contents are without what differs from run to run.
        """
        paths, folders = self._found()
        self._new_folders = [each for each in folders if each not in self._folders]
        self._changed = dict.fromkeys(self._files.keys() - paths)
        for path in paths:
            if path.lstat().st_ctime_ns >= self._since:
                data = content(path)
                if data != self._files.get(path):
                    self._changed[path] = data
        return {
            masked(bytes(path), self.folder): data and self._masked(path, data)
            for path, data in self._changed.items()
        }

    def _masked(self, path: Path, data: bytes) -> bytes:
        data = masked(data, self.folder)
        return SECONDS.sub(b"", data) if path.parent.name == ".misses" else data

    def restore(self) -> None:
        """Undo the changes that were found last."""
        for path in self._changed:
            path.unlink(missing_ok=True)  # some are mapped
            if path in self._files:
                path.parent.mkdir(parents=True, exist_ok=True)
                write(path, self._files[path])
        for folder in reversed(self._new_folders):
            Path(folder).rmdir()


def content(path: Path) -> bytes:
    """The bytes of a file; of a link its target, after a mark."""
    return LINK + bytes(path.readlink()) if path.is_symlink() else path.read_bytes()


def write(path: Path, data: bytes) -> None:
    """Make what has this `content`."""
    if data.startswith(LINK):
        path.symlink_to(os.fsdecode(data.removeprefix(LINK)))
    else:
        path.write_bytes(data)


class Ending(NamedTuple):
    """What a command has done."""

    out: bytes
    err: bytes
    status: int
    files: dict[bytes, bytes | None]

    def lacks_memory(self, command: str, expected: Ending) -> bool:
        """Whether it was given up for that, and left the files as they were.

        Files that were complete may stay if a command goes on after them.
        """
        goes_on = any(each in command for each in GOES_ON)
        misses = [data for name, data in self.files.items() if name.startswith(MISSES)]
        left = {
            name: data
            for name, data in self.files.items()
            if not name.startswith(MISSES)
            and name not in GROWS
            and not (goes_on and expected.files.get(name) == data)
        }
        is_given_up = self.status == 1 and b"out of memory" in self.err
        is_missed = any(b"out of memory" in (each or b"") for each in misses)
        return (is_given_up or is_missed) and not left


class Allocator:
    """Fails allocations of the engine, in this process."""

    def __init__(self) -> None:
        self._calls = ctypes.CDLL(None)
        for name in ("left", "kept"):
            getattr(self._calls, f"allocator_{name}").restype = ctypes.c_long
        lines = Path("/proc/self/maps").read_text().splitlines()
        ours = [line.split()[0].split("-") for line in lines if "/_core." in line]
        start, end = int(ours[0][0], 16), int(ours[-1][1], 16)
        self._calls.allocator_watch(ctypes.c_size_t(start), ctypes.c_size_t(end))

    def fail(self, number: int) -> None:
        """Let the allocation fail that is the *number*-th from now on; 0: none."""
        self._calls.allocator_fail(ctypes.c_long(number))

    def has_failed(self) -> bool:
        return int(self._calls.allocator_left()) == 0

    def kept(self) -> int:
        gc.collect()
        return int(self._calls.allocator_kept())


def run(words: list[str], given: bytes, before: Snapshot) -> Ending:
    """Run a command in this process."""
    before.restore()
    saved = sys.stdin, sys.stdout, sys.stderr, sys.argv
    with ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        streams[0].write(given)
        streams[0].seek(0)
        descriptors = [os.dup(number) for number in range(3)]
        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout, sys.stderr = (os.fdopen(i, "w", closefd=False) for i in (1, 2))
        sys.argv = words
        try:
            status = MAINS[words[0]]()
        except SystemExit as request:
            status = request.code if isinstance(request.code, int) else 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdin, sys.stdout, sys.stderr, sys.argv = saved
            for number, old in enumerate(descriptors):
                os.dup2(old, number)
                os.close(old)
        for stream in streams:
            stream.seek(0)
        _, out, err = (masked(stream.read(), before.folder) for stream in streams)
    return Ending(out, err, status or 0, before.changes())


def sweep(command: str, allocator: Allocator, folder: Path) -> tuple[int, list[str]]:
    """The allocations of a command, and what was wrong when one of them failed."""
    typed, _, source = command.partition(" < ")
    words = shlex.split(typed)
    given = (folder / source).read_bytes() if source else b""
    before = Snapshot(folder)
    run(words, given, before)  # what is imported and cached from now on is there
    expected = run(words, given, before)
    kept, wrong = allocator.kept(), []
    for number in count(1):
        allocator.fail(number)
        found = run(words, given, before)
        if not allocator.has_failed():
            break
        if found != expected and not found.lacks_memory(command, expected):
            wrong.append(f"{command}, allocation {number}: {found}\n")
    allocator.fail(0)
    if allocator.kept() > kept:
        wrong.append(f"{command}: {allocator.kept() - kept} allocations are left\n")
    return number - 1, wrong


def commands(section: str) -> list[str]:
    """Those of made.txt, or conversions of all of `INPUTS`."""
    if section != "inputs":
        return sections("made.txt")[section]
    more = [each.format(name=name, id=ID) for name in INPUTS for each in CONVERSION]
    return [*more, *OTHERS]


def main(folder: Path, names: list[str]) -> int:
    """Sweep the commands; return the exit code."""
    write_made_files(folder)
    for name, data in INPUTS.items():
        (folder / name).write_bytes(data)
    os.chdir(folder)
    os.environ.update(HOME=str(folder), GSYM_STORE=str(folder / "store"), COLUMNS="80")
    os.fsync = lambda fd: None  # noqa: ARG005 - nothing here is about disks
    allocator = Allocator()
    gc.freeze()  # only what commands leave is searched for garbage
    total, wrong = 0, []
    for name in names:
        for command in commands(name):
            failed, problems = sweep(command, allocator, folder)
            total += failed
            wrong += problems
    print(total)  # noqa: T201 - its output
    sys.stderr.writelines(wrong[:MOST_REPORTED])
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
