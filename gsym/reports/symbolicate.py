"""`gsym.symbolicate`: a text, a dump or a file -> a report."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from mmap import ACCESS_READ, mmap

from gsym.arguments import integer_of, pairs_of, path_of, refusal, shown
from gsym.containers.recognition import COMPRESSED, MICRODUMP, recognise_file
from gsym.errors import FormatError
from gsym.garbage_collection import no_garbage_collection
from gsym.lazy import tempfile
from gsym.memory.stack_parts import NO_LIMITS, module_of_path
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple
from gsym.reports.passages import ANY_NUMBER, FileText, LongText, open_text
from gsym.reports.report_work import ReportWork

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gsym.memory.loaded import LoadedSymbols
    from gsym.memory.module_files import FindFiles
    from gsym.memory.report_modules import PathOrUrl, ReportModules, Sources
    from gsym.memory.stack_parts import ParsedReport
    from gsym.reports.passages import Passages
    from gsym.reports.report import Report
    from gsym.store.directory import Store

_BLOCK = 1 << 18  # bytes that are searched at once
_HEAD = 18  # bytes, up to the type of an ELF file
_BINARIES = frozenset({"object", "fat", "gsym", "pdb"})


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
    """Whether a file is a core file, a minidump, or a text with a microdump."""
    if not os.path.isfile(path):
        return False
    kind = recognise_file(path)
    if kind != "object":
        if kind:
            return kind == "minidump"
        return _has_microdump(path)
    from gsym.memory.elf_core import is_core

    with open(path, "rb") as file:
        return is_core(file.read(_HEAD))


def _has_microdump(path: str) -> bool:
    with open(path, "rb") as file:
        end = b""
        # A mapping would count as memory of the process, once it is searched.
        while block := file.read(_BLOCK):
            if MICRODUMP in end + block:
                break
            end = block[1 - len(MICRODUMP) :]
        else:
            return False
        from gsym.memory.microdump import has_microdump

        with mmap(file.fileno(), 0, access=ACCESS_READ) as text:
            return has_microdump(text)


def symbolicate(  # noqa: PLR0913 - independent keywords
    report: str | bytes | bytearray | memoryview | os.PathLike[str],
    *,
    source: Sources = (),
    maps: str | os.PathLike[str] | LoadedSymbols | None = None,
    load_addresses: Mapping[str, int] | None = None,
    module: str | os.PathLike[str] | None = None,
    store: PathOrUrl | Store | None = None,
    is_return: bool | None = None,
    context: int = 0,
    path_map: Sequence[tuple[str, str]] | Mapping[str, str] = (),
) -> Report:
    """Symbolicate a crash report, a log, a backtrace: any text with addresses.

    The format is recognized by the content; docs/crash.md lists those that are.

    Args:
        report: The text or its bytes; or a path (not a `str`) of a file with it, a core
            file or a minidump, which may be compressed by gzip, zstd or xz. The folder
            of the file is searched for modules, too. A text of one line that is the
            path of a file has a `UserWarning`.
        source: Where modules are, in order: folders, which are searched for files by
            their ids and names, single files, stores, and servers as `open_source`
            takes them.
        maps: What is loaded where, for addresses whose modules the report does not
            have: a text in the format of `/proc/PID/maps`, the path (not a `str`) of a
            file with it, or a `Process` or `Kernel`, whose sources and store are used
            if others are not given.
        load_addresses: Where modules start in the process, by name.
        module: Name or path of the module of addresses that have none.
        store: The store, its folder or URL; None for the user's own, in which modules
            of a URL are kept.
        is_return: Whether all addresses are return addresses, or exact ones; None: the
            code, the rows and the form decide for each.
        context: Number of source lines to add before and after that of each call.
        path_map: Prefixes of source paths to replace: (old, new).

    Returns:
        The report; `str` of it is the text with an answer in the place of each frame.

    Raises:
        FormatError: The file is neither a text nor a core file or a minidump.
        GsymError: A module or a core file is damaged.
        OSError: The file cannot be read.
        TypeError: An argument is of another type.
        ValueError: A source is invalid, or *maps* is a text without a mapping.
    """
    lines = ContextLines(integer_of("context", context), pairs_of("path_map", path_map))
    given: dict[str, Any] = {
        "maps": _maps_of(maps),
        "load_addresses": _load_addresses_of(load_addresses),
        "module": None if module is None else path_of("module", module),
        "source": source,
        "store": store,
        "is_return": is_return,
        "lines": lines,
    }
    if isinstance(report, str):
        if "\n" not in report and os.path.isfile(report):
            from warnings import warn

            hint = f"report: a text that is a file; pathlib.Path({report!r}) reads it"
            warn(hint, stacklevel=2)
        report = report.encode("utf-8", "surrogatepass")
    if isinstance(report, (bytes, bytearray, memoryview)):
        return _whole(LongText(BytesIO(report), "surrogatepass"), "", given)
    path = path_of("report", report, ", text or bytes")
    with inflated(path) as file:
        if is_dump(file):
            dump = symbolicate_dump(file, source=source, store=store, lines=lines)
            return dump.with_records()
        if _is_binary(file):
            reason = "a binary, neither a report nor a core file; gsym.open reads it"
            raise FormatError(reason, path=path)
        with open_text(file) as opened:
            beside = os.path.dirname(os.path.abspath(path))
            return _whole(LongText(opened), beside, given)


def _is_binary(path: str) -> bool:
    """Whether a file has code or symbols; a text may begin with MZ."""
    if not os.path.isfile(path) or recognise_file(path) not in _BINARIES:
        return False
    with open(path, "rb") as file:
        return b"\0" in file.read(_HEAD)


def _maps_of(
    maps: str | os.PathLike[str] | LoadedSymbols | None,
) -> str | LoadedSymbols | None:
    """The mappings of an argument: a text, in place of its file, or what is loaded."""
    if maps is None or hasattr(maps, "covering"):
        return maps  # type: ignore[return-value]
    from gsym.modules.maps import read_maps

    text = maps
    if isinstance(text, os.PathLike):
        with open(text, "rb") as file:
            text = file.read().decode("utf-8", "surrogateescape")
    expected = "text in the format of /proc/PID/maps, pathlib.Path of a file with it"
    expected += ", a Process or a Kernel"
    if not isinstance(text, str):
        raise refusal("maps", expected, maps)
    if not any(read_maps(text)):
        raise ValueError(f"maps: expected {expected}, not {shown(maps)}")
    return text


def _load_addresses_of(addresses: Mapping[str, int] | None) -> Mapping[str, int]:
    if addresses is None:
        return {}
    name = "load_addresses"
    if not hasattr(addresses, "items"):
        raise refusal(name, "a mapping of names to addresses", addresses)
    return {
        path_of(name, module): integer_of(f"{name}[{module!r}]", start, 0, UINT64_MAX)
        for module, start in addresses.items()
    }


def _whole(text: LongText, beside: str, given: Mapping[str, Any]) -> Report:
    """The report on all of a text."""
    found, passages = symbolicate_text(text, beside, **given)
    report = found.with_records()
    parts = text.with_rest(report.parts, report.originals(), passages)
    texts = (str(each) if isinstance(each, FileText) else each for each in parts)
    return report._replace(parts=tuple(texts)) if report.is_verbatim else report


@no_garbage_collection()
def symbolicate_text(  # noqa: PLR0913 - independent keywords
    text: LongText,
    beside: str,
    *,
    source: Sources = (),
    maps: str | LoadedSymbols | None = None,
    load_addresses: Mapping[str, int] | None = None,
    module: str | None = None,
    store: PathOrUrl | Store | None = None,
    is_return: bool | None = None,
    document: Any = None,
    lines: ContextLines = NO_CONTEXT,
) -> tuple[Report, Passages]:
    """Symbolicate the passages of a text that may have frames.

    Returns:
        The report on the passages, and the passages.
    """
    from gsym.memory.report_modules import ReportModules
    from gsym.reports.stacks.recognition import mapped_ranges, parse_report

    if maps is not None and not isinstance(maps, str):
        source, store = source or maps.source, store or maps.store
    document = text.document() if document is None else document
    starts = load_addresses or {}
    is_known = module is None and isinstance(maps or "", str)
    passages, shapes = text.passages(() if is_known else ANY_NUMBER), None
    if document is not None:
        passages = text.whole()
    elif is_known and passages != text.whole():
        ranges, shapes = mapped_ranges(text.read(passages), maps or "", starts)
        passages = text.passages(ranges) if ranges else passages
    stack = parse_report(
        text.read(passages),
        module_of_path(module) if module else None,
        NO_LIMITS,
        maps=maps or "",
        load_addresses=starts,
        document=document,
        shapes=shapes,
    )
    work = ReportWork(stack, is_return=is_return)
    with ReportModules(source, beside, store) as modules:
        report = _answered(work, modules, lines)
    used = {each.name for each in report.modules if each.state != "unused"}
    unused = [each for each in starts if module_of_path(each).name not in used]
    notes = [
        f"{each}: a load address is given, but no frame is in it" for each in unused
    ]
    return report._replace(notes=(*report.notes, *notes)), passages


@contextmanager
def inflated(path: str) -> Iterator[str]:
    """The path of a report, inflated into a temporary file if it is compressed.

    Raises:
        LimitError: It inflates to too much.
    """
    # A pipe can be read once.
    if not os.path.isfile(path) or recognise_file(path) not in COMPRESSED:
        yield path
        return
    from gsym.store.archives import inflate_file

    with tempfile.TemporaryDirectory(prefix="gsym-") as folder:
        yield inflate_file(path, folder)


def symbolicate_stack(
    parse: Callable[[FindFiles], ReportWork],
    beside: str = "",
    *,
    source: Sources = (),
    store: PathOrUrl | Store | None = None,
    lines: ContextLines = NO_CONTEXT,
) -> Report:
    """Symbolicate a report that is no text; *parse* may search the files of modules."""
    from gsym.memory.report_modules import ReportModules

    with ReportModules(source, beside, store) as modules:
        work = parse(partial(modules.paths, elsewhere=True))
        return _answered(work, modules, lines)


def symbolicate_dump(path: str, **searched: Any) -> Report:
    """Symbolicate a core file or minidump; see `symbolicate_stack`."""
    beside = os.path.dirname(os.path.abspath(path))
    return symbolicate_stack(
        lambda find: ReportWork(parse_dump(path, find)), beside, **searched
    )


def _answered(work: ReportWork, modules: ReportModules, lines: ContextLines) -> Report:
    """The report with its answers, and the source lines that are asked for."""
    work.open_by(modules.open)
    report = work.answer()
    if lines.around <= 0:
        return report
    from gsym.reports.source_lines import LocalSources, SourceLines

    local = LocalSources(modules.folders, lines.path_map, modules.fetch_source)
    shown = SourceLines(local.read, lines.around, work.sources)
    return shown.added(report)


def parse_dump(path: str, find: FindFiles) -> ParsedReport:
    """The stacks in a core file or minidump.

    Args:
        path: The file.
        find: Where the file of a module may be.
    """
    from gsym.containers.mapped_file import map_file
    from gsym.memory.elf_core import is_core, read_core
    from gsym.memory.minidump import read_minidump

    data = map_file(path)
    read = read_core if is_core(bytes(data[:_HEAD])) else read_minidump
    return read(data, path, find)
