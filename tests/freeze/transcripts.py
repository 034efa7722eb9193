"""What commands print and write, as text that is the same for each run."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shlex
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import IO, TYPE_CHECKING

import gsym
from gsym.cli.dropins.addr2line import main as addr2line_main
from gsym.cli.dropins.gsymutil import main as gsymutil_main
from gsym.cli.dropins.symbolizer import main as symbolizer_main
from gsym.cli.main import main as gsym_main
from tests.freeze.inputs import kind_of, write_made_files

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_LINES = 40
SHOWN_CHARACTERS = 5_000
"""Of longer outputs the beginning is shown, and a hash of everything."""
ASKED_FUNCTIONS = 12
"""Functions of a file that commands ask for by themselves."""
STREAM_ADDRESSES = 5_000
START_SECONDS = 60
UNSTABLE = re.compile(
    r"[.]lock$|[.]gsym-key$|-shm$|-wal$|sqlite3$|server[.]log$|[.]tar$|/[.]imports/"
)
"""Names of files whose names or bytes differ from run to run."""
VOLATILE = {"date", "content-length", "etag", "last-modified", "x-request-id"}
"""Headers whose values differ likewise."""
MASKS = [
    (re.compile(rb"\b\d+(?:[.]\d+)? ?(?:ms|s|min)\b"), b"TIME"),
    (re.compile(rb"(?<=seconds\": )[-0-9.e]+"), b"TIME"),
    (re.compile(rb"(?<=peak_memory\": )\d+"), b"SIZE"),
    (re.compile(rb"\d+ B -> \d+ B"), b"SIZE -> SIZE"),
    (re.compile(rb"(?<=(?:added|_used)\": )[-0-9.e]+"), b"TIME"),
    (re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?([.]\d+)?Z?"), b"DATE"),
    (re.compile(rb"\b%s\b" % re.escape(gsym.__version__.encode())), b"VERSION"),
    (re.compile(rb"(?<=[0-9A-F]{32}[.])[0-9a-f]{16}\b"), b"RANDOM"),
    (re.compile(rb"(?<=/stamps/)([0-9a-f]+-){5}"), b"STAMP-"),
]
ENDS = ("out", "err", "status")
ENVIRONMENT = {"PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8"}
ENVIRONMENT |= {"COLUMNS": "80", "PYTHONHASHSEED": "0"}


# What each installed command runs.
MAINS = {
    "gsym": gsym_main,
    "gsymutil": gsymutil_main,
    "gsym-addr2line": addr2line_main,
    "gsym-symbolizer": symbolizer_main,
}


def run(words: list[str], given: bytes, folder: Path) -> tuple[bytes, bytes, int]:
    """Standard output, standard error and exit status of a command."""
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        stdin.write(given)
        stdin.seek(0)
        child = fork(words, (stdin, out, err), folder)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return out.read(), err.read(), status


def run_here(words: list[str], given: bytes, folder: Path) -> tuple[bytes, bytes, int]:
    """What `run` says, of a command in this process, whose streams it takes."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "in")
        source.write_bytes(given)
        _run_beside(f"{place}/of", words, folder, source)
        out, err, status = (Path(f"{place}/of.{end}").read_bytes() for end in ENDS)
    return out, err, int(status)


def run_all(commands: list[list[str]], folder: Path) -> list[tuple[bytes, bytes, int]]:
    """What `run` says of each command, all of which one process runs in turn.

    A copy of a large process for each of them takes ten times as long as most do.
    """
    with tempfile.TemporaryDirectory() as place:
        names = [f"{place}/{number}" for number in range(len(commands))]
        child = os.fork()
        if child == 0:
            try:
                for name, words in zip(names, commands, strict=True):
                    _run_beside(name, words, folder)
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        ends = [[Path(f"{name}.{end}").read_bytes() for end in ENDS] for name in names]
    return [(out, err, int(status)) for out, err, status in ends]


