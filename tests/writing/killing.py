"""Commands that are killed or terminated at any instant while they write a file.

    python -m tests.writing.killing FOLDER SEED KILLS

Each instant is another command, in turn by SIGKILL and SIGTERM. Its output is then the
file of before or the whole new one, and the next run leaves no other file. The
processes are forked by one that has no threads. It prints how many were under way; what
goes wrong is its exit code.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gsym.cli.main import main as gsym_main
from tests.freeze.inputs import gsym_bytes
from tests.inputs.scaled import functions_of_a_unit
from tests.store.turmoil import fork

FUNCTIONS = 2000  # so that a file is written for some time
TERMINATED = 128 + signal.SIGTERM


class Task(NamedTuple):
    """A command, and its output when it ends."""

    words: list[str]
    output: Path
    whole: bytes


def quiet(words: list[str]) -> int:
    """Run `gsym` without its output."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stderr = nowhere
        try:
            return gsym_main(words)
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


def tasks(folder: Path) -> list[Task]:
    """Each command once, with its inputs."""
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
        "export.sym": ["export", str(made), "--to=breakpad", f"--binary={program}"],
    }
    assert quiet(["convert", str(program), "-o", str(made)]) == 0
    found = []
    for name, words in commands.items():
        output = outputs / name
        words += ["-o", str(output)]
        assert quiet(words) == 0, words
        found.append(Task(words, output, output.read_bytes()))
    return found


def interrupt(task: Task, chance: random.Random, number: int, longest: float) -> bool:
    """Kill or terminate a run of *task*; whether it had not ended yet."""
    old = chance.choice([None, b"old"])
    task.output.unlink(missing_ok=True)
    if old is not None:
        task.output.write_bytes(old)

    def work() -> None:
        try:
            os._exit(quiet(task.words))
        except SystemExit as end:  # by SIGTERM
            os._exit(int(end.code or 0))

    child = fork(work)
    time.sleep(chance.random() * longest)
    how = (signal.SIGKILL, signal.SIGTERM)[number % 2]
    with suppress(ProcessLookupError):
        os.kill(child, how)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in {0, -how, TERMINATED}, (task.words, code)
    left = task.output.read_bytes() if task.output.exists() else None
    assert left in {old, task.whole}, (task.words, how)
    assert code != 0 or left == task.whole
    return code != 0


def kill_all(folder: Path, chance: random.Random, kills: int) -> int:
    """Interrupt commands at random; how many were under way."""
    interrupted = 0
    all_tasks = tasks(folder)
    longest = []
    for task in all_tasks:
        start = time.monotonic()
        assert quiet(task.words) == 0
        longest.append(1.2 * (time.monotonic() - start))
    for number in range(kills):
        which = number // 2 % len(all_tasks)
        task = all_tasks[which]
        interrupted += interrupt(task, chance, number, longest[which])
    for task in all_tasks:
        assert quiet(task.words) == 0
        assert task.output.read_bytes() == task.whole
    names = {path.name for path in (folder / "outputs").iterdir()}
    assert names == {task.output.name for task in all_tasks}, names
    return interrupted


def main() -> None:
    folder, seed, kills = sys.argv[1:]
    chance = random.Random(int(seed))  # noqa: S311 - no secret
    interrupted = kill_all(Path(folder), chance, int(kills))
    sys.stdout.write(f"{interrupted}\n")


if __name__ == "__main__":
    main()
