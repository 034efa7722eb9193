"""`gsym symbolicate`: stacks in JSON -> functions, files and lines."""

from __future__ import annotations

import json
import sys

from gsym.cli.grammar import Command, Operand, Option, UsageError
from gsym.cli.options import HEADER, JSON, SERVER, STORE, STRICT, read_headers
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import print_json, printable
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.symbolication.client.jobs import read_answer, read_jobs
from gsym.symbolication.client.symbolication_client import (
    ClientSettings,
    SymbolicationClient,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.cli.grammar import Values
    from gsym.symbolication.client.jobs import JobAnswer, StackFrame
    from gsym.symbolication.request import Job


@Command(
    "gsym symbolicate",
    (
        Operand(
            "FILE", "stacks in JSON, as the symbolication API has them; - for stdin"
        ),
    ),
    (
        SERVER,
        STORE,
        Option(
            "--source",
            "without a server: where modules come from that the store lacks",
            metavar="SOURCE",
            repeatable=True,
        ),
        JSON,
        HEADER,
        Option("--user-agent", "what to tell the server of oneself", metavar="TEXT"),
        Option("--compress", "send requests compressed by gzip"),
        Option(
            "--timeout",
            "time in which something of an answer must come (default: 300s)",
            metavar="TIME",
        ),
        STRICT,
    ),
    """\
Frames stand innermost first; [inlined] marks a call that the compiler folded into
the function below it. `+ N` counts bytes from the start of the function.""",
)
def symbolicate(values: Values) -> int:
    """Symbolicate one file; 1 for refused jobs, 3 for misses under `--strict`."""
    path, server = values.operand("FILE"), values.text("--server")
    store, sources = values.text("--store"), values.texts("--source")
    if server is not None and (store is not None or sources):
        raise UsageError("give either '--server', or '--store' and '--source'")
    settings = _settings(values)
    try:
        jobs = read_jobs(_read_file(path))
    except ValueError as error:
        raise GsymError(str(error), path=path) from None
    if server is None:
        return _print(answer_locally(jobs, store, sources), values)
    with SymbolicationClient(server, settings) as client:
        return _print(client.answer(jobs), values)


def _read_file(path: str) -> Any:
    if path == "-" and sys.stdin is None:
        raise GsymError("standard input is closed")
    try:
        if path == "-":
            return json.loads(sys.stdin.buffer.read())
        with open(path, "rb") as file:
            return json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}", path=path) from None


def _settings(values: Values) -> ClientSettings:
    settings = ClientSettings(
        user_agent=values.text("--user-agent") or "",
        headers=read_headers(values),
        compresses=values.flag("--compress"),
    )
    timeout = values.seconds("--timeout")
    return settings if timeout is None else settings._replace(timeout=timeout)


def _print(answer: dict[str, Any], values: Values) -> int:
    results = answer["results"]
    answers = [read_answer(result) for result in results]
    if values.flag("--json"):
        print_json(answer)
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
        return EXIT_FAILED
    frames = (frame for each in answers for stack in each.stacks for frame in stack)
    missed = any(frame.function is None for frame in frames)
    return EXIT_INCOMPLETE if missed and values.flag("--strict") else 0


_ANY = 1 << 62


def answer_locally(
    jobs: list[Any], store: str | None, sources: list[str]
) -> dict[str, Any]:
    """The answer to jobs, as version 5 of the API has it.

    Args:
        jobs: As JSON has them; one that is not sound is answered `{"error": why}`.
        store: Folder of the symbol store; None for the usual one.
        sources: Where modules come from that it lacks.

    Raises:
        GsymError: A source is of no known kind; or there is neither the store nor a
            source.
        UnsupportedError: A package is not installed.
    """
    try:
        from gsym.server.modules import make_symbolizer
        from gsym.server.settings import Settings
        from gsym.symbolication.response import answer_v5
        from gsym.symbolication.symbolication import Symbolication
    except ImportError as missing:
        raise UnsupportedError(
            f"without --server this needs the package {missing.name}: "
            "pip install 'gsym[server]'"
        ) from None
    folder = store or default_store()
    if not sources and not Store(folder).exists():
        raise GsymError("there is no store", path=folder)
    read = [_read_job(number, job) for number, job in enumerate(jobs)]
    symbolizer = make_symbolizer(Settings(store=folder, sources=sources))
    try:
        work = Symbolication([job for job in read if not isinstance(job, str)])
        work.open_all(symbolizer)
        found = iter(json.loads(bytes(answer_v5(work)))["results"])
    finally:
        symbolizer.close()
    return {
        "results": [
            {"error": job} if isinstance(job, str) else next(found) for job in read
        ]
    }


def _read_job(number: int, job: Any) -> Job | str:
    """The job, or why it is refused."""
    from gsym.symbolication.request import RequestError, RequestLimits, read_v4

    limits = RequestLimits(_ANY, _ANY, _ANY, wide_names=True)
    try:
        return read_v4(json.dumps(job).encode(), limits)[0]
    except RequestError as error:
        return error.title.replace("job 0 ", f"job {number} ", 1)


def job_lines(number: int, answer: JobAnswer) -> Iterator[str]:
    """The lines of a job: its stacks, then the modules without symbols."""
    for at, stack in enumerate(answer.stacks):
        yield f"job {number}, stack {at}"
        width = len(str(len(stack) - 1))
        for index, frame in enumerate(stack):
            first, *rest = _frame_lines(frame)
            yield f"  {index:>{width}}  {first}"
            yield from (f"  {'':>{width}}  {line}" for line in rest)
    for name, is_found in answer.found_modules.items():
        if is_found is False:
            yield f"no symbols: {printable(name)}"


def _frame_lines(frame: StackFrame) -> Iterator[str]:
    """Innermost first; the function that all is inlined into comes last."""
    module = printable(frame.module)
    for function, file, line in frame.inlines:
        yield f"{module}  {printable(function)} [inlined]{_place(file, line)}"
    if frame.function is None:
        yield f"{module}  {frame.module_offset:#x}"
        return
    offset = f" + {frame.function_offset}" if frame.function_offset else ""
    place = _place(frame.file, frame.line)
    yield f"{module}  {printable(frame.function)}{offset}{place}"


def _place(file: str, line: int) -> str:
    return f" at {printable(file)}:{line or '?'}" if file else ""
