"""`POST /symbolicate/report`: a crash report, a log, any text with addresses, a dump.

Core files and minidumps are read by confined processes. Such a process knows no files
of modules but those that it is given. It says of which modules more files may give
longer stacks, and is run again with these.

`module_shown` and `attempts_shown` say what answers for people have of modules.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message

from gsym.api.extensions import SourceRoots
from gsym.confined.adding import is_file_in
from gsym.confined.process import run_confined
from gsym.containers.recognition import COMPRESSED, HEAD_SIZE, recognise
from gsym.errors import FormatError, LimitError
from gsym.memory.elf_core import is_core
from gsym.memory.microdump import has_microdump
from gsym.memory.minidump import MAGIC
from gsym.memory.stack_parts import (
    NO_LIMITS,
    ParsedReport,
    StackBuilder,
    StackFrame,
    StackHeading,
    StackModule,
    module_of_path,
)
from gsym.model import UINT64_END
from gsym.modules.key import Attempt, ModuleKey
from gsym.reports.confined_dump import module_name
from gsym.reports.report import Report
from gsym.reports.report_work import ReportWork
from gsym.reports.source_lines import SourceLines
from gsym.reports.stacks.recognition import parse_report
from gsym.server.bodies import SpooledBodies, request_body
from gsym.server.errors import HttpError, answered, in_time, number_in, private_response
from gsym.server.modules import child_limits
from gsym.server.service import Service
from gsym.store.entries import Entry
from gsym.store.listing import StoreListing

_MOST_RUNS = 16
_MOST_OF_NAME = 4  # stored modules of one name, of which one may be that of the dump
_INVALID = "reading the dump had an invalid result"
_LONGEST_TEXT = 4096  # characters of a name or a path, which may be hostile
_MOST_BYTES = 4  # of a character
_LONGEST_NAME = 1000
_MOST_CHOICES = 1000
_MOST_CANDIDATES = 50
_MOST_CONTEXT = 20
REPORT_PARAMETERS = {
    "module": "module of addresses without one: NAME or NAME/DEBUGID",
    "load_address": "where a module starts: MODULE=ADDRESS; repeatable",
    "choice": "which of the candidates a module is: INDEX:DEBUGID; repeatable",
    "context": "source lines to add before and after that of each call, up to 20",
    "parts": "true: the answer also has the texts between the frames",
}
_LEVELS = ("names of functions", "source lines", "inlined calls")


class Frame(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Fields of a `StackFrame`."""

    text: str
    module: Annotated[int, Meta(ge=-1)]
    address: int
    base: Literal["image", "link", "file"]
    is_return: bool
    stack: Annotated[int, Meta(ge=0)]
    trust: str


class Stacks(msgspec.Struct, forbid_unknown_fields=True):
    """The stacks of a dump: a `ParsedReport` as the confined process wrote it."""

    form: str
    reason: str
    notes: list[str]
    stacks: list[tuple[str, bool, str, int, tuple[tuple[str, int], ...], str]]
    modules: list[Annotated[list[str], Meta(min_length=6, max_length=6)]]
    parts: list[str | Frame]

    def report(self) -> ParsedReport:
        """The report."""
        stack = StackBuilder(NO_LIMITS)
        for each in self.parts:
            if isinstance(each, str):
                stack.add_text(each)
                continue
            is_known = each.module < len(self.modules) and each.stack < len(self.stacks)
            if not (is_known and 0 <= each.address < UINT64_END):
                raise FormatError(_INVALID)
            stack.heading = each.stack
            stack.add_frame(StackFrame(**msgspec.structs.asdict(each)))
        return stack.finish(self.form)._replace(
            modules=tuple(
                StackModule(row[0], ModuleKey(*row[2:]), path=row[1])
                for row in self.modules
            ),
            notes=tuple(self.notes),
            headings=tuple(StackHeading(*each) for each in self.stacks),
            reason=self.reason,
        )


class _Answer(msgspec.Struct):
    file: str
    report: Stacks | None = None
    wanted: list[Annotated[list[str], Meta(min_length=6, max_length=6)]] = []


class AttemptShown(msgspec.Struct):
    """An attempt to get a module from a source; see `gsym.modules.key.Attempt`."""

    source: str
    outcome: str
    detail: str
    seconds: float
    size: int


class ModuleShown(msgspec.Struct):
    """A module of the store."""

    debug_file: str  # name of the file with debug information
    debug_id: str  # digits of the GUID and the age
    code_file: str  # name of the binary if it differs
    code_id: str  # build id, LC_UUID, or time stamp and image size
    os: str  # "Linux", "mac" or "windows"
    architecture: str  # such as "x86_64"
    size: int  # total bytes of its files
    functions: int  # number of functions; 0 if it is not converted yet
    level: str  # the detail of its symbols
    source: str  # origin of the debug information
    added: float  # seconds since 1970
    is_incomplete: bool  # whether files with debug information could not be read


