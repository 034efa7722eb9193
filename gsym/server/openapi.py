"""The OpenAPI document: its schemas are those of the records that are sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gsym import __version__
from gsym.api.extensions import (
    AssemblyAnswer,
    AssemblyRequest,
    SourceAnswer,
    SourceRequest,
)
from gsym.server.arrow import ARROW_PARAMETERS
from gsym.server.errors import ErrorBody, json_response
from gsym.server.reports import REPORT_PARAMETERS
from gsym.server.service import Service
from gsym.server.shown_modules import AttemptShown, ModuleShown
from gsym.server.symbfiles.protocol import Accepted, Refused
from gsym.server.uploads import STATED, AuthInfo, UploadAnswer

# ---- records of symbolication, which the engine reads and writes without objects

_Index = Annotated[int, Meta(ge=-1)]
_Offset = Annotated[str, Meta(pattern="^-?0x[0-9a-f]+$")]
_Line = Annotated[int, Meta(ge=1)]


class Job(msgspec.Struct, rename="camel"):
    """Stacks and their modules."""

    memory_map: list[
        Annotated[tuple[str, str], Meta(description="debug file and debug id")]
    ]
    stacks: Annotated[
        list[
            list[
                Annotated[
                    tuple[_Index, _Index | str],
                    Meta(
                        description="index of the module, -1 for none, and offset from "
                        "its base, or FUNCTION+OFFSET"
                    ),
                ]
            ]
        ],
        Meta(min_length=1),
    ]
    code_ids: (
        Annotated[
            list[str],
            Meta(description="code id of each module: the whole build id; or empty"),
        ]
        | UnsetType
    ) = UNSET


class Jobs(msgspec.Struct):
    """Several jobs."""

    jobs: list[Job]


class InlinedCall(msgspec.Struct, forbid_unknown_fields=True):
    """A call that was inlined, innermost first."""

    function: str
    file: str | UnsetType = UNSET
    line: _Line | UnsetType = UNSET


class Frame(msgspec.Struct, forbid_unknown_fields=True):
    """A frame of a stack."""

    frame: Annotated[int, Meta(ge=0)]
    module: str
    module_offset: _Offset
    function: str | UnsetType = UNSET
    function_offset: _Offset | UnsetType = UNSET
    function_size: _Offset | UnsetType = UNSET
    file: str | UnsetType = UNSET
    line: _Line | UnsetType = UNSET
    inlines: Annotated[list[InlinedCall], Meta(min_length=1)] | UnsetType = UNSET


class Result(msgspec.Struct, forbid_unknown_fields=True):
    """The answer to a job."""

    stacks: list[list[Frame]]
    found_modules: dict[str, bool | None]
    unsure: dict[str, str] | UnsetType = UNSET
    module_errors: dict[str, list[dict[str, str]]] | UnsetType = UNSET
    error: str | UnsetType = UNSET


class Results(msgspec.Struct, forbid_unknown_fields=True):
    """The answers to all jobs, and statistics with the header `Debug`."""

    results: list[Result]
    debug: dict[str, Any] | UnsetType = UNSET


class Calls(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The answer to a job in version 4."""

    symbolicated_stacks: list[list[str]]
    known_modules: list[bool | None]
    unsure: dict[str, str] | UnsetType = UNSET
    module_errors: dict[str, list[dict[str, str]]] | UnsetType = UNSET


# ---- reports, as `gsym.reports.report.Report.to_dict` makes them

_Address = Annotated[str, Meta(pattern="^0x[0-9a-f]+$")]


class SourceContext(msgspec.Struct, forbid_unknown_fields=True):
    """Source lines around that of a call, from the number of the first one.

    Where the file is not at hand, `link` is its URL or the command that fetches it.
    """

    first: _Line
    lines: list[str]
    link: str


class ReportCall(msgspec.Struct, forbid_unknown_fields=True):
    """A function at an address; line 0 is an unknown one."""

    function: str
    file: str
    line: Annotated[int, Meta(ge=0)]
    offset: _Address
    inlined: bool
    source: SourceContext | UnsetType = UNSET


class ReportFrame(msgspec.Struct, forbid_unknown_fields=True):
    """A frame, with its calls from the innermost one to the function itself."""

    text: str
    module: _Index
    address: _Address
    offset: _Address | None
    symbol: str
    calls: list[ReportCall]
    reason: str
    is_return: bool
    trust: str
    folded: str


class ReportThread(msgspec.Struct, forbid_unknown_fields=True):
    """A stack, innermost frame first."""

    name: str
    crashed: bool
    frames: list[ReportFrame]
    end: str
    left_out: Annotated[int, Meta(ge=0)]
    registers: dict[str, str]
    instruction: str


