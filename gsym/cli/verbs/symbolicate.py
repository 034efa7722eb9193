"""`gsym symbolicate`: crash reports, logs, and stacks in JSON."""

from __future__ import annotations

import json
import os
import sys

from gsym.cli.grammar import Command, Operand, Option, UsageError, parse_number
from gsym.cli.options import (
    HEADER,
    JSON,
    SERVER,
    STORE,
    STRICT,
    parse_address,
    read_headers,
)
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import print_json, printable, warn
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.symbolication.client.jobs import read_answer, read_jobs
from gsym.symbolication.client.symbolication_client import (
    ClientSettings,
    SymbolicationClient,
)
from gsym.symbolication.memory.dumps import is_dump
from gsym.symbolication.symbolicate import (
    symbolicate_dump,
    symbolicate_stack,
    symbolicate_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.cli.grammar import Values
    from gsym.symbolication.client.jobs import JobAnswer, StackFrame
    from gsym.symbolication.memory.loaded import LoadedSymbols
    from gsym.symbolication.report import Report
    from gsym.symbolication.request import Job


@Command(
    "gsym symbolicate",
    (
        Operand(
            "FILE",
            "crash report, log, backtrace, core file, minidump, or stacks as JSON of "
            "the symbolication API; - is standard input (default); with --pid or "
            "--kernel also addresses",
            many=True,
            required=False,
        ),
    ),
    (
        Option(
            "--source",
            "where modules are, in order: a folder, which is searched for files by "
            "their ids and names, or a server as for gsym store add",
            metavar="SOURCE",
            repeatable=True,
        ),
        STORE,
        Option(
            "--maps",
            "what is loaded where: a copy of /proc/PID/maps",
            metavar="FILE",
        ),
        Option(
            "--load-address",
            "where a module starts in the process",
            metavar="MODULE=ADDRESS",
            repeatable=True,
        ),
        Option(
            "--pid",
            "answer addresses of this process, given as operands or in a text",
            metavar="PID",
        ),
        Option(
            "--kernel",
            "answer addresses of the running kernel, given as operands or in a text",
        ),
        Option(
            "--kernel-base",
            "where _text of the kernel is (default: from /proc/kallsyms)",
            metavar="ADDRESS",
        ),
        Option("--core", "a core file, as FILE", metavar="FILE", repeatable=True),
        Option("--module", "the module of addresses without one", metavar="NAME"),
        Option("--explain", "also print what was tried for each module and frame"),
        JSON,
        SERVER,
        HEADER,
        Option(
            "--user-agent", "User-Agent header to send to the server", metavar="TEXT"
        ),
        Option("--compress", "compress requests by gzip"),
        Option(
            "--timeout",
            "time without data from the server (default: 300s)",
            metavar="TIME",
        ),
        STRICT,
    ),
    """\
The format of a report is recognized by its content; docs/crash.md lists those that
are. Its text is printed with the answers in the place of the addresses, innermost call
first; [inlined] marks a call that is inlined into the function below it. `+ N` is the
offset in bytes from the start of the function. Modules are also searched beside the
report, at their paths in it, and in the store.""",
)
def symbolicate(values: Values) -> int:
    """Symbolicate files; 1 for refused jobs, 3 for misses under `--strict`."""
    for source in values.texts("--source"):
        _check_source(source)
    operands = values.operands("FILE")
    loaded = _loaded(values)
    if loaded is None:
        paths = [*operands, *values.texts("--core")] or ["-"]
        return _worst([_symbolicate(path, values) for path in paths])
    with loaded:
        addresses = _addresses(operands)
        if addresses:
            report = symbolicate_stack(loaded.stack(addresses), **_sources(values))
            return _print_report(report, "operands", values)
        return _worst(
            [
                _symbolicate_report(path, _read_file(path), values, loaded)
                for path in operands or ["-"]
            ]
        )


def _check_source(source: str) -> None:
    if os.path.isdir(source):
        return
    from gsym.store.sources.settings import SourceOpener

    try:
        with SourceOpener() as opener:
            list(opener.open(source))
    except ValueError as error:
        raise UsageError(f"option '--source': {error}") from None


def _worst(statuses: list[int]) -> int:
    return EXIT_FAILED if EXIT_FAILED in statuses else max(statuses)


def _loaded(values: Values) -> LoadedSymbols | None:
    """The process or the kernel whose addresses are asked for."""
    pid, base = values.text("--pid"), values.text("--kernel-base")
    is_kernel = values.flag("--kernel") or base is not None
    if pid is None and not is_kernel:
        return None
    others = [values.text(each) is not None for each in ("--pid", "--maps", "--server")]
    if is_kernel + sum(others) + bool(values.texts("--core")) > 1:
        raise UsageError(
            "give one of '--pid', '--kernel', '--maps', '--core', '--server'"
        )
    sources = _sources(values)
    if pid is not None:
        from gsym.symbolication.memory.process import Process

        return Process(parse_number(pid, "option '--pid'"), **sources)
    from gsym.symbolication.memory.kernel import Kernel

    if base is None:
        return Kernel(**sources)
    return Kernel(base=parse_address(base, "option '--kernel-base'"), **sources)


def _addresses(operands: list[str]) -> list[int]:
    """The addresses that the operands are; none if one of them is a file."""
    if any(map(os.path.exists, operands)):
        return []
    try:
        return [parse_address(each, "operand") for each in operands]
    except UsageError:
        return []


def _sources(values: Values) -> dict[str, Any]:
    return {"source": values.texts("--source"), "store": values.text("--store")}


def _symbolicate(path: str, values: Values) -> int:
    server = values.text("--server")
    store, sources = values.text("--store"), values.texts("--source")
    if server is not None and (store is not None or sources):
        raise UsageError("give either '--server', or '--store' and '--source'")
    if server is None and is_dump(path):
        report = symbolicate_dump(path, **_sources(values))
        return _print_report(report, path, values)
    data = _read_file(path)
    request = _request(data)
    if request is None and server is None:
        return _symbolicate_report(path, data, values)
    try:
        jobs = read_jobs(_decoded(data, path) if request is None else request)
    except ValueError as error:
        raise GsymError(str(error), path=path) from None
    if server is None:
        return _print(answer_locally(jobs, store, sources), values)
    with SymbolicationClient(server, _settings(values)) as client:
        return _print(client.answer(jobs), values)


def _symbolicate_report(
    path: str, data: bytes, values: Values, loaded: LoadedSymbols | None = None
) -> int:
    maps = values.text("--maps")
    report = symbolicate_text(
        data.decode("utf-8", "surrogateescape"),
        "" if path == "-" else os.path.dirname(os.path.abspath(path)),
        maps=loaded if maps is None else _read_file(maps).decode("utf-8", "replace"),
        load_addresses=dict(map(_load_address, values.texts("--load-address"))),
        module=values.text("--module"),
        **_sources(values),
    )
    return _print_report(report, path, values)


def _print_report(report: Report, path: str, values: Values) -> int:
    if values.flag("--json"):
        print(report.to_json())
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(str(report).encode("utf-8", "surrogateescape"))
    frames = list(report.frames())
    if not frames:
        warn(f"{path}: no address of a known form in it", "gsym symbolicate")
    for note in report.notes:
        warn(note, "gsym symbolicate")
    for module in report.modules:
        if module.state == "missing":
            warn(f"no symbols: {printable(module.name)}", "gsym symbolicate")
        elif module.is_guess and values.flag("--explain"):
            used = f"{printable(module.path)}, by its name alone"
            warn(f"{printable(module.name)}: {used}", "gsym symbolicate")
    if values.flag("--explain"):
        for line in report.explanation():
            warn(printable(line), "gsym symbolicate")
    missed = any(not frame.calls for frame in frames)
    return EXIT_INCOMPLETE if missed and values.flag("--strict") else 0


def _load_address(text: str) -> tuple[str, int]:
    module, equals, address = text.rpartition("=")
    if not equals:
        raise UsageError(f"option '--load-address': '{text}' is not MODULE=ADDRESS")
    return module, parse_address(address, "option '--load-address'")


def _read_file(path: str) -> bytes:
    if path == "-":
        if sys.stdin is None:
            raise GsymError("standard input is closed")
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return file.read()


def _request(data: bytes) -> Any:
    """The decoded request to the symbolication API; None if it is not one."""
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        request = json.loads(data)
    except (ValueError, RecursionError):
        return None
    jobs = request if isinstance(request, list) else [request]
    is_one = all(isinstance(each, dict) and _JOB_KEYS & each.keys() for each in jobs)
    return request if jobs and is_one else None


_JOB_KEYS = {"jobs", "memoryMap", "stacks"}


def _decoded(data: bytes, path: str) -> Any:
    try:
        return json.loads(data)
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
                f"gsym: job {number} refused: {printable(each.error)}",
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
    """The response to jobs, in version 5 of the API.

    Args:
        jobs: Decoded JSON; an invalid job gets `{"error": reason}`.
        store: Folder of the symbol store; None for the usual one.
        sources: Sources of modules that are not in the store.

    Raises:
        GsymError: A source is of an unknown kind; or there is neither a store nor a
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
        raise GsymError("not a store", path=folder)
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
    """The job, or the reason for its refusal."""
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
    """Innermost first; the function itself is last."""
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
