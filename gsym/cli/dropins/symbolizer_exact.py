"""`--exact`: runs llvm-symbolizer itself, on the debug information."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_OPTION = "--exact"
_ENVIRONMENT = "LLVM_SYMBOLIZER_OPTS"
_RUNNING = "GSYM_SYMBOLIZER_EXACT"  # set for the new program, which may be this one
_NEWEST, _OLDEST = 26, 14
# Newer versions would otherwise read a GSYM file; older ones do not know the option.
_NO_GSYM = "--disable-gsym"


def run_llvm_symbolizer(arguments: list[str]) -> str:
    """Replace this process by llvm-symbolizer; return the reason if that fails."""
    if os.environ.get(_RUNNING):
        return f"{_OPTION}: the installed llvm-symbolizer is this program"
    path = next(_programs(), None)
    if path is None:
        return f"{_OPTION}: llvm-symbolizer is not installed; answering from GSYM"
    words = [word for word in arguments if word != _OPTION]
    environment = {**os.environ, _RUNNING: "1"}
    if _ENVIRONMENT in environment:
        kept = environment[_ENVIRONMENT].split(" ")
        environment[_ENVIRONMENT] = " ".join(w for w in kept if w != _OPTION)
    sys.stdout.flush()
    try:
        if _understands(path, _NO_GSYM):
            words.insert(0, _NO_GSYM)
        os.execve(path, [path, *words], environment)  # noqa: S606 - no shell is wanted
    except OSError as error:
        return f"{_OPTION}: {path}: {error.strerror}"


def _programs() -> Iterator[str]:
    """Installed programs, the newest first, without this one."""
    versions = range(_NEWEST, _OLDEST, -1)
    names = ["llvm-symbolizer", *(f"llvm-symbolizer-{each}" for each in versions)]
    own = os.path.realpath(sys.argv[0])
    for name in (*names[1:], names[0]):
        for folder in os.get_exec_path():
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK) and os.path.realpath(path) != own:
                yield path


def _understands(path: str, option: str) -> bool:
    """Whether the program accepts *option*.

    Raises:
        OSError: It cannot be run, such as one of another machine.
    """
    from subprocess import DEVNULL, run

    asked = [path, option, "--version"]
    status = run(asked, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, check=False)  # noqa: S603
    return status.returncode == 0
