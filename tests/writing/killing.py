"""Commands that are killed or terminated at any instant, or find the disk full.

    python -m tests.writing.killing KIND FOLDER SEED TIMES
    LD_PRELOAD=DISK python -m tests.writing.killing KIND FOLDER SEED calls

KIND is `files`, commands that write a file; `batch`; `adding` of modules to a store,
`eviction` from it; or `uploads` to a server. Each time another run is interrupted, in
turn by SIGKILL, by SIGTERM, and by a limit for the size of files: a write takes the
bytes up to it, the next one fails. What a run leaves is complete or absent, and the
next one ends right and leaves no other file. The processes are forked by one that has
no threads. It prints how many a signal ended, and how many the limit; what goes wrong
is its exit code.

In the second form each call that writes fails once for each error, with the library
DISK of `test_interruptions.py`. It prints how many failed, and 0.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import resource
import signal
import sys
import tempfile
import time
import zipfile
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException
from io import BytesIO
from itertools import count
from pathlib import Path
from shutil import copytree, rmtree
from typing import TYPE_CHECKING

from benchmarks.serving import HOST, free_port, wait_until_it_answers
from gsym.cli.main import main as gsym_main
from gsym.store.directory import Store
from gsym.store.verification import verify_store
from tests import arrow_batches
from tests.freeze.inputs import gsym_bytes
from tests.inputs.scaled import functions_of_a_unit
from tests.store.turmoil import LEFT, assert_clean, check, fork
from tests.store_modules import key, put, write_gsym, write_sym

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FUNCTIONS = 2000  # so that a file is written for some time
ROWS, ROWS_OF_A_PART = 600, 20
EVICTED, MODULES = range(10, 40), range(3)
CLIENTS = 2
TOKEN = "secret"  # noqa: S105 - of a server that nobody else reaches
PATIENCE = 20  # seconds until a client is answered
WAYS = (signal.SIGKILL, signal.SIGTERM, None)
TERMINATED = 128 + signal.SIGTERM


def quiet(words: list[str]) -> int:
    """Run `gsym` without its output."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stderr = nowhere
        try:
            return gsym_main(words)
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


class Command(ABC):
    """A command in a process of its own.

    Args:
        words: The command.

    Attributes:
        ends: Whether it does so by itself.
        seconds: How long it takes when it has started.
        size: Bytes of the largest file that it writes.
    """

    ends = True
    seconds = 0.5
    size = 10_000

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    def measure(self) -> None:
        """Run it to learn how long it takes, and what it makes."""
        child = self.start()
        begin = time.monotonic()
        assert status(child) == 0, self.words
        self.seconds = 1.2 * (time.monotonic() - begin)

    def start(self, most: int = resource.RLIM_INFINITY) -> int:
        """Start it, with files of so many bytes at most; the id of the process."""
        reader, writer = os.pipe()

        def work() -> None:
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
            try:
                os._exit(self.run(lambda: os.write(writer, b".")))
            except SystemExit as end:  # by SIGTERM
                os._exit(int(end.code or 0))

        child = fork(work)
        os.close(writer)
        os.read(reader, 1)
        os.close(reader)
        return child

    def run(self, report: Callable[[], object]) -> int:
        """Run it in this process, and report when it begins."""
        report()
        return quiet(self.words)

    @abstractmethod
    def prepare(self, chance: random.Random) -> None:
        """Make what the next run finds."""

    @abstractmethod
    def check(self, code: int) -> None:
        """Check what a run has left, of which *code* is the exit status."""

    @abstractmethod
    def finish(self) -> None:
        """Run it again to its end, which is right and without other files."""


class Writing(Command):
    """A command that writes a file.

    Args:
        words: The command without its output.
        output: The file.
    """

    def __init__(self, words: list[str], output: Path) -> None:
        super().__init__(*words, "-o", str(output))
        self._output = output

    def measure(self) -> None:
        super().measure()
        self._whole = self._output.read_bytes()
        self.size = len(self._whole)

    def prepare(self, chance: random.Random) -> None:
        self._old = chance.choice([None, b"old"])
        self._output.unlink(missing_ok=True)
        if self._old is not None:
            self._output.write_bytes(self._old)

    def check(self, code: int) -> None:
        left = self._output.read_bytes() if self._output.exists() else None
        assert left in ({self._old, self._whole} if code else {self._whole})
        if code in {0, 1}:  # not ended by a signal
            assert not list(self._output.parent.glob(f".{self._output.name}.*"))

    def finish(self) -> None:
        assert status(self.start()) == 0
        self.check(0)