def attempts_shown(attempts: Iterable[Attempt]) -> list[AttemptShown]:
    """The attempts to get a module."""
    return [
        AttemptShown(shown(source), outcome, shown(detail), seconds, size)
        for source, outcome, detail, seconds, size in attempts
    ]


def shown(text: str) -> str:
    """Valid text of limited length."""
    if len(text) > _LONGEST_TEXT:
        text = text[: _LONGEST_TEXT - 1] + "…"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def module_shown(entry: Entry) -> ModuleShown:
    """An entry of a store."""
    known, quality = entry.identity, entry.quality
    return ModuleShown(
        debug_file=shown(known.debug_file),
        debug_id=known.debug_id,
        code_file=shown(known.code_file),
        code_id=known.code_id,
        os=shown(known.os),
        architecture=shown(known.architecture),
        size=entry.size,
        functions=quality.functions,
        level=_LEVELS[min(max(quality.level, 0), len(_LEVELS) - 1)]
        if quality.functions
        else "not converted yet",
        source=shown(entry.source),
        added=entry.added,
        is_incomplete=bool(entry.missing),
    )


class ReportQuery(msgspec.Struct):
    """Statements of a request about its report."""

    module: str = ""  # module of addresses without one: its name, or `NAME/DEBUGID`
    # debug ids by index of the module, chosen among modules of one name
    choices: dict[int, str] = {}
    load_addresses: dict[str, int] = {}  # where modules start in the process, by name
    context: int = 0  # number of source lines before and after that of each call
    has_parts: bool = False  # whether the answer has the texts between frames as well
    has_attempts: bool = True  # whether it says where modules were searched for


def read_query(query: Any) -> ReportQuery:
    """The parameters of a request.

    Raises:
        HttpError: One is invalid.
    """
    found = ReportQuery(query.get("module", "").strip()[:_LONGEST_NAME])
    found.has_parts = query.get("parts") == "true"
    context = query.get("context", "0")
    if not (context.isascii() and context.isdigit()):
        raise HttpError(400, "context is not a number")
    found.context = min(int(context[:9]), _MOST_CONTEXT)
    for text in query.getlist("choice")[:_MOST_CHOICES]:
        index, _, debug_id = text.partition(":")
        if not (index.isascii() and index.isdigit() and debug_id):
            raise HttpError(400, "choice is not INDEX:DEBUGID")
        found.choices[int(index[:9])] = debug_id
    for text in query.getlist("load_address")[:_MOST_CHOICES]:
        name, equals, address = text.rpartition("=")
        refusal = "load_address is not MODULE=ADDRESS"
        number = number_in(address if equals else "", refusal)
        found.load_addresses[name] = number
    return found