class ReportModule(msgspec.Struct, forbid_unknown_fields=True):
    """A module; candidates are those of its name on a server, without an id."""

    name: str
    debug_id: str
    code_id: str
    path: str
    state: Literal["found", "missing", "unused"]
    unsure: str
    reason: str
    attempts: list[AttemptShown]
    candidates: list[ModuleShown] | UnsetType = UNSET


class Report(msgspec.Struct, forbid_unknown_fields=True):
    """A symbolized report; with parts, its texts and the places of its frames."""

    form: str
    reason: str
    threads: list[ReportThread]
    modules: list[ReportModule]
    notes: list[str]
    parts: (
        list[
            str
            | Annotated[
                tuple[int, int], Meta(description="thread, and frame in the thread")
            ]
        ]
        | UnsetType
    ) = UNSET
    verbatim: bool | UnsetType = UNSET


# ---- operations

_JSON = "application/json"
_BINARY = "application/octet-stream"
_ARROW = "application/vnd.apache.arrow.stream"
_PROTOBUF = "application/x-protobuf"
_TEXT = {"type": "string"}
_PATH_TEXT = {"type": "string", "minLength": 1}
_NUMBER = {"type": "integer"}
_RECORDS = (
    *(ErrorBody, AuthInfo, Jobs, Job, Results, Calls, UploadAnswer),
    *(Report, AttemptShown, ModuleShown),
    *(SourceRequest, SourceAnswer, AssemblyRequest, AssemblyAnswer, Accepted, Refused),
)
_FORM = {
    "type": "object",
    "properties": {"url": _TEXT, "symbols": {"type": "string", "format": "binary"}},
}
_NOT_ANSWERED = {"default": ("Not answered", ErrorBody)}
_REFUSED = {"default": ("Refused", ErrorBody)}
_NOT_FOUND = {"404": ("Not found", ErrorBody)}
_INVALID = {
    "400": ("Invalid request", ErrorBody),
    "413": ("Request or answer too large", ErrorBody),
    **_NOT_ANSWERED,
}


def _content(*kinds: object) -> dict[str, Any]:
    """A body: records in JSON, or a media type."""
    refs = [
        {"$ref": f"#/components/schemas/{kind.__name__}"}
        for kind in kinds
        if isinstance(kind, type)
    ]
    media: dict[str, Any] = {kind: {} for kind in kinds if isinstance(kind, str)}
    if refs:
        media[_JSON] = {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}
    return {"content": media} if media else {}


def _operation(
    summary: str,
    answers: Mapping[str, tuple[object, ...]],
    body: Mapping[str, Any] | None = None,
    parameters: Iterable[Mapping[str, Any]] = (),
    security: str = "",
) -> dict[str, Any]:
    """An operation; *answers* has a description and what `_content` takes."""
    return {
        "summary": summary,
        **({"security": [{security: []}]} if security else {}),
        **({"parameters": found} if (found := [*parameters]) else {}),
        **({"requestBody": {"required": True, **body}} if body else {}),
        "responses": {
            status: {"description": description, **_content(*kinds)}
            for status, (description, *kinds) in answers.items()
        },
    }


def _parameters(
    place: str,
    named: Mapping[str, str],
    schema: Mapping[str, object] = _TEXT,
    *,
    required: bool = False,
) -> list[dict[str, Any]]:
    """Parameters by name, with descriptions."""
    return [
        {
            "name": name,
            "in": place,
            **({"description": about} if about else {}),
            "required": required,
            "schema": schema,
        }
        for name, about in named.items()
    ]


def _symbolication(
    summary: str, answer: type, *requests: type, **others: tuple[object, ...]
) -> dict[str, Any]:
    answers = {"200": ("Answered", answer), **_INVALID, **others}
    return _operation(summary, answers, _content(*requests))


def _file(summary: str) -> dict[str, Any]:
    moved = ("The same by debug file and debug id",)
    answers = {"200": ("The file", "*/*"), "302": moved, **_NOT_FOUND, **_NOT_ANSWERED}
    return _operation(summary, answers)


def _symbfile(summary: str) -> dict[str, Any]:
    answers = {
        "200": ("The part is stored", Accepted),
        "default": ("Refused", Refused, ErrorBody),
    }
    id_of, part = {"FileID": "FileID of the executable"}, "number of the part, from 0"
    parameters = [
        *_parameters("header", id_of, required=True),
        *_parameters("header", {"FilePart": part}, _NUMBER, required=True),
        *_parameters("header", {"FileParts": "number of parts"}, _NUMBER),
    ]
    return _operation(summary, answers, _content(_BINARY), parameters, "apiKey")


def _get(summary: str, *media_type: str) -> dict[str, Any]:
    return _operation(summary, {"200": (summary, *media_type)})


