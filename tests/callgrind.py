"""Count the instructions of the engine with valgrind's callgrind.

A script runs in a process of its own, and only the calls of the engine count, so that
Python's instructions, and the machine's load, do not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conftest import REPOSITORY
from tests.sanitizer import has_address_sanitizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SECONDS = 300
_CALLS = "_cffi_f_gsym_*"  # the binding's functions, which do not call each other
_ENGINE = "/_core.abi3.so"


class Count(NamedTuple):
    """Instructions that ran while the engine was called.

    Attributes:
        engine: Those of the engine itself.
        total: With those of the C library, which differ from processor to processor.
    """

    engine: int
    total: int


def count_instructions(
    script: str, *arguments: str, folder: Path, starts: Sequence[str]
) -> list[Count]:
    """What each part of a script costs; skips the test where nobody can count.

    Args:
        script: Python code that reads *arguments* from `sys.argv[1:]`.
        arguments: Its arguments.
        folder: For the output of callgrind.
        starts: The functions of the engine whose calls begin a part; what comes before
            the first does not count.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("not installed: valgrind")
    if has_address_sanitizer():
        pytest.skip("valgrind cannot run what has sanitizers")
    output = folder / "callgrind.out"
    command = [
        *(valgrind, "--tool=callgrind", f"--callgrind-out-file={output}"),
        *("--collect-atstart=no", f"--toggle-collect={_CALLS}"),
        *(f"--dump-before=_cffi_f_{start}" for start in starts),
        "--compress-pos=no",
        *(sys.executable, "-c", script, *arguments),
    ]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    # Each dump has what came before it; the last part is in the file without a number.
    dumps = len(list(folder.glob("callgrind.out.*")))
    parts = [folder / f"callgrind.out.{number}" for number in range(2, dumps + 1)]
    return [_count(part) for part in (*parts, output)]


def _count(profile: Path) -> Count:
    engine = total = 0
    for owner, cost in _own_costs(profile):
        total += cost
        engine += cost if owner.endswith(_ENGINE) else 0
    assert engine, "no call of the engine was seen"
    return Count(engine, total)


def _own_costs(profile: Path) -> Iterator[tuple[str, int]]:
    """Object file and instructions of each line of the profile, calls left out."""
    names: dict[str, str] = {}
    owner = ""
    is_call = False
    for line in profile.read_text(encoding="utf-8").splitlines():
        if line.startswith(("ob=", "cob=")):  # both define the numbers of names
            number, _, name = line.partition("=")[2].partition(" ")
            if name:
                names[number] = name
            if line.startswith("ob="):
                owner = names[number]
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit():
            if not is_call:
                yield owner, int(line.split()[1])
            is_call = False
