"""`POST /symbolicate/report`: a crash report, a log, any text with addresses, a dump.

Core files and minidumps are read as `gsym.server.dumps` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message

from gsym.api.extensions import SourceRoots
from gsym.containers.recognition import COMPRESSED, HEAD_SIZE, recognise
from gsym.errors import LimitError
from gsym.memory.elf_core import is_core
from gsym.memory.microdump import has_microdump
from gsym.memory.minidump import MAGIC
from gsym.memory.stack_parts import (
    ParsedReport,
    module_of_path,
)
from gsym.modules.key import ModuleKey
from gsym.reports.report import Report
from gsym.reports.report_work import ReportWork
from gsym.reports.source_lines import SourceLines
from gsym.reports.stacks.recognition import parse_report
from gsym.server.bodies import SpooledBodies, request_body
from gsym.server.dumps import read_dump
from gsym.server.errors import HttpError, answered, in_time, number_in, private_response
from gsym.server.modules import child_limits
from gsym.server.service import Service
from gsym.server.shown_modules import module_shown, shown
from gsym.store.listing import StoreListing

_MOST_OF_NAME = 4  # stored modules of one name, of which one may be that of the dump
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
        most = self._service.settings.limits.max_dump_inflated
        found = read_dump(path, folder, self._files, self._limits, most)
        return self._text(found) if isinstance(found, str) else found

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
        report = work.answer().with_records()
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
