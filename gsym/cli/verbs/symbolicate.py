"""`gsym symbolicate`: crash reports, logs, core files, processes."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from itertools import groupby, islice

from gsym.cli import options
from gsym.cli.grammar import Command, UsageError, Values, usage_errors
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import printable, standard_input, warn
from gsym.containers.recognition import recognise_file, refuse
from gsym.engine.native import to_str
from gsym.errors import GsymError
from gsym.garbage_collection import no_garbage_collection
from gsym.modules.key import tried_text
from gsym.reports.link_addresses import NOT_PLACED
from gsym.reports.passages import FileText, LongText, open_text, seekable
from gsym.reports.report import SEVERAL, Report, ReportModule
from gsym.reports.report_work import NO_PLACE, ReportWork
from gsym.reports.symbolicate import (
    ContextLines,
    inflated,
    is_dump,
    symbolicate_dump,
    symbolicate_stack,
    symbolicate_text,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO

    from gsym.memory.loaded import LoadedSymbols

_BLOCK = 1 << 10  # parts that are written at once
_JOB_KEYS = {"jobs", "memoryMap", "stacks"}
_BINARIES = frozenset({"object", "fat", "archive", "pdb", "gsym"})
_OF_OTHER_TOOLS = frozenset({"portable pdb", "R8 mapping"})
_NO_REPORT = (
    "a binary, and no report: 'gsym lookup FILE ADDRESS' answers its addresses, "
    "--source takes it for those of a report"
)


@Command(
    "gsym symbolicate",
    (
        """\
[FILE...]  crash report, log, backtrace, core file, minidump, or stacks as JSON of the
  symbolication API; - is standard input (default); with --pid or --kernel also
  addresses
--source SOURCE...  place to search for modules, in order: a folder, which is searched
  for files by their ids and names, or a server or bucket as for 'gsym store
  prefetch'""",
        options.STORE_TO_READ,
        """\
--maps FILE  memory map of the process: a copy of /proc/PID/maps
--load-address MODULE=ADDRESS...  start address of a module in the process
--pid PID  look up addresses of this process, given as operands or in a text
--kernel  look up addresses of the running kernel, given as operands or in a text
--kernel-base ADDRESS  address of _text in the kernel (default: from /proc/kallsyms)
--core FILE...  core file to symbolicate, as FILE is
--module NAME  module to assume for addresses without one
--return-addresses  take all addresses as return addresses: the calls are before them
--exact-addresses  take all addresses as those of instructions
--context N  also print this number of source lines before and after that of each call
--path-map OLD=NEW...  replace the prefix OLD of source paths by NEW to find the files
--registers  also print registers and instruction of the thread of a dump that crashed
--explain  also print what was tried for each module and frame""",
        options.JSON,
        options.SERVER,
        options.HEADER,
        """\
--user-agent TEXT  User-Agent header to send to the server
--compress  compress requests by gzip
--timeout TIME  time without data from the server (default: 300s)""",
        options.STRICT,
    ),
    """\
The format of a report is recognized by its content; docs/crash.md lists the formats.
The text is printed with functions in the place of addresses, the innermost call first;
[inlined] marks a call that is inlined into the function below it. `+ N` is the offset
in bytes from the start of the function. Modules are also searched beside the report, at
their paths in it, and in the store.""",
)
def symbolicate(values: Values) -> int:
    """Symbolicate files; 1 for refused jobs, 3 for misses under `--strict`."""
    for source in values.texts("--source"):
        _check_source(source)
    store = values.text("--store") or ""
    if "://" in store:
        _check_source(store, is_store=True)
    operands = values.operands("FILE")
    loaded = _loaded(values)
    if loaded is None:
        cores = values.texts("--core")
        paths = operands if operands or cores else ["-"]
        statuses = [_symbolicate(path, values) for path in paths]
        statuses += [_symbolicate(path, values, is_core=True) for path in cores]
        return _worst(statuses)
    with loaded:
        addresses = _addresses(operands)
        if addresses:
            work = ReportWork(loaded.stack(addresses), is_return=_are_returns(values))
            report = symbolicate_stack(lambda _find: work, **_searched(values))
            return _print_report(report, "operands", values)
        statuses = []
        for path in operands or ["-"]:
            with _opened(path) as file:
                statuses.append(_symbolicate_report(path, file, values, loaded))
        return _worst(statuses)


