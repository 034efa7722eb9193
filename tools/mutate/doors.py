"""The commands that read a file of each kind, run on a damaged one.

Each is run in this process, as the program itself is. An exit code that a command does
not document, or any exception, is a finding; so is a file that a failed command leaves,
and an output that is not complete.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from gsym.cli.main import main
from gsym.errors import GsymError
from gsym.reading.reader import open as open_gsym

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ANSWERED = {0, 1, 3}  # 2 is a wrong command line, which none of these is
_FORMATS = ("pprof", "collapsed", "speedscope", "firefox", "chrome")
_STYLES = ("spec", "llvm", "fuchsia")
_FUNCTIONS = 64  # of an output that are looked up
_AGAINST = 8  # one of so many outputs is compared with a second decoder

OUTCOMES = ("converted", "answered", "refused")


class Finding(Exception):  # noqa: N818 - not an error of the tool
    """What a command did and should not."""


def run(*command: object) -> bool:
    """Run `gsym COMMAND`; whether it succeeded."""
    words = [str(word) for word in command]
    status = main(words)
    if status not in _ANSWERED:
        raise Finding(f"exit code {status}: gsym {' '.join(words)}")
    return status != 1


def try_door(door: str, operand: Path, number: int) -> str:
    """Run the commands of a door on a file; which of OUTCOMES came of it.

    Args:
        door: A name in DOORS.
        operand: The damaged file, in a folder of its own.
        number: Selects options, so that mutants of one file get different ones.

    Raises:
        Finding: A command did what none may.
    """
    folder = operand.parent
    before = set(folder.rglob("*"))
    outcome = DOORS[door](operand, folder / "output", number)
    left = sorted(path.name for path in set(folder.rglob("*")) - before)
    if left and outcome == "refused":
        raise Finding(f"files are left: {left}")
    return outcome


def _object(path: Path, output: Path, number: int) -> str:
    return _convert(path, output, number, is_sound=True)


def _convert(path: Path, output: Path, number: int, *, is_sound: bool) -> str:
    """Convert; then everything that reads a GSYM file reads the output.

    Rewriting a GSYM file keeps values that lead nowhere in records that can be read:
    only if the input *is_sound* the output is.
    """
    options: tuple[str, ...] = (f"--threads={1 + number % 2}",)
    options += (f"--output-version={1 + number // 2 % 2}",)
    options += ("--no-index",) if number // 4 % 2 else ()
    if not run("convert", path, "-o", output, *options):
        return "refused"
    if not run("verify", output) and is_sound:
        raise Finding("an output that is not valid")
    _read(output, output.with_suffix(".sym"), number)
    if number % _AGAINST == 0 and path.is_file():
        run("verify", output, "--against", path)
    return "converted"


def _read(path: Path, exported: Path, number: int) -> None:
    """Commands that print what is in a GSYM file that may be damaged."""
    run("dump", path, *(["--json"] if number % 2 else []))
    run("stats", path)
    run("find", path, "main", "f")
    run("export", path, "--to=breakpad", "-o", exported)
    run("lookup", path, *_addresses(path))


def _addresses(path: Path) -> list[str]:
    """Addresses in functions of a file, if there are any."""
    found = [0, 0x1000, (1 << 64) - 1]
    with suppress(GsymError), open_gsym(path) as reader:
        for info in islice(reader.functions(), _FUNCTIONS):
            found += [info.start, (info.start + info.size // 2) % (1 << 64)]
    return [hex(address) for address in found]


def _gsym(path: Path, output: Path, number: int) -> str:
    is_valid = run("verify", path)
    _read(path, output.with_suffix(".sym"), number)
    run("merge", path, path, "--force", "-o", output)
    output.unlink(missing_ok=True)
    outcome = _convert(path, output, number, is_sound=is_valid)
    return "answered" if is_valid and outcome == "refused" else outcome


def _symbfile(path: Path, output: Path, number: int) -> str:
    run("symbfile", "dump", path, *(["--json"] if number % 2 else []))
    run("symbfile", "stats", path)
    run("symbfile", "verify", path)
    run("symbfile", "lookup", path, "0x1000", "0x1009")
    is_made = run("symbfile", "convert", path, "-o", output)
    return "converted" if is_made else "refused"


def _trace(path: Path, output: Path, number: int) -> str:
    run("trace", "info", path)
    run("trace", "stats", path, "--limit=0")
    run("trace", "dump", path, *(["--json"] if number % 2 else []))
    run("trace", "top", path)
    form = _FORMATS[number % len(_FORMATS)]
    is_made = run("trace", "convert", path, f"--to={form}", "-o", output)
    return "converted" if is_made else "refused"


def _log(path: Path, output: Path, number: int) -> str:
    style = f"--style={_STYLES[number % len(_STYLES)]}"
    form = f"--to={('text', 'json', 'html')[number // len(_STYLES) % 3]}"
    is_made = run("filter", path, style, form, "--gsym-dir", output.parent)
    return "answered" if is_made else "refused"


def _report(path: Path, _output: Path, number: int) -> str:
    is_made = run("symbolicate", path, *(["--json"] if number % 2 else []))
    return "answered" if is_made else "refused"


DOORS: dict[str, Callable[[Path, Path, int], str]] = {
    "object": _object,
    "gsym": _gsym,
    "symbfile": _symbfile,
    "trace": _trace,
    "log": _log,
    "report": _report,
}
