"""`gsym symbolicate`: stacks in JSON -> functions, files and lines."""

from __future__ import annotations

import json
import sys

from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.stack_text import job_lines
from gsym.cli.terminal import printable
from gsym.cli.verbs.local_symbolication import answer_locally
from gsym.cli.verbs.server_options import HEADER, SERVER, read_headers
from gsym.errors import FormatError, GsymError
from gsym.symbolication.client.jobs import read_answer, read_jobs
from gsym.symbolication.client.symbolication_client import (
    ClientSettings,
    SymbolicationClient,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.cli.options import Values

COMMAND = Command(
    "gsym symbolicate",
    "Symbolicate stacks, by a server or from a store",
    (
        Operand(
            "FILE", "stacks in JSON, as the symbolication API has them; - for stdin"
        ),
    ),
    (
        SERVER,
        Option(
            "--store",
            "without a server: folder of the store (default: GSYM_STORE, else the "
            "user's own)",
            metavar="DIR",
        ),
        Option(
            "--source",
            "without a server: where modules come from that the store lacks",
            metavar="URL|DIR",
            repeatable=True,
        ),
        Option("--json", "print the API's answer"),
        HEADER,
        Option("--user-agent", "what to tell the server of oneself", metavar="TEXT"),
        Option("--compress", "send requests compressed by gzip"),
        Option(
            "--timeout",
            "seconds in which something of an answer must come (default: 300)",
            metavar="N",
        ),
        Option("--strict", "exit with 3 when a frame has no function"),
    ),
    """\
Frames stand innermost first; [inlined] marks a call that the compiler folded into
the function below it. `+ N` counts bytes from the start of the function.""",
)

EXIT_REFUSED = 1
EXIT_MISSES = 3


def run(arguments: list[str]) -> int:
    """Symbolicate one file; 1 for refused jobs, 3 for misses under `--strict`."""
    values = COMMAND.parse(arguments)
    path, server = values.operand("FILE"), values.text("--server")
    store, sources = values.text("--store"), values.texts("--source")
    if server is not None and (store is not None or sources):
        raise UsageError("give either '--server', or '--store' and '--source'")
    settings = _settings(values)
    try:
        jobs = read_jobs(_read(path))
    except ValueError as error:
        raise GsymError(str(error), path=path) from None
    if server is None:
        return _print(answer_locally(jobs, store, sources), values)
    with SymbolicationClient(server, settings) as client:
        return _print(client.answer(jobs), values)


def _read(path: str) -> Any:
    if path == "-" and sys.stdin is None:
        raise GsymError("standard input is closed")
    try:
        if path == "-":
            return json.loads(sys.stdin.buffer.read())
        with open(path, "rb") as file:
            return json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"this is no JSON: {error}", path=path) from None


def _settings(values: Values) -> ClientSettings:
    settings = ClientSettings(
        user_agent=values.text("--user-agent") or "",
        headers=read_headers(values),
        compresses=values.flag("--compress"),
    )
    timeout = values.number("--timeout", minimum=1)
    return settings if timeout is None else settings._replace(timeout=float(timeout))


def _print(answer: dict[str, Any], values: Values) -> int:
    results = answer["results"]
    answers = [read_answer(result) for result in results]
    if values.flag("--json"):
        print(json.dumps(answer))
    else:
        for number, each in enumerate(answers):
            sys.stdout.writelines(f"{line}\n" for line in job_lines(number, each))
    for number, each in enumerate(answers):
        if each.error:
            print(
                f"gsym: job {number} is refused: {printable(each.error)}",
                file=sys.stderr,
            )
    if any(each.error for each in answers):
        return EXIT_REFUSED
    frames = (frame for each in answers for stack in each.stacks for frame in stack)
    missed = any(frame.function is None for frame in frames)
    return EXIT_MISSES if missed and values.flag("--strict") else 0