def _check_source(source: str, *, is_store: bool = False) -> None:
    if os.path.isdir(source):
        return
    from gsym.store.sources.settings import SourceOpener, source_of_store

    option = "--store" if is_store else "--source"
    with usage_errors(f"option '{option}'"), SourceOpener() as opener:
        list(opener.open(source_of_store(source) if is_store else source))


def _worst(statuses: list[int]) -> int:
    return EXIT_FAILED if EXIT_FAILED in statuses else max(statuses)


def _loaded(values: Values) -> LoadedSymbols | None:
    """The process or the kernel whose addresses are asked for."""
    pid, base = values.number("--pid", minimum=1), values.text("--kernel-base")
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
        from gsym.memory.process import Process

        return Process(pid, **sources)
    from gsym.memory.kernel import Kernel

    if base is None:
        return Kernel(**sources)
    option = "option '--kernel-base'"
    with usage_errors(option):
        return Kernel(base=options.parse_address(base, option), **sources)


def _addresses(operands: list[str]) -> list[int]:
    """The addresses that the operands are; none if one of them is a file."""
    if any(map(os.path.exists, operands)):
        return []
    try:
        return [options.parse_address(each, "operand") for each in operands]
    except UsageError:
        return []


def _are_returns(values: Values) -> bool | None:
    """Whether all addresses are return addresses; None: as it looks."""
    are_returns, are_exact = map(
        values.flag, ("--return-addresses", "--exact-addresses")
    )
    if are_returns and are_exact:
        raise UsageError("give either '--return-addresses' or '--exact-addresses'")
    return are_returns if are_returns or are_exact else None


def _sources(values: Values) -> dict[str, Any]:
    return {"source": values.texts("--source"), "store": values.text("--store")}


def _searched(values: Values) -> dict[str, Any]:
    """Places of modules, and the source lines that are asked for."""
    texts = values.texts("--path-map")
    rules = tuple(options.read_pair("--path-map", text) for text in texts)
    around = values.number("--context") or 0
    return {**_sources(values), "lines": ContextLines(around, rules)}


def _symbolicate(path: str, values: Values, *, is_core: bool = False) -> int:
    server = values.text("--server")
    store, sources = values.text("--store"), values.texts("--source")
    if server is not None and (store is not None or sources):
        raise UsageError("give either '--server', or '--store' and '--source'")
    if server is not None:
        from gsym.cli.verbs.symbolicate_jobs import decode_request, symbolicate_jobs

        request = decode_request(_read_file(path), path)
        return symbolicate_jobs(path, request, values)
    with inflated(path) as file:
        if is_dump(file):
            report = symbolicate_dump(file, **_searched(values))
            return _print_report(report, path, values)
        if is_core:
            raise GsymError("not a core file and not a minidump", path=path)
        kind = recognise_file(file) if os.path.isfile(file) else ""
        if kind in _BINARIES:
            raise GsymError(_NO_REPORT, path=path)
        if kind in _OF_OTHER_TOOLS:
            refuse(kind, path)
        with _opened(file) as opened:
            document = LongText(opened).document()
            # Whether decoded JSON is a request to the symbolication API, or jobs of one
            jobs = document if isinstance(document, list) else [document]
            is_job = (
                isinstance(each, dict) and _JOB_KEYS & each.keys() for each in jobs
            )
            if not (jobs and all(is_job)):
                return _symbolicate_report(path, opened, values, document=document)
    from gsym.cli.verbs.symbolicate_jobs import symbolicate_jobs

    return symbolicate_jobs(path, document, values)


@no_garbage_collection()
def _symbolicate_report(
    path: str,
    file: BinaryIO,
    values: Values,
    loaded: LoadedSymbols | None = None,
    *,
    document: Any = None,
) -> int:
    maps = values.text("--maps")
    text = LongText(file)
    report, passages = symbolicate_text(
        text,
        "" if path == "-" else os.path.dirname(os.path.abspath(path)),
        maps=loaded if maps is None else to_str(_read_file(maps)),
        load_addresses=dict(map(_load_address, values.texts("--load-address"))),
        module=values.text("--module"),
        is_return=_are_returns(values),
        document=document,
        **_searched(values),
    )
    if document is not None:
        return _print_report(report, path, values)
    parts = text.with_rest(report.texts(), report.originals(), passages)
    return _print_report(report, path, values, parts)