class Batch(Command):
    """`gsym batch`, of which each run goes on where the one before was stopped."""

    def __init__(self, folder: Path) -> None:
        from tests.arrow import test_batch_job as jobs  # noqa: PLC0415 - needs pyarrow

        path, self._output = folder / "rows.parquet", folder / "out"
        jobs.write(path, jobs.table_of(ROWS), ROWS_OF_A_PART)
        self._jobs = jobs
        store = Store(folder / "store")
        for number in MODULES:
            arrow_batches.put(store, number)
        words = ["batch", str(path), "--modules", store.path, "-o", str(self._output)]
        super().__init__(*words, "--answers=ids", "--resume", "--jobs=2")

    def measure(self) -> None:
        super().measure()
        self._answers = self._found()
        self.size = max(path.stat().st_size for path in self._output.glob("part-*"))

    def prepare(self, chance: random.Random) -> None:
        if chance.random() < 0.5:
            rmtree(self._output, ignore_errors=True)

    def check(self, code: int) -> None:
        found = {path.name for path in self._output.glob("part-*")}
        assert found <= {path.name for path in self._output.glob("frames/part-*")}
        assert code != 0 or len(found) == ROWS // ROWS_OF_A_PART

    def finish(self) -> None:
        assert status(self.start()) == 0
        self.check(0)
        assert self._found() == self._answers
        assert not list(self._output.rglob(".*"))

    def _found(self) -> list[tuple[object, ...]]:
        return self._jobs.answers(self._jobs.joined(self._output))


class Adding(Command):
    """`gsym store add`, with the original file, of a module that may be there."""

    def __init__(self, folder: Path) -> None:
        self._store = Store(folder / "store")
        path = folder / "new.sym"
        write_sym(path, 0)
        with path.open("a") as file:
            for index in range(FUNCTIONS):
                file.write(f"FUNC {0x2000 + 0x10 * index:x} 10 0 f0\n")
        self.size = path.stat().st_size
        words = ["store", "add", str(path), "--store", self._store.path]
        super().__init__(*words, "--keep-original")

    def measure(self) -> None:
        super().measure()
        assert self._functions() > 1

    def _functions(self) -> int:
        check(self._store, 0)
        entry = self._store.get(key(0))
        return entry.quality.functions if entry else 0

    def prepare(self, chance: random.Random) -> None:
        for entry in self._store.entries():
            self._store.remove(entry)
        if chance.random() < 0.5:
            put(self._store, 0)

    def check(self, code: int) -> None:
        assert self._functions() in ({0, 1, FUNCTIONS + 1} if code else {FUNCTIONS + 1})
        assert not {each.reason for each in verify_store(self._store)} - LEFT

    def finish(self) -> None:
        assert status(self.start()) == 0
        self.check(0)
        self._store.collect(1 << 40)
        assert_clean(self._store)


class Eviction(Command):
    """`gsym store gc`, which removes half of the modules."""

    def __init__(self, folder: Path) -> None:
        self._full, self._store = Store(folder / "full"), Store(folder / "store")
        for number in EVICTED:
            put(self._full, number)
        size = sum(entry.size for entry in self._full.entries()) // 2
        words = ["store", "gc", "--store", self._store.path]
        super().__init__(*words, f"--max-size={size}")
        self._fill()

    def _fill(self) -> None:
        rmtree(self._store.path, ignore_errors=True)
        copytree(self._full.path, self._store.path, symlinks=True)

    def measure(self) -> None:
        super().measure()
        self._kept = set(self._store.slots())
        assert 0 < len(self._kept) < len(EVICTED)

    def prepare(self, chance: random.Random) -> None:
        del chance
        self._fill()

    def check(self, code: int) -> None:
        fresh = Store(self._store.path)
        for number in EVICTED:  # in the order of their use, which this is as well
            check(fresh, number)
        assert not {each.reason for each in verify_store(fresh)} - LEFT
        assert set(fresh.slots()) >= self._kept
        assert code != 0 or set(fresh.slots()) == self._kept

    def finish(self) -> None:
        assert status(self.start()) == 0
        assert set(self._store.slots()) == self._kept
        assert_clean(self._store)