_KEYS = {"type": "string", "enum": ["buildid", "file", "glob"]}
_METADATA = "The binaries of local sources by build id or path"
# Methods and a path -> the operation, without the parameters in the path.
_OPERATIONS = {
    "post /symbolicate/v5": _symbolication("Symbolicate stacks", Results, Jobs, Job),
    "post /symbolicate/v4": _symbolication(
        "Symbolicate the stacks of one job", Calls, Job
    ),
    "post /symbolicate/report": _operation(
        "Symbolicate a crash report, a log, a stack",
        {
            "200": ("Answered", Report),
            "413": ("Report too large", ErrorBody),
            **_NOT_ANSWERED,
        },
        _content("text/plain", _BINARY),
        _parameters("query", REPORT_PARAMETERS),
    ),
    "post /source/v1": _symbolication(
        "A source file", SourceAnswer, SourceRequest, **_NOT_FOUND
    ),
    "post /asm/v1": _symbolication(
        "Disassembled code", AssemblyAnswer, AssemblyRequest, **_NOT_FOUND
    ),
    "post /upload/": _operation(
        "Add debug information to the store",
        {"201": ("Added", UploadAnswer), **_REFUSED},
        {"content": {"multipart/form-data": {"schema": _FORM}, _BINARY: {}}},
        _parameters("query", {"name": "name of a single file", **STATED}),
        security="token",
    ),
    "post /upload/auth_info/": _operation(
        "What the token of an upload may do",
        {"200": ("The token is for uploads", AuthInfo), **_REFUSED},
        security="token",
    ),
    "post put /api/symbols-ranges": _symbfile("A part of the ranges of an executable"),
    "post put /api/symbols-returnpads": _symbfile("A part of its return pads"),
    "post /symbolicate/arrow": _operation(
        "Symbolicate addresses in Arrow record batches",
        {"200": ("The batches with answers", _ARROW), **_NOT_ANSWERED},
        _content(_ARROW),
        _parameters("query", ARROW_PARAMETERS),
    ),
    "post /v1development/profiles": _operation(
        "Symbolize profiles of OpenTelemetry, and send them on",
        {
            "200": ("The answer of the next collector", _PROTOBUF),
            "default": ("Not accepted", _PROTOBUF, ErrorBody),
        },
        _content(_PROTOBUF),
        security="token",
    ),
    "get /buildid/{build_id}/{kind}": _file(
        "A file by build id: gsym, json, debuginfo or executable"
    ),
    "get /buildid/{build_id}/section/{name}": _file(
        "A section of the debug file or the executable"
    ),
    "get /buildid/{build_id}/source/{path}": _file(
        "A source file that the module refers to"
    ),
    "get /metadata": _operation(
        _METADATA,
        {"200": (_METADATA, _JSON), **_NOT_ANSWERED},
        parameters=[
            *_parameters("query", {"key": ""}, _KEYS, required=True),
            *_parameters("query", {"value": ""}),
        ],
    ),
    "get /{name}/{module_id}/{file}": _file(
        "A file in the layout of Breakpad's stores"
    ),
    "get /{first}/{second}/{file_id}/{file}": _file(
        "A symbfile for devfiler: metadata.json, ranges or returnpads"
    ),
    "get /__heartbeat__": _get("The server is running"),
    "get /__lbheartbeat__": _get("The server is running"),
    "get /__version__": _get("Version of the server", _JSON),
    "get /metrics": _get("Metrics for Prometheus", "text/plain"),
    "get /openapi.json": _get("This document", _JSON),
}
_PATHS: dict[str, dict[str, Any]] = {}
for _place, _made in _OPERATIONS.items():
    *_methods, _path = _place.split(" ")
    if _names := re.findall(r"\{(\w+)\}", _path):
        _made["parameters"] = _parameters(
            "path", dict.fromkeys(_names, ""), _PATH_TEXT, required=True
        )
    _PATHS[_path] = dict.fromkeys(_methods, _made)


@cache
def _schemas() -> dict[str, Any]:
    template = "#/components/schemas/{name}"
    _, found = msgspec.json.schema_components(_RECORDS, ref_template=template)
    for schema in found.values():
        schema["description"] = schema["description"].partition("\n")[0]
    return found


def openapi_document(paths: Iterable[str], root_path: str = "") -> dict[str, Any]:
    """The OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gsym",
            "version": __version__,
            "description": "Functions, files and lines for addresses in programs.",
        },
        "servers": [{"url": root_path or "/"}],
        "paths": {path: _PATHS[path] for path in paths if path in _PATHS},
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "http", "scheme": "APIKey"},
            },
        },
    }


def openapi_routes(service: Service) -> list[Route]:
    """`GET /openapi.json`."""

    async def document(request: Request) -> Response:
        paths = [route.path for route in request.app.routes]
        text = openapi_document(paths, service.settings.root_path)
        return json_response(text)

    return [Route("/openapi.json", document, methods=["GET"])]