def _blocks(parts: Iterable[str | FileText]) -> Iterator[str]:
    """Parts of a text, joined so that they are not many, and pieces of long ones."""
    runs: Iterator[tuple[type, Iterator[Any]]] = groupby(parts, type)
    for kind, run in runs:
        if kind is FileText:
            for part in run:
                yield from part.pieces()
        while block := "".join(islice(run, _BLOCK)):
            yield block


def _print_report(
    report: Report,
    path: str,
    values: Values,
    parts: Iterable[str | FileText] | None = None,
) -> int:
    if values.flag("--json"):
        print(report.to_json())
    else:
        sys.stdout.flush()
        for block in _blocks([str(report)] if parts is None else parts):
            sys.stdout.buffer.write(block.encode("utf-8", "surrogateescape"))
        sys.stdout.writelines(_registers(report, values))
    if not any(each.frames for each in report.threads):
        name = "standard input" if path == "-" else path
        warn(f"{name}: no stack trace recognized", "gsym symbolicate")
    for note in report.notes:
        warn(note, "gsym symbolicate")
    for module in _missing(report):
        refused = (each for each in module.attempts if each.outcome == "refused")
        why = ": ".join(filter(None, (module.name, tried_text(refused))))
        warn(f"no symbols: {printable(why)}", "gsym symbolicate")
    doubts = list(report.doubts())
    for doubt in doubts:
        warn(printable(doubt), "gsym symbolicate")
    if values.flag("--explain"):
        for line in report.explanation():
            warn(printable(line), "gsym symbolicate")
    for hint in _hints(report, values):
        warn(hint, "gsym symbolicate")
    is_cut = any(each.end or each.left_out for each in report.threads)
    are_sure = all(
        each.calls and not each.reason and not each.folded.startswith(SEVERAL)
        for each in report.unsure_frames()
    )
    is_complete = are_sure and not (doubts or is_cut)
    return 0 if is_complete or not values.flag("--strict") else EXIT_INCOMPLETE


def _registers(report: Report, values: Values) -> Iterator[str]:
    """The registers of threads that crashed and their instructions, on request."""
    for thread in report.threads if values.flag("--registers") else ():
        if not thread.registers:
            continue
        yield f"\nRegisters of {printable(thread.name)}:\n"
        known = thread.registers.items()
        width = 18 if any(value >> 32 for _, value in known) else 10
        yield from (f"{name:6} {value:#0{width}x}\n" for name, value in known)
        if thread.instruction:
            yield f"The instruction is {thread.instruction}.\n"


def _missing(report: Report) -> list[ReportModule]:
    """The modules that were not found; the notes have those that are not supported."""
    return [
        module
        for module in report.modules
        if module.state == "missing" and module.reason not in report.notes
    ]


def _hints(report: Report, values: Values) -> Iterator[str]:
    """The advice on addresses without an answer."""
    if not report.threads and not values.text("--module"):
        yield "use --module NAME for addresses of one module"
    if not values.texts("--source") and _missing(report):
        yield "use --source to name folders or servers with the missing modules"
    reasons = {frame.reason for frame in report.unsure_frames()}
    is_unplaced = any(NOT_PLACED in each for each in reasons)
    if not report.modules and NO_PLACE in reasons:
        is_unplaced = values.text("--pid") is None
    if is_unplaced and not values.text("--maps"):
        yield "use --maps FILE or --load-address MODULE=ADDRESS to say what was where"


def _load_address(text: str) -> tuple[str, int]:
    module, equals, address = text.rpartition("=")
    if not equals:
        raise UsageError(f"option '--load-address': '{text}' is not MODULE=ADDRESS")
    return module, options.parse_address(address, "option '--load-address'")


def _read_file(path: str) -> bytes:
    with _opened(path) as file:
        return file.read()


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path != "-":
        with open_text(path) as file:
            yield file
    else:
        with seekable(standard_input().buffer) as file:
            yield file
