"""Read damaged files of every kind under sanitizers; report all but clean errors.

    python -m tools.mutate [--mutants N | --seconds N] [--seed S] [--replay N] [FILE...]

Each mutant is a file of tools/mutate/seeds.py, or one of the binaries FILE, with one to
four kinds of damage (damage.py). The commands for its kind (doors.py) read it in a
process with the engine of `make sanitize`. A finding is a crash, a report of a
sanitizer, more than 10 seconds of processor time, memory beyond the limits of
docs/reliability.md, an exception that is not a clean error, a file that is left after a
failure, or an output that is not complete. Findings are kept in build/mutants; the exit
status is 1 if there is one.

Mutants are numbered, and the same for the same seed, which is printed: `--seed S
--replay N` repeats one.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SANITIZED = ROOT / "build" / "sanitize"
SECONDS = 10  # of processor time, for all commands of one mutant
_PATIENCE = 6  # times as long may pass by the clock, on a busy machine
# Beyond what the process had: limits of docs/reliability.md, with room for a sanitizer.
_FIXED_MEMORY = 256 << 20
_MEMORY_PER_BYTE = 2 * (100 + 32 + 6)
_AT_ONCE = 500  # mutants of one process, so that it does not grow
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - outputs are synced, which disks take long for
_MINE_IS_HERE = "GSYM_MUTATE_FOLDER"  # where findings go; set in the new process


def enter_sanitizer(arguments: argparse.Namespace) -> None:
    """Start this process anew with the instrumented engine, unless it has it."""
    if _MINE_IS_HERE in os.environ:
        from tests.sanitizer import drop_refused_flag  # noqa: PLC0415 - after the exec

        drop_refused_flag()
        return
    if not any((SANITIZED / "gsym/engine").glob("_core*.so")):
        sys.exit("no instrumented engine: run `make sanitized` first")
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"],
        capture_output=True,
        text=True,
        check=True,
    )
    environment = {
        **os.environ,
        _MINE_IS_HERE: str(ROOT / "build" / "mutants"),
        **({"TMPDIR": str(_IN_MEMORY)} if _IN_MEMORY.is_dir() else {}),
        # Not PYTHONMALLOC=malloc: it halves the rate, and the engine reads no small
        # object of Python's.
        "PYTHONPATH": str(SANITIZED),
        "LD_PRELOAD": found.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:quarantine_size_mb=16"
        ":allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    options = sys.argv[1 : len(sys.argv) - len(arguments.files)]
    files = [str(path.resolve()) for path in arguments.files]
    os.chdir(SANITIZED)
    command = [sys.executable, "-m", "tools.mutate", *options, *files]
    os.execve(sys.executable, command, environment)  # noqa: S606


class Shared:
    """What a child tells its parent, however it ends."""

    def __init__(self) -> None:
        from tools.mutate.doors import OUTCOMES  # noqa: PLC0415 - after the exec

        self._outcomes = OUTCOMES
        self._words = mmap.mmap(-1, 8 + 8 * len(OUTCOMES))

    @property
    def number(self) -> int:
        """The mutant that is under way."""
        return int(struct.unpack_from("<q", self._words, 0)[0])

    @number.setter
    def number(self, number: int) -> None:
        struct.pack_into("<q", self._words, 0, number)

    def add(self, outcome: str) -> None:
        """Count an outcome."""
        place = 8 + 8 * self._outcomes.index(outcome)
        (count,) = struct.unpack_from("<q", self._words, place)
        struct.pack_into("<q", self._words, place, count + 1)

    def counts(self) -> dict[str, int]:
        """How often each outcome was counted."""
        counts = struct.unpack_from(f"<{len(self._outcomes)}q", self._words, 8)
        return dict(zip(self._outcomes, counts, strict=True))


class Mutant(NamedTuple):
    """A mutant: its seed with one file damaged."""

    name: str
    door: str
    files: dict[str, bytes]
    operand: str
    damaged: bytes

    def write(self, folder: Path) -> Path:
        """Write the files; the path that the commands get."""
        for path, data in self.files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        return folder / self.operand


class Maker:
    """Makes mutant N of a seed number, from seeds of each kind alike."""

    def __init__(self, files: list[Path], seed: int) -> None:
        from tools.mutate.damage import mutate, parts_of  # noqa: PLC0415
        from tools.mutate.seeds import Seed, all_seeds, single  # noqa: PLC0415

        self._mutate = mutate
        self._seed = seed
        self.seeds = (
            [single(path.name, "object", path.read_bytes()) for path in files]
            if files
            else all_seeds()
        )
        self._parts = {each.name: parts_of(each.data) for each in self.seeds}
        self._kinds: dict[str, list[Seed]] = {}
        for each in self.seeds:
            self._kinds.setdefault(each.name.partition("-")[0], []).append(each)

    def make(self, number: int) -> Mutant:
        """Mutant *number*, always the same."""
        choice = random.Random(f"{self._seed}:{number}")  # noqa: S311
        kind = choice.choice(list(self._kinds.values()))
        seed = choice.choice(choice.choice((kind, self.seeds)))
        same = self._kinds[seed.name.partition("-")[0]]
        donor = choice.choice(choice.choice((same, self.seeds))).data
        damaged = self._mutate(seed.data, self._parts[seed.name], choice, donor)
        files = {**seed.files, seed.target: damaged}
        return Mutant(seed.name, seed.door, files, seed.operand, damaged)

    def samples(self) -> list[Mutant]:
        """A seed of each kind, whole."""
        firsts = [seeds[0] for seeds in self._kinds.values()]
        return [
            Mutant(each.name, each.door, each.files, each.operand, each.data)
            for each in firsts
        ]


def try_mutant(mutant: Mutant, number: int) -> str:
    """Read a mutant in a folder of its own; what came of it."""
    from tools.mutate.doors import Finding, try_door  # noqa: PLC0415

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        outcome = try_door(mutant.door, mutant.write(folder), number)
        usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    limit = _BASE[0] + _FIXED_MEMORY + _MEMORY_PER_BYTE * len(mutant.damaged)
    if usage > limit:
        raise Finding(f"{usage >> 20} MiB of memory for {len(mutant.damaged)} bytes")
    return outcome


_BASE = [0]  # bytes of memory that the process had before its mutants


def load_commands(maker: Maker) -> None:
    """Import what the commands import when they are used, before anything forks."""
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nothing,
        redirect_stdout(nothing),
        redirect_stderr(nothing),
    ):
        for number, sample in enumerate(maker.samples()):
            try_mutant(sample, number)


def run_child(maker: Maker, numbers: range, shared: Shared, until: float) -> None:
    """Try mutants one by one, saying in *shared* which one is under way."""
    sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for name in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(name, signal.SIG_DFL)
    _BASE[0] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    for number in numbers:
        if time.monotonic() > until:
            break
        shared.number = number
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, SECONDS * _PATIENCE)
        shared.add(try_mutant(maker.make(number), number))
    shared.number = numbers.stop


def fork_child(maker: Maker, numbers: range, shared: Shared, until: float) -> int:
    """Run the mutants in a new process; its exit code."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            run_child(maker, numbers, shared, until)
        except BaseException:  # noqa: BLE001 - whatever it is, it is a finding
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def keep(mutant: Mutant, folder: Path, name: str) -> Path:
    """Write a finding where it stays."""
    place = folder / name
    shutil.rmtree(place, ignore_errors=True)
    return mutant.write(place)


