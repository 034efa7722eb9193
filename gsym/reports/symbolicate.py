"""`gsym.symbolicate`: a text, a dump or a file -> a report."""

from __future__ import annotations

import os
from contextlib import contextmanager
from io import BytesIO

from gsym.containers.recognition import COMPRESSED, recognise_file
from gsym.memory.stack_parts import NO_LIMITS, module_of_path
from gsym.records import NamedTuple
from gsym.reports.passages import ANY_NUMBER, FileText, LongText, open_text
from gsym.reports.report_work import ReportWork

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gsym.memory.loaded import LoadedSymbols
    from gsym.memory.module_files import FindFiles
    from gsym.memory.report_modules import ReportModules
    from gsym.memory.stack_parts import ParsedReport
    from gsym.reports.passages import Passages
    from gsym.reports.report import Report

_HEAD = 18  # bytes, up to the type of an ELF file


class ContextLines(NamedTuple):
    """Source lines that are added to a report.

    Attributes:
        around: Number of lines before and after that of each call.
        path_map: Prefixes of source paths to replace: (old, new).
    """

    around: int = 0
    path_map: tuple[tuple[str, str], ...] = ()


NO_CONTEXT = ContextLines()


def is_dump(path: str) -> bool:
    """Whether a file is a core file or a minidump."""
    if not os.path.isfile(path):
        return False
    kind = recognise_file(path)
    if kind != "object":
        return kind == "minidump"
    from gsym.memory.elf_core import is_core

    with open(path, "rb") as file:
        return is_core(file.read(_HEAD))


def symbolicate(  # noqa: PLR0913 - independent keywords
    report: str | os.PathLike[str],
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    maps: str | os.PathLike[str] | LoadedSymbols | None = None,
    load_addresses: Mapping[str, int] | None = None,
    module: str | None = None,
    store: str | None = None,
    is_return: bool | None = None,
    context: int = 0,
    path_map: Sequence[tuple[str, str]] = (),
) -> Report:
    """Symbolicate a crash report, a log, a backtrace: any text with addresses.

    The format is recognized by the content; docs/crash.md lists those that are.

    Args:
        report: The text, or a path (not a `str`) of a file with it, a core file or a
            minidump, which may be compressed by gzip, zstd or xz. The folder of the
            file is searched for modules, too.
        source: Where modules are, in order: folders, which are searched for files by
            their ids and names, and servers as `open_source` takes them.
        maps: What is loaded where, for addresses whose modules the report does not
            have: a text in the format of `/proc/PID/maps`, the path (not a `str`) of a
            file with it, or a `Process` or `Kernel`, whose sources and store are used
            if others are not given.
        load_addresses: Where modules start in the process, by name.
        module: Name of the module of addresses that have none.
        store: Folder or URL of the store; None for the user's own, in which modules of
            a URL are kept.
        is_return: Whether all addresses are return addresses, or exact ones; None: the
            code, the rows and the form decide for each.
        context: Number of source lines to add before and after that of each call.
        path_map: Prefixes of source paths to replace: (old, new).

    Returns:
        The report; `str` of it is the text with an answer in the place of each frame.

    Raises:
        GsymError: A module or a core file is damaged.
        OSError: The file cannot be read.
        ValueError: A source is invalid.
    """
    lines = ContextLines(context, tuple(path_map))
    given: dict[str, Any] = {
        "maps": maps,
        "load_addresses": load_addresses,
        "module": module,
        "source": source,
        "store": store,
        "is_return": is_return,
        "lines": lines,
    }
    if isinstance(report, str):
        data = report.encode("utf-8", "surrogatepass")
        return _whole(LongText(BytesIO(data), "surrogatepass"), "", given)
    path = os.fspath(report)
    with inflated(path) as file:
        if is_dump(file):
            return symbolicate_dump(file, source=source, store=store, lines=lines)
        with open_text(file) as opened:
            beside = os.path.dirname(os.path.abspath(path))
            return _whole(LongText(opened), beside, given)


def _whole(text: LongText, beside: str, given: Mapping[str, Any]) -> Report:
    """The report on all of a text."""
    report, passages = symbolicate_text(text, beside, **given)
    parts = text.with_rest(report.parts, report.originals(), passages)
    texts = (str(each) if isinstance(each, FileText) else each for each in parts)
    return report._replace(parts=tuple(texts)) if report.is_verbatim else report