class Reports:
    """Symbolicates the reports of requests.

    Attributes:
        listing: The modules of the store and of folders; None without a store.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        store = service.symbolizer.store
        folders = getattr(service.symbolizer.resolver, "loose_folders", ())
        self.listing: StoreListing | None = (
            StoreListing(store, folders) if store is not None else None
        )
        most = service.settings.limits.max_dump_inflated
        self._limits = child_limits(service.settings, most)
        self._bodies = SpooledBodies(service, service.settings.limits.max_dumps)
        self._roots = SourceRoots(service.settings.source_roots)

    async def of_text(self, text: str, query: ReportQuery) -> dict[str, Any]:
        """The answer for a text.

        Raises:
            HttpError: The text is too long.
        """
        most = self._service.settings.limits.max_paste
        if len(text) > most:
            raise HttpError(413, f"please limit a report to <= {most} characters")

        def parse() -> ParsedReport:
            chosen = module_of_path(query.module) if query.module else None
            return parse_report(text, chosen, load_addresses=query.load_addresses)

        stack = await self._service.opening.run(parse)
        return await self._of_stack(stack, query)

    async def of_body(self, request: Request, query: ReportQuery) -> dict[str, Any]:
        """The answer for the report in the body of a request.

        Raises:
            HttpError: The body is too large or damaged.
        """
        limits = self._service.settings.limits
        with in_time(limits.body_timeout, 408, closes=True):
            sent, head = await _peeked(request)
        is_compressed = recognise(head) in COMPRESSED
        is_dump = head.startswith(MAGIC) or is_core(head) or has_microdump(head)
        if is_compressed or is_dump:
            return await self._of_dump(sent, query)
        limit = limits.max_paste * _MOST_BYTES
        async with request_body(sent, self._service, limit) as body:
            text = body.decode("utf-8", "replace")
        return await self.of_text(text, query)

    async def _of_dump(self, request: Request, query: ReportQuery) -> dict[str, Any]:
        service, limits = self._service, self._service.settings.limits
        with answered():
            sizes = limits.max_dump, limits.max_dump
            async with self._bodies.received(request, *sizes) as folder:
                path = os.path.join(folder, "body")
                with in_time(limits.request_timeout):
                    found = await service.opening.run(self._read, path, folder)
                    if isinstance(found, str):
                        return await self.of_text(found, query)
                    return await self._of_stack(found, query)

    def _read(self, path: str, folder: str) -> ParsedReport | str:
        """The stacks of a dump in *folder*, or a text that was compressed."""
        places: dict[str, Iterator[str]] = {}
        files: dict[str, list[str]] = {}
        answer = self._run(path, folder, files)
        for _ in range(_MOST_RUNS):
            is_more = False
            for row in answer.wanted:
                name = module_name(row)
                if name not in places:
                    places[name] = self._files(ModuleKey(*row[2:]), row[0])
                file = next(places[name], None)
                if file is not None:
                    files.setdefault(name, []).append(file)
                    is_more = True
            if not is_more:
                break
            answer = self._run(answer.file, folder, files)
        if answer.report is None:
            return self._text(answer.file)
        return answer.report.report()

    def _run(self, path: str, folder: str, files: dict[str, list[str]]) -> _Answer:
        order = {
            "path": path,
            "folder": folder,
            "files": files,
            "most_inflated": self._service.settings.limits.max_dump_inflated,
        }
        known = {each: None for several in files.values() for each in several}
        there = [os.path.realpath(each) for each in known if os.path.isfile(each)]
        found = run_confined(
            *("dump", order, folder, self._limits),
            inputs=[path],
            companions=there,
            readable=list(known),
        )
        try:
            answer = msgspec.convert(found, _Answer)
        except msgspec.ValidationError:
            raise FormatError(_INVALID) from None
        if not is_file_in(answer.file, folder):
            raise FormatError(_INVALID)
        return answer

    def _files(self, key: ModuleKey, name: str) -> Iterator[str]:
        """The files of a module that may have its code."""
        yield from (each.path for each in self._service.symbolizer.binaries(key))
        if self.listing is not None and not (key.debug_id or key.code_id):
            for entry in islice(self.listing.named(name), _MOST_OF_NAME):
                yield from entry.originals.values()

    def _text(self, path: str) -> str:
        limit = self._service.settings.limits.max_paste * _MOST_BYTES
        with open(path, "rb") as file:
            text = file.read(limit + 1)
        if len(text) > limit:
            raise LimitError(f"please limit a report to <= {limit} bytes")
        return text.decode("utf-8", "replace")

    async def _of_stack(
        self, stack: ParsedReport, query: ReportQuery
    ) -> dict[str, Any]:
        service = self._service

        def prepare() -> ReportWork:
            work = ReportWork(stack, query.choices)
            if self.listing is not None:
                work.identify(self.listing)
            return work

        with service.files.guarded() as used:
            work = await service.opening.run(prepare)
            wanted = [module for module in work.modules if module.key is not None]
            await service.opening.open_all(wanted)
            used += [each.module for each in wanted if each.module is not None]
            report = await service.run(self._answer, work, query.context)
        return await service.run(self._record, work, report, query)

    def _answer(self, work: ReportWork, context: int) -> Report:
        report = work.answer()
        if not context or not self._service.settings.enable_source:
            return report
        most = self._service.settings.limits.max_source

        def read(_key: ModuleKey, path: str) -> bytes | None:
            return self._roots.read(path, most)

        # Binaries are not read: they may be those of strangers.
        sources = partial(work.sources, reads_binaries=False)
        return SourceLines(read, context, sources).added(report)

    def _record(
        self, work: ReportWork, report: Report, query: ReportQuery
    ) -> dict[str, Any]:
        """The answer: `Report.to_dict`, and what a server knows in addition."""
        record = report.to_dict(shown, self._service.path_map or str)
        for named, module in zip(work.modules, record["modules"], strict=True):
            module["path"] = ""  # of a file of this machine
            candidates = named.candidates[:_MOST_CANDIDATES]
            module["candidates"] = [module_shown(each) for each in candidates]
            if not query.has_attempts:
                module |= {"attempts": [], "reason": module["reason"] and "not found"}
        if query.has_parts:
            record |= {"parts": report.parts, "verbatim": report.is_verbatim}
        return record


async def _peeked(request: Request) -> tuple[Request, bytes]:
    """The request with all of its body, and the start of that."""
    messages: list[Message] = []
    head = b""
    while len(head) < HEAD_SIZE:
        message = await request.receive()
        messages.append(message)
        head += message.get("body", b"")[:HEAD_SIZE]
        if not message.get("more_body", False):
            break

    async def receive() -> Message:
        return messages.pop(0) if messages else await request.receive()

    return Request(request.scope, receive), head


def report_routes(service: Service) -> list[Route]:
    """The endpoint for reports."""
    reports = Reports(service)

    async def symbolicate(request: Request) -> Response:
        query = read_query(request.query_params)
        query.has_attempts = service.settings.module_errors
        record = await reports.of_body(request, query)
        return await service.run(private_response, record)

    return [Route("/symbolicate/report", symbolicate, methods=["POST"])]