def try_all(maker: Maker, arguments: argparse.Namespace) -> int:
    """All mutants; a child that dies is replaced behind its mutant."""
    shared, findings = Shared(), 0
    start = time.monotonic()
    until = start + arguments.seconds if arguments.seconds else float("inf")
    count = sys.maxsize if arguments.seconds else arguments.mutants
    first = arguments.first
    end = first + count
    told = start
    while first < end and time.monotonic() < until:
        batch = range(first, min(first + _AT_ONCE, end))
        shared.number = first
        code = fork_child(maker, batch, shared, until)
        if code == 0:
            first = batch.stop
        else:
            number = shared.number
            kind = (
                "hang" if -code in {signal.SIGALRM, signal.SIGPROF} else f"exit {code}"
            )
            mutant = maker.make(number)
            folder = Path(os.environ[_MINE_IS_HERE])
            kept = keep(mutant, folder, f"{arguments.seed}-{number}")
            repeat = f"--seed {arguments.seed} --replay {number}"
            print(f"{kind}: {mutant.name}, kept as {kept} ({repeat})", flush=True)
            findings += 1
            first = number + 1
        if time.monotonic() - told > 600:  # noqa: PLR2004 - seconds
            told = time.monotonic()
            print(f"{shared.counts()} {findings} findings so far", flush=True)
    counts = Counter(shared.counts())
    done, seconds = counts.total() + findings, time.monotonic() - start
    told_counts = ", ".join(f"{each} {name}" for name, each in counts.items())
    print(f"{done} mutants of {len(maker.seeds)} seeds in {seconds:.0f} s, ", end="")
    print(f"seed {arguments.seed}: {told_counts}, {findings} findings")
    return 1 if findings else 0


def main() -> int:
    """Run the mutants, print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="binaries (default: seeds)")
    parser.add_argument("--mutants", type=int, default=10_000, help="number of mutants")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seconds", type=float, help="time, instead of a number")
    parser.add_argument("--seed", type=int, help="default: another one each time")
    parser.add_argument("--replay", type=int, help="try one mutant in this process")
    arguments = parser.parse_args()
    enter_sanitizer(arguments)
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as home:
        for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "GSYM_STORE"):
            os.environ[name] = home
        os.environ.pop("DEBUGINFOD_URLS", None)
        tempfile.tempdir = home  # where a process that dies leaves its files
        maker = Maker(arguments.files, arguments.seed)
        _BASE[0] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        if arguments.replay is not None:
            print(try_mutant(maker.make(arguments.replay), arguments.replay))
            return 0
        load_commands(maker)
        return try_all(maker, arguments)


if __name__ == "__main__":
    sys.exit(main())
