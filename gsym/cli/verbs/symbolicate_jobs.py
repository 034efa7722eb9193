"""`gsym symbolicate` of stacks in JSON: by a server, or from a store."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import contextmanager
from threading import Timer

from gsym.api.client.jobs import JobAnswer, StackFrame, read_answer, read_jobs
from gsym.api.client.symbolication_client import ClientSettings, SymbolicationClient
from gsym.cli.options import read_headers
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import print_json, printable, tell, warn
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.model import frame_text
from gsym.store.directory import Store
from gsym.store.layout import default_store

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.api.request import Job
    from gsym.cli.grammar import Values

_PATIENCE = 2.0  # seconds; a server that fetches symbols takes minutes


def decode_request(data: bytes, path: str) -> Any:
    """The JSON value of a file."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        reason = f"not JSON: {error}"
        if not data.lstrip().startswith((b"{", b"[")):
            reason += "; a report needs '--source gsym+URL' in place of '--server URL'"
        raise FormatError(reason, path=path) from None


def symbolicate_jobs(path: str, request: Any, values: Values) -> int:
    """Symbolicate the jobs of a request; the exit status, as of the verb."""
    server = values.text("--server")
    try:
        jobs = read_jobs(request)
    except ValueError as error:
        raise GsymError(str(error), path=path) from None
    if server is None:
        sources = values.texts("--source")
        return _print(answer_locally(jobs, values.text("--store"), sources), values)
    with SymbolicationClient(server, _settings(values)) as client, _waiting(server):
        answer = client.answer(jobs)
    return _print(answer, values)


@contextmanager
def _waiting(server: str) -> Iterator[None]:
    """Say why a request is repeated, and on a terminal that the server takes long."""

    def say_to_people() -> None:
        if sys.stderr.isatty():
            tell(f"gsym: waiting for {server}")

    notices = logging.Handler()
    notices.emit = lambda record: tell(f"gsym: {record.getMessage()}")  # type: ignore[method-assign]
    log = logging.getLogger("gsym.client")
    log.addHandler(notices)
    log.setLevel(logging.INFO)
    timer = Timer(_PATIENCE, say_to_people)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        log.removeHandler(notices)


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
            tell(f"gsym: job {number} refused: {each.error}")
    doubts = {
        f"{name.partition('/')[0]}: {unsure}: it may be another build": None
        for each in answers
        for name, unsure in each.unsure.items()
    }
    for doubt in doubts:
        warn(printable(doubt), "gsym symbolicate")
    if any(each.error for each in answers):
        return EXIT_FAILED
    frames = (frame for each in answers for stack in each.stacks for frame in stack)
    missed = any(frame.function is None for frame in frames)
    return EXIT_INCOMPLETE if (missed or doubts) and values.flag("--strict") else 0


_ANY = 1 << 62


def answer_locally(
    jobs: list[Any], store: str | None, sources: list[str]
) -> dict[str, Any]:
    """The response to jobs, in version 5 of the API.

    An invalid job gets `{"error": reason}`. By default the store is the usual one.
    """
    try:
        from gsym.api.response import answer_v5
        from gsym.api.symbolication import Symbolication
        from gsym.confined.symbolizer import open_symbolizer
    except ImportError as missing:
        raise UnsupportedError(
            f"without --server this needs the package {missing.name}: "
            "pip install 'gsym[server]'"
        ) from None
    if store is not None and "://" in store:
        from gsym.store.sources.settings import source_of_store

        sources, store = [source_of_store(store), *sources], None
    folder = store or default_store()
    if not sources and not Store(folder).exists():
        raise GsymError("not a store", path=folder)
    read = [_read_job(number, job) for number, job in enumerate(jobs)]
    try:
        symbolizer = open_symbolizer(folder, sources)
    except ValueError as error:
        raise GsymError(str(error)) from None
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
    """The job, or the reason for its refusal."""
    from gsym.api.request import RequestError, RequestLimits, read_v4

    limits = RequestLimits(_ANY, _ANY, _ANY, wide_names=True)
    try:
        return read_v4(json.dumps(job).encode(), limits)[0]
    except RequestError as error:
        return error.reason.replace("job 0 ", f"job {number} ", 1)


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
    """Innermost first; the function itself is last."""
    module = printable(frame.module)
    for function, file, line in frame.inlines:
        text = frame_text(printable(function), printable(file), line, inlined=True)
        yield f"{module}  {text}"
    if frame.function is None:
        yield f"{module}  {frame.module_offset:#x}"
        return
    function, file = printable(frame.function), printable(frame.file)
    offset = frame.function_offset or 0
    yield f"{module}  {frame_text(function, file, frame.line, offset)}"
