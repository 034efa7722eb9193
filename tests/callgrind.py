"""Count instructions with valgrind's callgrind.

A script runs in a process of its own, and only the calls of the engine count, or the
parts that the script names, so that the machine's load does not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conftest import REPOSITORY
from tests.sanitizer import has_address_sanitizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    options = [
        *("--collect-atstart=no", f"--toggle-collect={_CALLS}", "--compress-pos=no"),
        *(f"--dump-before=_cffi_f_{start}" for start in starts),
    ]
    output = _run(script, *arguments, folder=folder, options=options)
    # Each dump has what came before it; the last part is in the file without a number.
    dumps = len(list(folder.glob("callgrind.out.*")))
    parts = [folder / f"callgrind.out.{number}" for number in range(2, dumps + 1)]
    return [_count(part) for part in (*parts, output)]


def _run(script: str, *arguments: str, folder: Path, options: Sequence[str]) -> Path:
    """The file that callgrind writes of a script."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("not installed: valgrind")
    if has_address_sanitizer():
        pytest.skip("valgrind cannot run what has sanitizers")
    output = folder / "callgrind.out"
    command = [
        *(valgrind, "--tool=callgrind", f"--callgrind-out-file={output}", *options),
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
    return output


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


_PARTS = """
#include <valgrind/callgrind.h>
void begin(void) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}
void end(void) {
    CALLGRIND_DUMP_STATS;
    CALLGRIND_STOP_INSTRUMENTATION;
}
"""


def count_parts(script: str, *arguments: str, folder: Path, compiler: str) -> list[int]:
    """Instructions of parts of a script, those of Python included.

    Args:
        script: As for `count_instructions`. It calls `part.begin()` and `part.end()`
            around each part; what is between parts runs uncounted, and faster.
        arguments: As for `count_instructions`.
        folder: As for `count_instructions`.
        compiler: A C compiler.
    """
    source, library = folder / "parts.c", folder / "parts.so"
    source.write_text(_PARTS)
    built = subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, source],
        capture_output=True,
        check=False,
    )
    if built.returncode != 0:
        pytest.skip("not installed: valgrind/callgrind.h")
    load = f"import ctypes; part = ctypes.CDLL({str(library)!r})\n{script}"
    output = _run(load, *arguments, folder=folder, options=["--instr-atstart=no"])
    parts = len(list(folder.glob(f"{output.name}.*")))
    return [_total(Path(f"{output}.{part}")) for part in range(1, parts + 1)]


def _total(profile: Path) -> int:
    lines = profile.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("totals:"))
