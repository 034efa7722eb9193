"""Convert damaged binaries under sanitizers and report anything but a clean error.

    python tools/mutate.py [--count N] [--seed S] [--replay NAME:N] BINARY...

Makes N mutants of each BINARY, the same ones for the same seed, and converts each in
a child process that has the engine of `make sanitize`. A finding is a crash, a
sanitizer report, more than ten seconds, an undocumented exception of `convert`, a
file left after a failure, or an output that cannot be read completely. Findings are
kept in build/mutants; the exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parent.parent
SANITIZED = ROOT / "build" / "sanitize"
FINDINGS = ROOT / "build" / "mutants"
SECONDS_PER_MUTANT = 10
# Values at which counts, sizes and offsets go wrong.
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)

Part = tuple[int, int]  # (start, end) of a section, or of another unit of damage


def enter_sanitizer() -> None:
    """Start this process anew with the instrumented engine, unless it has it."""
    if os.environ.get("PYTHONPATH") == str(SANITIZED):
        return
    if not any((SANITIZED / "gsym/engine").glob("_core*.so")):
        sys.exit("no instrumented engine: run `make sanitize` first")
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"],
        capture_output=True,
        text=True,
        check=True,
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(SANITIZED),
        "PYTHONMALLOC": "malloc",
        "LD_PRELOAD": found.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)  # noqa: S606


def parts_of(binary: Path) -> list[Part]:
    """The parts of an ELF file whose bytes a conversion reads; all of another file."""
    with binary.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            return [(0, binary.stat().st_size)]
        elf = ELFFile(stream)
        table = elf["e_shoff"]
        parts = [(0, elf["e_ehsize"])]
        parts.append((table, table + elf["e_shnum"] * elf["e_shentsize"]))
        for section in elf.iter_sections():
            name, size = section.name, section["sh_size"]
            read = "debug_" in name or name in {".symtab", ".strtab", ".shstrtab"}
            if (read or name.startswith(".note")) and size:
                parts.append((section["sh_offset"], section["sh_offset"] + size))
    return parts


def mutate(data: bytes, parts: list[Part], choice: random.Random) -> bytes:
    """*data* with one to four kinds of damage done to it."""
    mutant = bytearray(data)
    for _ in range(choice.choice((1, 1, 2, 4))):
        start, end = choice.choice(parts)
        place = choice.randrange(start, end)
        room = max(1, min(end, len(mutant)) - place)
        choice.choice(DAMAGES)(mutant, place, room, choice)
    return bytes(mutant)


def flip_bit(mutant: bytearray, place: int, _room: int, choice: random.Random) -> None:
    """Turn one bit over."""
    if place < len(mutant):
        mutant[place] ^= 1 << choice.randrange(8)


def set_edge(mutant: bytearray, place: int, room: int, choice: random.Random) -> None:
    """Write an edge value of 1, 2, 4 or 8 bytes."""
    width = choice.choice([width for width in (1, 2, 4, 8) if width <= room])
    value = choice.choice(EDGES) & ((1 << 8 * width) - 1)
    mutant[place : place + width] = value.to_bytes(width, "little")


def add_to_word(
    mutant: bytearray, place: int, room: int, choice: random.Random
) -> None:
    """Move a 4-byte offset a little, so that it points beside its target."""
    if room >= struct.calcsize("<I"):
        (value,) = struct.unpack_from("<I", mutant, place)
        struct.pack_into(
            "<I", mutant, place, (value + choice.randint(-9, 9)) & EDGES[-1]
        )


def copy_block(mutant: bytearray, place: int, room: int, choice: random.Random) -> None:
    """Copy bytes from elsewhere, so that references and forms no longer fit."""
    size = min(room, choice.choice((1, 4, 8, 16, 64)))
    source = choice.randrange(len(mutant))
    block = bytes(mutant[source : source + size])
    mutant[place : place + len(block)] = block


def fill_block(mutant: bytearray, place: int, room: int, choice: random.Random) -> None:
    """Fill bytes with one value: endless LEBs, nulls, special opcodes."""
    size = min(room, choice.choice((2, 8, 32, 128)))
    mutant[place : place + size] = bytes([choice.choice((0, 1, 0x80, 0xFF))]) * size


def cut_end(mutant: bytearray, _place: int, _room: int, choice: random.Random) -> None:
    """Truncate the file at a multiple of 1/64."""
    del mutant[len(mutant) * choice.randrange(64) // 64 :]
    mutant.extend(b"\x7fELF" if not mutant else b"")


def swap_headers(
    mutant: bytearray, place: int, room: int, choice: random.Random
) -> None:
    """Exchange two neighbouring 64-byte records, as section headers are."""
    size = struct.calcsize("<64s")
    place -= choice.choice((0, place % size))
    if room > 2 * size:
        first, second = mutant[place : place + size], mutant[place + size :][:size]
        mutant[place : place + 2 * size] = second + first


DAMAGES = (
    *(flip_bit, set_edge, set_edge, add_to_word),
    *(copy_block, fill_block, cut_end, swap_headers),
)


def mutant_of(binary: Path, parts: list[Part], seed: int, number: int) -> bytes:
    """Mutant *number* of *binary*; the same for the same seed."""
    choice = random.Random(f"{seed}:{binary.name}:{number}")  # noqa: S311
    return mutate(binary.read_bytes(), parts, choice)


def try_mutant(mutant: bytes, folder: Path, threads: int) -> str:
    """Convert and read back; what was wrong, or one of "converted" and "refused"."""
    import gsym  # noqa: PLC0415 - only the child needs the engine

    source, output = folder / "mutant", folder / "mutant.gsym"
    source.write_bytes(mutant)
    output.unlink(missing_ok=True)
    try:
        gsym.convert(str(source), str(output), threads=threads)
    except gsym.GsymError:
        left = sorted(path.name for path in folder.iterdir() if path != source)
        return f"left behind: {left}" if left else "refused"
    with gsym.open(str(output)) as reader:
        for info in reader.functions():
            reader.lookup(info.address)
            reader.lookup(info.address + info.size // 2)
    return "converted"


def run_child(
    binary: Path, parts: list[Part], numbers: range, seed: int, shared: mmap.mmap
) -> None:
    """Try mutants one by one, saying in *shared* which one is under way."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as temporary:
        for number in numbers:
            struct.pack_into("<q", shared, 0, number)
            signal.alarm(SECONDS_PER_MUTANT)
            mutant = mutant_of(binary, parts, seed, number)
            outcome = try_mutant(mutant, Path(temporary), 1 + number % 2)
            if outcome not in OUTCOMES:
                raise AssertionError(outcome)
            place = 8 + 8 * OUTCOMES.index(outcome)
            (count,) = struct.unpack_from("<q", shared, place)
            struct.pack_into("<q", shared, place, count + 1)