def _run_beside(
    name: str, words: list[str], folder: Path, source: Path = Path(os.devnull)
) -> None:
    """Run a command, with what it prints and its status in files."""
    out, err, status = (Path(f"{name}.{end}").open("wb") for end in ENDS)  # noqa: SIM115 - closed below
    with out, err, status, source.open("rb") as given:
        for number, stream in enumerate((given, out, err)):
            os.dup2(stream.fileno(), number)
        status.write(b"%d" % _run_main(words, folder))


def fork(words: list[str], streams: tuple[IO[bytes], ...], folder: Path) -> int:
    """Start a command in *folder*; return its process.

    It is a copy of this one, so that no command pays for imports.
    """
    child = os.fork()
    if child == 0:
        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
        os._exit(_run_main(words, folder))
    return child


def _run_main(words: list[str], folder: Path) -> int:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(ENVIRONMENT, HOME=str(folder), GSYM_STORE=str(folder / "store"))
    sys.argv = words
    for name, number, mode in (
        ("stdin", 0, "r"),
        ("stdout", 1, "w"),
        ("stderr", 2, "w"),
    ):
        errors = "backslashreplace" if name == "stderr" else "surrogateescape"
        stream = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115 - for the life of the process
        setattr(sys, name, stream)
    status: object = 1
    try:
        status = MAINS[words[0]]()
    except SystemExit as request:
        status = request.code
    except BaseException:  # noqa: BLE001 - as the interpreter prints it
        traceback.print_exc()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    return status if isinstance(status, int) else int(status is not None)


def masked(data: bytes, folder: Path) -> bytes:
    """What an output says, without what differs from run to run."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    data = data.replace(os.fsencode(folder), b".")
    for pattern, name in MASKS:
        data = pattern.sub(name, data)
    return data


def text_of(output: bytes, folder: Path) -> str:
    """What a transcript has of an output."""
    data = masked(output, folder)
    if b"\0" in data or b"\r" in data:
        return f"[{len(data)} bytes, {hashlib.sha256(data).hexdigest()}]\n"
    text = data.decode("utf-8", "backslashreplace")
    lines = text.splitlines(keepends=True)
    shown = "".join(lines[:SHOWN_LINES])[:SHOWN_CHARACTERS]
    if shown and not shown.endswith("\n"):
        shown += "\n[no end of line]\n"
    if len(shown) < len(text):
        shown += f"[{len(lines)} lines, {hashlib.sha256(data).hexdigest()}]\n"
    return shown


def written(folder: Path) -> dict[str, tuple[int, int, int]]:
    """The files of *folder*, and what changes when they are written."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            stat = path.lstat()
            found[str(path.relative_to(folder))] = (
                *(stat.st_ino, stat.st_mtime_ns, stat.st_size),
            )
    return found


def description(path: Path, folder: Path) -> str:
    """What a transcript has of a file."""
    if path.is_symlink():
        return f"link to {path.readlink()}"
    data = masked(path.read_bytes(), folder)
    return f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()[:32]}"


def entry(command: str, folder: Path) -> str:
    """The part of a transcript that is about one command, run by `run_here`.

    Args:
        command: As typed in *folder*. `< NAME` at its end is standard input.
    """
    words, _, source = command.partition(" < ")
    before = written(folder)
    given = (folder / source).read_bytes() if source else b""
    out, err, status = run_here(shlex.split(words), given, folder)
    text = f"$ {command}\n" + text_of(out, folder)
    if err:
        text += "[standard error]\n" + text_of(err, folder)
    if status:
        text += f"[exit status {status}]\n"
    for name, state in written(folder).items():
        if before.get(name) != state and not UNSTABLE.search(name):
            shown = masked(name.encode(), folder).decode()
            text += f"[wrote {shown}: {description(folder / name, folder)}]\n"
    return text + "\n"