def symbolicate_text(  # noqa: PLR0913 - independent keywords
    text: LongText,
    beside: str,
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    maps: str | os.PathLike[str] | LoadedSymbols | None = None,
    load_addresses: Mapping[str, int] | None = None,
    module: str | None = None,
    store: str | None = None,
    is_return: bool | None = None,
    document: Any = None,
    lines: ContextLines = NO_CONTEXT,
) -> tuple[Report, Passages]:
    """Symbolicate the passages of a text that may have frames.

    Args:
        text: The text.
        beside: The folder that it is from; "" if from nowhere.
        source: See `symbolicate`, as for the others.
        maps: Likewise.
        load_addresses: Likewise.
        module: Likewise.
        store: Likewise.
        is_return: Likewise.
        document: The result of `LongText.document`, if the caller has it.
        lines: The source lines that are asked for.

    Returns:
        The report on the passages, and the passages.
    """
    from gsym.reports.stacks.recognition import mapped_ranges, parse_report

    if isinstance(maps, os.PathLike):
        with open(maps, "rb") as file:
            maps = file.read().decode("utf-8", "surrogateescape")
    if maps is not None and not isinstance(maps, str):
        source, store = source or maps.source, store or maps.store
    document = text.document() if document is None else document
    starts = load_addresses or {}
    is_known = module is None and isinstance(maps or "", str)
    passages = text.passages(() if is_known else ANY_NUMBER)
    if document is not None:
        passages = text.whole()
    elif is_known and passages != text.whole():
        ranges = mapped_ranges(text.read(passages), maps or "", starts)
        passages = text.passages(ranges) if ranges else passages
    stack = parse_report(
        text.read(passages),
        module_of_path(module) if module else None,
        NO_LIMITS,
        maps=maps or "",
        load_addresses=starts,
        document=document,
    )
    work = ReportWork(stack, is_return=is_return)
    report = symbolicate_stack(work, beside, source=source, store=store, lines=lines)
    return report, passages


@contextmanager
def inflated(path: str) -> Iterator[str]:
    """The path of a report, inflated into a temporary file if it is compressed.

    Raises:
        FormatError: The compressed data is damaged.
        LimitError: It inflates to too much.
    """
    # A pipe can be read once.
    if not os.path.isfile(path) or recognise_file(path) not in COMPRESSED:
        yield path
        return
    from tempfile import TemporaryDirectory

    from gsym.store.archives import inflate_file

    with TemporaryDirectory(prefix="gsym-") as folder:
        yield inflate_file(path, folder)


def symbolicate_stack(
    work: ReportWork,
    beside: str = "",
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    store: str | None = None,
    lines: ContextLines = NO_CONTEXT,
) -> Report:
    """Symbolicate a report that is parsed."""
    from gsym.memory.report_modules import ReportModules

    with ReportModules(source, beside, store) as modules:
        return _answered(work, modules, lines)


def symbolicate_dump(
    path: str,
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    store: str | None = None,
    lines: ContextLines = NO_CONTEXT,
) -> Report:
    """Symbolicate a core file or minidump."""
    from gsym.memory.report_modules import ReportModules

    beside = os.path.dirname(os.path.abspath(path))
    with ReportModules(source, beside, store) as modules:
        work = ReportWork(parse_dump(path, modules.binaries))
        return _answered(work, modules, lines)


def _answered(work: ReportWork, modules: ReportModules, lines: ContextLines) -> Report:
    """The report with its answers, and the source lines that are asked for."""
    work.open_by(modules.open)
    report = work.answer()
    if lines.around <= 0:
        return report
    from gsym.reports.source_lines import LocalSources, SourceLines

    sources = LocalSources(modules.folders, lines.path_map, modules.fetch_source)
    return SourceLines(sources.read, lines.around).added(report)


def parse_dump(path: str, find: FindFiles) -> ParsedReport:
    """The stacks in a core file or minidump.

    Args:
        path: The file.
        find: Where the file of a module may be.

    Raises:
        FormatError: It is damaged, or not of a machine that is known.
    """
    from gsym.containers.mapped_file import map_file
    from gsym.memory.elf_core import read_core
    from gsym.memory.minidump import MAGIC, read_minidump

    data = map_file(path)
    read = read_minidump if data[: len(MAGIC)] == MAGIC else read_core
    return read(data, path, find)