class Uploads(Command):
    """A worker of `gsym serve`, while clients upload modules."""

    ends = False

    def __init__(self, folder: Path) -> None:
        # These need the extra `server`.
        import uvicorn  # noqa: PLC0415

        from gsym.server import workers  # noqa: PLC0415
        from tests.server import running  # noqa: PLC0415

        super().__init__("serve")
        self._uvicorn, self._workers, self._running = uvicorn, workers, running
        self._tokens = folder / "tokens"
        self._tokens.write_text(running.token_lines({TOKEN: "upload,replace"}))
        self._store = Store(folder / "store")
        with self._store.temporary_folder():
            pass  # which makes the store
        self._seed = 0
        # Functions of the richest upload that was answered, by module.
        self._answered = dict.fromkeys(MODULES, 0)
        self._clients: list[int] = []

    def measure(self) -> None:
        """It takes as long as it is let."""

    def run(self, report: Callable[[], object]) -> int:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        settings = self._running.made_settings(
            port=self._port, store=self._store.path, token_files=[str(self._tokens)]
        )
        app = partial(self._workers.worker_app, lambda: settings)
        config = self._workers._config(app, settings)  # noqa: SLF001 - that of `serve`
        listener = self._workers.bind(settings)
        report()
        self._uvicorn.Server(config).run([listener])
        return 0

    def start(self, most: int = resource.RLIM_INFINITY) -> int:
        child = self._serve(most)
        self._reader, writer = os.pipe()
        for _ in range(CLIENTS):
            self._seed += 1
            self._clients.append(fork(partial(self._upload, self._seed, writer)))
        os.close(writer)
        return child

    def _serve(self, most: int = resource.RLIM_INFINITY) -> int:
        """Start the server; it removes what one that was killed has left."""
        self._port = free_port()
        child = super().start(most)
        wait_until_it_answers(self._port)
        try:
            self._running.wait_until(lambda: not self._leftovers())
        except AssertionError:
            raise AssertionError(self._leftovers()) from None
        return child

    def _leftovers(self) -> list[object]:
        left: list[object] = list(verify_store(self._store))
        for name in (".tmp", ".locks"):
            left += Path(self._store.path, name).glob("*")
        return left

    def _upload(self, seed: int, writer: int) -> None:
        """Upload modules, alone and in archives, and report which were taken."""
        chance = random.Random(seed)  # noqa: S311 - no secret
        with tempfile.TemporaryDirectory() as folder:
            while True:
                modules = {
                    number: chance.randrange(1, 250)
                    for number in chance.sample(MODULES, chance.randrange(1, 3))
                }
                paths = [
                    write_gsym(f"{folder}/{number}.gsym", number, functions)
                    for number, functions in modules.items()
                ]
                try:
                    code = self._post(_archive(paths))
                except (OSError, HTTPException):
                    return
                if code == 503:  # it stops
                    return
                for number, functions in modules.items():
                    if code == 201:
                        os.write(writer, bytes([number, functions]))

    def _post(self, body: bytes) -> int:
        connection = HTTPConnection(HOST, self._port, timeout=PATIENCE)
        connection.request("POST", "/upload/", body, {"auth-token": TOKEN})
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status in {201, 503, 507}, text
        return answer.status

    def prepare(self, chance: random.Random) -> None:
        for number in MODULES:
            if chance.random() < 0.5 and (entry := self._store.get(key(number))):
                self._store.remove(entry)
                self._answered[number] = 0

    def check(self, code: int) -> None:
        while reported := os.read(self._reader, 2):
            number, functions = reported
            self._answered[number] = max(functions, self._answered[number])
        os.close(self._reader)
        for client in self._clients:
            assert status(client) == 0
        self._clients.clear()
        for number, functions in self._answered.items():
            fresh = Store(self._store.path)
            check(fresh, number)
            entry = fresh.get(key(number))
            assert (entry.quality.functions if entry else 0) >= functions
        wrong = {each.reason for each in verify_store(self._store)}
        assert not wrong - (LEFT if code == -signal.SIGKILL else set()), wrong

    def finish(self) -> None:
        child = self._serve()
        os.kill(child, signal.SIGTERM)
        assert status(child) in {0, -signal.SIGTERM}
        assert_clean(self._store)