OUTCOMES = ("converted", "refused")


def try_binary(
    binary: Path, count: int, seed: int, counts: collections.Counter[str]
) -> None:
    """All mutants of *binary*; a child that dies is replaced behind its mutant."""
    parts = parts_of(binary)
    shared = mmap.mmap(-1, 8 + 8 * len(OUTCOMES))
    first = 0
    while first < count:
        child = os.fork()
        if child == 0:
            try:
                run_child(binary, parts, range(first, count), seed, shared)
            except BaseException:  # noqa: BLE001 - whatever it is, it is a finding
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            break
        (number,) = struct.unpack_from("<q", shared, 0)
        kind = "hang" if code == -signal.SIGALRM else f"exit {code}"
        FINDINGS.mkdir(parents=True, exist_ok=True)
        kept = FINDINGS / f"{binary.name}-{seed}-{number}"
        kept.write_bytes(mutant_of(binary, parts, seed, number))
        print(f"{kind}: {kept} (--seed {seed} --replay {binary.name}:{number})")
        counts["findings"] += 1
        first = number + 1
    for index, outcome in enumerate(OUTCOMES):
        counts[outcome] += struct.unpack_from("<q", shared, 8 + 8 * index)[0]


def main() -> int:
    """Run the mutants, print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("binaries", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=1000, help="mutants per binary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", default="", help="NAME:N, one mutant in-process")
    arguments = parser.parse_args()
    enter_sanitizer()
    if arguments.replay:
        name, _, number = arguments.replay.rpartition(":")
        binary = next(path for path in arguments.binaries if path.name == name)
        mutant = mutant_of(binary, parts_of(binary), arguments.seed, int(number))
        with tempfile.TemporaryDirectory() as temporary:
            print(try_mutant(mutant, Path(temporary), 1 + int(number) % 2))
        return 0
    counts: collections.Counter[str] = collections.Counter()
    for binary in arguments.binaries:
        try_binary(binary, arguments.count, arguments.seed, counts)
        print(f"{binary.name}: {dict(counts)} so far", flush=True)
    return 1 if counts["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
