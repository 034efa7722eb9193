"""Processes that work on one store at once, and some that are killed meanwhile.

    python -m tests.store.turmoil crash FOLDER SEED KILLS
    python -m tests.store.turmoil together FOLDER SEED PROCESSES [SECONDS]
    python -m tests.store.turmoil full FOLDER 0 MODULES

`together` is 40 steps of each process on two modules, or with SECONDS steps on fifty
for so long. The processes are forked by one that has no threads. What goes wrong is
printed, and is the exit code.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.verification import verify_store
from tests.store_modules import build_id, key, put, write_sym

if TYPE_CHECKING:
    from collections.abc import Callable

MODULES = 2  # so that they get in each other's way
RESTS = 0.1  # of all calls
STEPS = 40  # of each process that works together with others
MANY_MODULES = 50
# What a killed process may leave, and whoever comes next removes or completes.
LEFT = {"unused files", "the link is broken", "the link is missing"}


def check(store: Store, number: int) -> None:
    """The answer for a module is nothing, or whole and of that module."""
    found = store.open(key(number))
    if found is None:
        return
    entry, reader = found
    with reader:
        answer = reader.lookup(0x1000)
        assert reader.uuid == build_id(number)
        assert answer is not None
        name = f"f{number}"  # of a Breakpad file, or of a module with so many functions
        assert answer.function.name in {name, f"{name}_{len(reader)}"}
        assert len(reader) == entry.quality.functions


def step(
    store: Store, chance: random.Random, folder: str, modules: int = MODULES
) -> None:
    """One thing that somebody may do with a store of so many modules."""
    number = chance.randrange(modules)
    kind = chance.randrange(10)
    if kind < 4:
        put(store, number, functions=chance.randrange(1, 9))
    elif kind < 6:
        path = write_sym(Path(folder, f"{os.getpid()}.sym"), number)
        add_file(store, path, keep_original=kind == 4)
    elif kind == 6:
        store.collect(chance.randrange(1000 * modules))
    elif kind < 9 and (entries := [*store.entries()]):
        store.remove(chance.choice(entries))
    for each in chance.sample(range(modules), MODULES):
        check(store, each)


def shake(chance: random.Random) -> None:
    """Let other processes come in between the steps that this one takes."""

    def shaken(call: Callable[..., object]) -> Callable[..., object]:
        def call_and_rest(*arguments: object, **options: object) -> object:
            try:
                return call(*arguments, **options)
            finally:
                if chance.random() < RESTS:
                    time.sleep(chance.random() * 0.002)

        return call_and_rest

    for name in ("mkdir", "open", "readlink", "replace", "rename", "unlink", "utime"):
        setattr(os, name, shaken(getattr(os, name)))


def fork(work: Callable[[], None]) -> int:
    """Run *work* in a new process; its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001 - reported by the exit code
        traceback.print_exc()
    finally:
        os._exit(status)


def crash(store: Store, folder: str, chance: random.Random, kills: int) -> None:
    """Kill processes at any instant; the store is right each time, with leftovers."""

    put(store, 0)
    reader, writer = os.pipe()

    def work() -> None:
        mine = random.Random(chance.random())  # noqa: S311 - no secret
        while True:
            os.write(writer, b".")
            step(store, mine, folder)

    for _ in range(kills):
        chance.random()
        child = fork(work)
        for _ in range(chance.randrange(1, 4)):
            os.read(reader, 1)
        time.sleep(chance.random() * 0.005)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the process failed by itself"
        fresh = Store(store.path)
        for number in range(MODULES):
            check(fresh, number)
        wrong = {each.reason for each in verify_store(fresh)} - LEFT
        assert not wrong, wrong
    list(verify_store(store, repair=True))
    assert_clean(store)


def together(
    store: Store,
    folder: str,
    chance: random.Random,
    processes: int,
    seconds: float | None = None,
) -> None:
    """Several processes work; none sees anything wrong, and nothing is left.

    It prints how many steps they did.
    """
    end = None if seconds is None else time.monotonic() + seconds
    reader, writer = os.pipe()
    children = []
    for _ in range(processes):
        seed = chance.random()

        def work(seed: float = seed) -> None:
            mine = random.Random(seed)  # noqa: S311 - no secret
            shake(mine)
            done = 0
            while done < STEPS if end is None else time.monotonic() < end:
                step(store, mine, folder, MODULES if end is None else MANY_MODULES)
                done += 1
            os.write(writer, b"%d\n" % done)

        children.append(fork(work))
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    assert not failed, "a process failed"
    os.close(writer)
    with os.fdopen(reader) as reported:
        sys.stdout.write(f"{sum(map(int, reported))}\n")
    store.collect(1 << 40)
    assert_clean(store)


def full(store: Store, folder: str, chance: random.Random, count: int) -> None:
    """Fill a small file system with modules until nothing goes in any more."""
    assert chance
    put(store, 0, functions=1)
    number = 1
    while fits(store, number):
        number += 1
        assert number < count, "the file system is not full"
    assert store.get(key(number)) is None
    fits(store, 0)  # perhaps there is no room for a richer one either
    for each in range(number):
        assert store.get(key(each))
        check(store, each)
    Path(folder, "ballast").unlink()
    assert_clean(store)
    assert fits(store, number)


def fits(store: Store, number: int) -> bool:
    """Put a module in; whether there was room for it."""
    try:
        put(store, number, functions=200)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
    return True


def assert_clean(store: Store) -> None:
    wrong = list(verify_store(store))
    assert not wrong, wrong
    for name in (".tmp", ".locks"):
        left = list(Path(store.path, name).glob("*"))
        assert not left, left
    count = sum(1 for _ in Path(store.path, ".entries").glob("*/*"))
    assert count == len(list(store.slots()))


def main() -> None:
    kind, folder, seed, count, *seconds = sys.argv[1:]
    chance = random.Random(int(seed))  # noqa: S311 - no secret
    kinds: dict[str, Callable[..., None]] = {
        "crash": crash,
        "together": together,
        "full": full,
    }
    kinds[kind](
        Store(Path(folder, "store")), folder, chance, int(count), *map(float, seconds)
    )


if __name__ == "__main__":
    main()
