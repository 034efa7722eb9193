"""An upload of symbfiles to the server, with and without network failures.

    python -m benchmarks.symbfile_push [--megabytes 200] [--seed N] [--write]

`gsym symbfile push` sends ranges and return pads of a fictitious executable to `gsym
serve`, once directly and once through a proxy that breaks connections. Afterwards the
server has to return exactly the records that were sent, and to look up addresses. The
exit status is 1 if it does not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from hashlib import sha256
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import Request, urlopen

from benchmarks.faulty_proxy import FAULTS, FaultyProxy
from benchmarks.large_symbfiles import (
    BYTES,
    call_address,
    function_name,
    write_symbfiles,
)
from benchmarks.markdown import table
from benchmarks.process import measure
from benchmarks.report import made_by, write_region
from benchmarks.serving import HOST, ServerProcess
from gsym.symbfile.file_id import FileId
from gsym.symbfile.format import decode, open_symbfile
from gsym.symbfile.upload import PART_SIZE

if TYPE_CHECKING:
    from gsym.symbfile.parts import PartFiles

KEY = "YmVuY2g6bWFyaw=="
ASKED = 1000  # addresses
LEGEND = """\
{size:.0f} MB of symbfiles in {parts} parts: {functions:,} functions with lines, with
one return pad each. The server, on the same machine as the client, converts the
parts of a kind when the last one has arrived. Peak memory is that of the client, in
MiB. Errors injected by the proxy: {faults}. After each upload the server returned
exactly the records that were sent, and the functions at {asked:,} addresses."""


class Upload(NamedTuple):
    """How one upload went: seconds, MiB, and how often parts were sent."""

    seconds: float
    peak: float
    attempts: int


def push(url: str, executable: Path, paths: list[str]) -> Upload:
    """Push by the command.

    Raises:
        ChildProcessError: Something did not arrive.
    """
    report = executable.with_suffix(".json")
    words = ["push", "-e", str(executable), *paths, "--url", url, "--json"]
    command = [sys.executable, "-m", "gsym", "symbfile", *words]
    measured = measure(command, stdout=str(report))
    (told,) = json.loads(report.read_bytes())["executables"]
    attempts = sum(part["attempts"] for part in told["parts"])
    return Upload(measured.wall, measured.peak, attempts)


def check_records(port: int, file_id: FileId, kind: str, sent: PartFiles) -> None:
    """See that the server hands out what was sent.

    Raises:
        ValueError: It does not.
    """
    text = file_id.base64
    url = f"http://{HOST}:{port}/{text[:2]}/{text[2:4]}/{text}/{kind}"
    with urlopen(url) as answer:
        received = decode(answer.read()).records()
    expected = chain.from_iterable(open_symbfile(p).records() for p in sent.paths)
    for number, (one, other) in enumerate(zip_longest(expected, received)):
        if one != other:
            raise ValueError(f"record {number} of {kind}: {one} became {other}")


def check_names(port: int, file_id: FileId, functions: int) -> None:
    """See that the server answers for addresses.

    Raises:
        ValueError: It does not.
    """
    chance = random.Random(1)  # noqa: S311 - any addresses will do
    indexes = chance.sample(range(functions), min(ASKED, functions))
    stack = [[0, call_address(index)] for index in indexes]
    job = {"memoryMap": [["app", file_id.hex()]], "stacks": [stack]}
    body = json.dumps({"jobs": [job]}).encode()
    url = f"http://{HOST}:{port}/symbolicate/v5"
    with urlopen(Request(url, body)) as answer:
        (frames,) = json.loads(answer.read())["results"][0]["stacks"]
    for index, frame in zip(indexes, frames, strict=True):
        if frame.get("function") != function_name(index):
            raise ValueError(f"function {index} became {frame}")


def run(folder: Path, megabytes: int, seed: int) -> str:
    """Both uploads, as a table.

    Raises:
        ChildProcessError: Something did not arrive.
        ValueError: The server has something else than was sent.
    """
    functions = megabytes * 1_000_000 // BYTES
    sent = write_symbfiles(folder, functions, PART_SIZE)
    paths = [path for files in sent.values() for path in files.paths]
    os.environ["GSYM_API_KEY"] = KEY
    rows, faults = [], ""
    for way in ("direct", "through the proxy"):
        executable = folder / way.split()[0]
        executable.write_text(way, encoding="utf-8")
        tokens = folder / "tokens"
        digest = sha256(KEY.encode()).hexdigest()
        tokens.write_text(f"profiler upload {digest}\n", encoding="utf-8")
        store = ["--store", str(folder / f"{executable.name}-store")]
        with (
            ServerProcess(*store, "--set", f"token_files={tokens}") as server,
            FaultyProxy(server.port, PART_SIZE, seed) as proxy,
        ):
            direct = f"http://{HOST}:{server.port}"
            upload = push(direct if way == "direct" else proxy.url, executable, paths)
            file_id = FileId.of_file(executable)
            check_names(server.port, file_id, functions)
            for kind, files in sent.items():
                check_records(server.port, file_id, kind, files)
        faults = ", ".join(f"{name} {proxy.faults[name]}" for name in FAULTS)
        row = [way, f"{upload.seconds:.1f}", f"{upload.peak:.0f}", str(upload.attempts)]
        rows.append(row)
    size = sum(files.size for files in sent.values()) / 1e6
    legend = LEGEND.format(
        size=size, parts=len(paths), functions=functions, faults=faults, asked=ASKED
    )
    head = ["upload", "seconds", "peak memory", "parts sent, with retries"]
    return f"{legend}\n\n{table(head, rows)}"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = run(Path(folder), arguments.megabytes, arguments.seed)
    text = f"{made_by('python -m benchmarks.symbfile_push')}\n\n{text}"
    print(text)
    if arguments.write:
        write_region("symbfile push", text)


if __name__ == "__main__":
    main()
