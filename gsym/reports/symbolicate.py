"""`gsym.symbolicate`: a text, a dump or a file -> a report."""

from __future__ import annotations

import os
from contextlib import contextmanager

from gsym.containers.recognition import COMPRESSED, recognise_file
from gsym.memory.stack_parts import NO_LIMITS, module_of_path
from gsym.reports.report_work import ReportWork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gsym.memory.loaded import LoadedSymbols
    from gsym.memory.stack_parts import ParsedReport
    from gsym.reports.report import Report

_HEAD = 18  # bytes, up to the type of an ELF file


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

    Returns:
        The report; `str` of it is the text with an answer in the place of each frame.

    Raises:
        GsymError: A module or a core file is damaged.
        OSError: The file cannot be read.
        ValueError: A source is invalid.
    """
    beside = ""
    if not isinstance(report, str):
        path = os.fspath(report)
        beside = os.path.dirname(os.path.abspath(path))
        with inflated(path) as file:
            if is_dump(file):
                return symbolicate_dump(file, source=source, store=store)
            report = _read_text(file)
    return symbolicate_text(
        report,
        beside,
        source=source,
        maps=maps,
        load_addresses=load_addresses,
        module=module,
        store=store,
    )


def symbolicate_text(  # noqa: PLR0913 - independent keywords
    text: str,
    beside: str,
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    maps: str | os.PathLike[str] | LoadedSymbols | None = None,
    load_addresses: Mapping[str, int] | None = None,
    module: str | None = None,
    store: str | None = None,
    document: Any = None,
) -> Report:
    """Symbolicate a text from the folder *beside*; "" if from nowhere.

    *document* is the result of `decode_document`, if the caller has it.
    """
    from gsym.reports.stacks.recognition import parse_report

    if isinstance(maps, os.PathLike):
        maps = _read_text(maps)
    if maps is not None and not isinstance(maps, str):
        source, store = source or maps.source, store or maps.store
    stack = parse_report(
        text,
        module_of_path(module) if module else None,
        NO_LIMITS,
        maps=maps or "",
        load_addresses=load_addresses or {},
        document=document,
    )
    return symbolicate_stack(stack, beside, source=source, store=store)


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


def _read_text(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "surrogateescape")


def symbolicate_stack(
    stack: ParsedReport,
    beside: str = "",
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    store: str | None = None,
) -> Report:
    """Symbolicate a report that is parsed."""
    from gsym.memory.report_modules import ReportModules

    work = ReportWork(stack)
    with ReportModules(source, beside, store) as modules:
        work.open_by(modules.open)
        return work.answer()


def symbolicate_dump(
    path: str,
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    store: str | None = None,
) -> Report:
    """Symbolicate a core file or minidump."""
    from gsym.containers.mapped_file import map_file
    from gsym.memory.elf_core import read_core
    from gsym.memory.minidump import MAGIC, read_minidump
    from gsym.memory.report_modules import ReportModules

    data, beside = map_file(path), os.path.dirname(os.path.abspath(path))
    read = read_minidump if data[: len(MAGIC)] == MAGIC else read_core
    with ReportModules(source, beside, store) as modules:
        work = ReportWork(read(data, path, modules.binaries))
        work.open_by(modules.open)
        return work.answer()