def requests(commands: list[str], folder: Path) -> str:
    """A transcript of a server, which the first command starts, and of requests."""
    words, *lines = commands
    with tempfile.TemporaryFile() as nothing, (folder / "server.log").open("wb") as log:
        child = fork(shlex.split(words), (nothing, log, log), folder)
    try:
        port = _port_of_server(folder)
        text = "".join(request(line, port, folder) for line in lines)
    finally:
        os.kill(child, signal.SIGTERM)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return f"$ {words}\n\n{text}[exit status {status}]\n"


def _port_of_server(folder: Path) -> int:
    """Where the server listens, once it has printed that."""
    end = time.monotonic() + START_SECONDS
    while not (found := re.search(rb"http://[0-9.]+:(\d+)", log_of(folder))):
        assert time.monotonic() < end, log_of(folder).decode()
        time.sleep(0.02)
    return int(found[1])


def log_of(folder: Path) -> bytes:
    """What the server has printed."""
    return (folder / "server.log").read_bytes()


def request(line: str, port: int, folder: Path) -> str:
    """The part of a transcript that is about one request."""
    method, path, *source = line.replace(" < ", " ").split()
    body = (folder / source[0]).read_bytes() if source else None
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    text = f"$ {line}\n{response.status} {response.reason}\n"
    for name, value in sorted(response.getheaders()):
        if name.lower() not in VOLATILE:
            text += f"{name}: {value}\n"
    shown = answer.replace(str(port).encode(), b"PORT")
    return text + "\n" + text_of(shown, folder) + "\n"


def functions_of(path: Path) -> list[tuple[int, int]]:
    """Address and size of each function of a GSYM file; none of another file."""
    with suppress(gsym.GsymError, OSError), gsym.open(str(path)) as reader:
        return [(each.start, each.size) for each in reader.functions()]
    return []


def questions(path: Path, folder: Path) -> dict[str, str]:
    """What commands ask a GSYM file for: `{few}` addresses, and many in a file."""
    functions = functions_of(path)
    first, last = (functions[0][0], sum(functions[-1])) if functions else (0, 0)
    step = max(1, (last - first) // STREAM_ADDRESSES)
    many = range(first, last, step)
    (folder / "many").write_text("".join(f"{each:#x}\n" for each in many))
    step = max(1, len(functions) // ASKED_FUNCTIONS)
    few = [
        address
        for start, size in functions[::step]
        for address in (start, start + size // 2, start + max(size, 1) - 1)
    ]
    few += [0, last + 1]
    return {
        "few": " ".join(map(hex, few)),
        "options": " ".join(f"--address={each:#x}" for each in few),
    }


def entries(commands: list[str], folder: Path) -> str:
    """A transcript of commands, which one process runs in turn: it imports once."""
    with tempfile.NamedTemporaryFile() as file:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                text = "".join(entry(command, folder) for command in commands)
                Path(file.name).write_text(text, "utf-8", "surrogateescape")
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        return Path(file.name).read_text("utf-8", "surrogateescape")


def about(path: Path) -> str:
    """A transcript about a file, and about the GSYM file that commands make of it."""
    commands = sections("by_kind.txt")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        (folder / "in").symlink_to(path.parent)
        finished = folder / "o.gsym"
        file = shlex.quote(f"in/{path.name}")
        text = ""
        for command in commands.get(kind_of(path), []):
            asked = questions(finished if finished.exists() else path, folder)
            text += entries([command.format(file=file, **asked)], folder)
        if finished.exists():
            asked = questions(finished, folder)
            lines = [each.format(**asked) for each in commands["answers"]]
            text += entries(lines, folder)
        return text


def made() -> Iterator[tuple[str, str]]:
    """(name, text) of each transcript about the files made here."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        write_made_files(folder)
        for name, commands in sections("made.txt").items():
            is_server = commands[0].startswith("gsym serve ")
            yield f"{name}.txt", (requests if is_server else entries)(commands, folder)


def sections(name: str) -> dict[str, list[str]]:
    """The commands of a file in this folder, by the heading above them."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    parts = (part.strip().splitlines() for part in text.split("# ")[1:])
    return {heading: commands for heading, *commands in parts}