def _archive(paths: list[str]) -> bytes:
    """The body of an upload of one file, or of several."""
    if len(paths) == 1:
        return Path(paths[0]).read_bytes()
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in paths:
            archive.write(path, Path(path).name)
    return buffer.getvalue()


def status(child: int) -> int:
    """Wait until a process has ended; its exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def files(folder: Path) -> list[Command]:
    """The commands that write a file, with their inputs."""
    program, other = folder / "program", folder / "other.gsym"
    program.write_bytes(functions_of_a_unit(FUNCTIONS))
    other.write_bytes(gsym_bytes())
    outputs = folder / "outputs"
    outputs.mkdir()
    made = folder / "made.gsym"
    commands = {
        "convert.gsym": ["convert", str(program), "-j2"],
        "merge.gsym": ["merge", str(made), str(other), "--force"],
        "embed": ["embed", str(made), str(program)],
        "export.sym": [
            *("export", str(made), "--to=breakpad", f"--binary={program}"),
            f"--debug-id={'A' * 33}",
        ],
    }
    assert quiet(["convert", str(program), "-o", str(made)]) == 0
    return [Writing(words, outputs / name) for name, words in commands.items()]


KINDS: dict[str, Callable[[Path], Sequence[Command]]] = {
    "files": files,
    "batch": lambda folder: [Batch(folder)],
    "adding": lambda folder: [Adding(folder)],
    "eviction": lambda folder: [Eviction(folder)],
    "uploads": lambda folder: [Uploads(folder)],
}


def interrupt(
    command: Command,
    chance: random.Random,
    how: signal.Signals | None,
    instant: float,
) -> bool:
    """Interrupt a run of *command*; whether it had not ended yet.

    Args:
        command: What is run.
        chance: Selects what it finds, and the limit.
        how: The signal; None: the limit.
        instant: When the signal comes, as a part of the time that the command takes.
    """
    command.prepare(chance)
    most = resource.RLIM_INFINITY if how else chance.randrange(command.size)
    child = command.start(most)
    if how or not command.ends:
        time.sleep(instant * command.seconds)
        with suppress(ProcessLookupError):
            os.kill(child, how or signal.SIGTERM)
    code = status(child)
    expected = {0, -how, TERMINATED} if how else {0, 1, -signal.SIGTERM}
    assert code in expected, (command.words, code)
    command.check(code)
    if chance.random() < 0.5:  # else the next run finds what this one left
        command.finish()
    return code != 0


def fail_all(commands: Sequence[Command], chance: random.Random) -> int:
    """Let each call that writes fail once for each error; how many did."""
    disk = ctypes.CDLL(None)
    failed = 0
    for command in commands:
        command.measure()
        for error in (errno.ENOSPC, errno.EIO, errno.EINTR):
            for when in count(1):
                command.prepare(chance)
                disk.fail_call(when, error)
                code = status(command.start())
                is_over = disk.fail_call(0, 0) > 0
                command.check(code)
                # The sync of a folder comes after the renaming.
                is_right = is_over or error == errno.EINTR
                assert code in ({0} if is_right else {0, 1}), (command.words, code)
                if is_over:
                    break
                failed += 1
        command.finish()
    return failed


def kill_all(
    commands: Sequence[Command], chance: random.Random, times: int
) -> tuple[int, int]:
    """Interrupt commands at random; how many a signal ended, and how many the limit."""
    for command in commands:
        command.measure()
    ended = [0] * len(WAYS)
    for number in range(times):
        command = commands[number // len(WAYS) % len(commands)]
        way = number % len(WAYS)
        instant = (number + chance.random()) / times  # so that the first is in time
        ended[way] += interrupt(command, chance, WAYS[way], instant)
    for command in commands:
        command.finish()
    *signals, limit = ended
    return sum(signals), limit


def main() -> None:
    kind, folder, seed, times = sys.argv[1:]
    chance = random.Random(int(seed))  # noqa: S311 - no secret
    commands = KINDS[kind](Path(folder))
    if times == "calls":
        signals, limit = fail_all(commands, chance), 0
    else:
        signals, limit = kill_all(commands, chance, int(times))
    sys.stdout.write(f"{signals} {limit}\n")


if __name__ == "__main__":
    main()
