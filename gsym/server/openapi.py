"""The OpenAPI document: its paths and schemas."""

from __future__ import annotations

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from gsym import __version__
from gsym.server.uploads import STATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from starlette.requests import Request

    from gsym.server.service import Service


_TEXT = {"type": "string"}
_INTEGER = {"type": "integer"}
_BOOLEAN = {"type": "boolean"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_STATE = {"type": ["boolean", "null"]}
_OFFSET = {"type": "string", "pattern": "^-?0x[0-9a-f]+$"}
_NUMBER = {"type": "string", "pattern": "^0x[0-9a-fA-F]{1,16}$"}
_DEBUG_ID = {"type": "string", "pattern": "^[0-9A-F]{33}$"}
_LINE = {"type": "integer", "minimum": 1}


def _array(items: dict[str, Any] | None = None, **limits: object) -> dict[str, Any]:
    return {"type": "array", **limits, **({"items": items} if items else {})}


def _object(
    required: str, *, closed: bool = False, **properties: object
) -> dict[str, Any]:
    """An object with these properties; if *closed*, with no others.

    Args:
        required: Names of the required properties, separated by blanks.
        closed: Whether other properties are invalid.
        properties: Schemas by name.
    """
    schema = {"type": "object", "required": required.split(), "properties": properties}
    return {**schema, "additionalProperties": False} if closed else schema


def _schema(*names: str) -> dict[str, Any]:
    found = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    return found[0] if len(found) == 1 else {"anyOf": found}


_MODULE = {
    **_array(_TEXT, minItems=2, maxItems=2),
    "description": "debug file and debug id",
}
_FRAME = {
    **_array({"type": "integer", "minimum": -1}, minItems=2, maxItems=2),
    "description": "index of the module, -1 for none, and offset from its base",
}

SCHEMAS: dict[str, Any] = {
    "Error": _object("title error", closed=True, title=_TEXT, error=_TEXT),
    "AuthInfo": _object(
        "email try_symbols token_expires_at upload_api_version",
        closed=True,
        email=_TEXT,
        try_symbols={"type": "boolean"},
        token_expires_at=_INTEGER,
        upload_api_version=_INTEGER,
    ),
    "Job": _object(
        "stacks memoryMap",
        memoryMap=_array(_MODULE),
        stacks=_array(_array(_FRAME), minItems=1),
    ),
    "Jobs": _object("jobs", jobs=_array(_schema("Job"))),
    "Frame": _object(
        "frame module module_offset",
        closed=True,
        frame={"type": "integer", "minimum": 0},
        module=_TEXT,
        module_offset=_OFFSET,
        function=_TEXT,
        function_offset=_OFFSET,
        function_size=_OFFSET,
        file=_TEXT,
        line=_LINE,
        inlines=_array(
            _object("function", closed=True, function=_TEXT, file=_TEXT, line=_LINE),
            minItems=1,
        ),
    ),
    "Result": _object(
        "stacks found_modules",
        closed=True,
        stacks=_array(_array(_schema("Frame"))),
        found_modules={"type": "object", "additionalProperties": _STATE},
        unsure={"type": "object", "additionalProperties": _TEXT},
        module_errors={"type": "object"},
    ),
    "Results": _object(
        "results",
        closed=True,
        results=_array(_schema("Result")),
        debug={"type": "object"},
    ),
    "Calls": _object(
        "symbolicatedStacks knownModules",
        closed=True,
        symbolicatedStacks=_array(_array(_TEXT)),
        knownModules=_array(_STATE),
        unsure={"type": "object", "additionalProperties": _TEXT},
    ),
    "SourceFile": _object(
        "debugName debugId moduleOffset file",
        debugName=_TEXT,
        debugId=_DEBUG_ID,
        moduleOffset=_NUMBER,
        file=_TEXT,
    ),
    "Source": _object(
        "symbolsLastModified sourceLastModified file source", file=_TEXT, source=_TEXT
    ),
    "Code": _object(
        "startAddress size debugId",
        startAddress=_NUMBER,
        size=_NUMBER,
        name=_TEXT_OR_NULL,
        codeId=_TEXT_OR_NULL,
        debugName=_TEXT_OR_NULL,
        debugId=_DEBUG_ID,
        continueUntilFunctionEnd=_BOOLEAN,
    ),
    "Assembly": _object(
        "startAddress size arch syntax instructions",
        startAddress=_NUMBER,
        size=_NUMBER,
        arch=_TEXT,
        syntax=_array(_TEXT),
        instructions=_array(_array()),
    ),
    "Accepted": _object(
        "success status", closed=True, success={"const": True}, status={"const": 200}
    ),
    "Refused": _object(
        "success uuid error status",
        closed=True,
        success={"const": False},
        uuid={"type": "string", "format": "uuid"},
        error=_object("Code Text", closed=True, Code=_TEXT, Text=_TEXT),
        status={"type": "integer", "minimum": 400, "maximum": 599},
    ),
}


_JSON = "application/json"


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {_JSON: {"schema": schema}}}


def _response(description: str, *schemas: str) -> dict[str, Any]:
    return {"description": description, **_content(_schema(*schemas))}


def _parameter(
    name: str, place: str, schema: dict[str, Any], about: str = "", *, required: bool
) -> dict[str, Any]:
    described = {"description": about} if about else {}
    return {
        "name": name,
        "in": place,
        **described,
        "required": required,
        "schema": schema,
    }


def _symbolication(
    summary: str, request: dict[str, Any], answer: str
) -> dict[str, Any]:
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, **_content(request)},
            "responses": {
                "200": _response("Answered", answer),
                "400": _response("Invalid request", "Error"),
                "413": _response("Request or answer too large", "Error"),
                "default": _response("Not answered", "Error"),
            },
        }
    }


def _file(summary: str, *names: str) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1}
    return {
        "get": {
            "summary": summary,
            "parameters": [
                _parameter(name, "path", text, required=True) for name in names
            ],
            "responses": {
                "200": {"description": "The file", "content": {"*/*": {}}},
                "302": {"description": "The same by debug file and debug id"},
                "404": _response("Not found", "Error"),
                "default": _response("Not answered", "Error"),
            },
        }
    }


def _extension(summary: str, request: str, answer: str) -> dict[str, Any]:
    found = _symbolication(summary, _schema(request), answer)
    found["post"]["responses"]["404"] = _response("Not found", "Error")
    return found


_BINARY: dict[str, Any] = {"application/octet-stream": {}}
_FORM = {
    "type": "object",
    "properties": {"url": _TEXT, "symbols": {"type": "string", "format": "binary"}},
}
_UPLOAD: dict[str, Any] = {
    "post": {
        "summary": "Add debug information to the store",
        "security": [{"token": []}],
        "parameters": [
            _parameter(name, "query", _TEXT, about, required=False)
            for name, about in {"name": "name of a single file", **STATED}.items()
        ],
        "requestBody": {
            "required": True,
            "content": {"multipart/form-data": {"schema": _FORM}, **_BINARY},
        },
        "responses": {
            "201": {
                "description": "Added",
                **_content({"type": "object", "required": ["upload"]}),
            },
            "default": _response("Refused", "Error"),
        },
    }
}
_AUTH_INFO: dict[str, Any] = {
    "post": {
        "summary": "What the token of an upload may do",
        "security": [{"token": []}],
        "responses": {
            "200": _response("The token is for uploads", "AuthInfo"),
            "default": _response("Refused", "Error"),
        },
    }
}


def _symbfile(summary: str) -> dict[str, Any]:
    headers = (
        ("FileID", _TEXT, "FileID of the executable", True),
        ("FilePart", _INTEGER, "number of the part, from 0", True),
        ("FileParts", _INTEGER, "number of parts", False),
    )
    operation = {
        "summary": summary,
        "security": [{"apiKey": []}],
        "parameters": [
            _parameter(name, "header", schema, about, required=required)
            for name, schema, about, required in headers
        ],
        "requestBody": {"required": True, "content": _BINARY},
        "responses": {
            "200": _response("The part is stored", "Accepted"),
            "default": _response("Refused", "Refused", "Error"),
        },
    }
    return {"post": operation, "put": operation}


_STREAM: dict[str, Any] = {"application/vnd.apache.arrow.stream": {}}
_ARROW: dict[str, Any] = {
    "post": {
        "summary": "Symbolicate addresses in Arrow record batches",
        "parameters": [
            _parameter(name, "query", _TEXT, about, required=False)
            for name, about in (
                ("module", "column of modules; default: build_id"),
                ("address", "column of addresses; default: address"),
                ("return_address", "column of flags, or true"),
                ("base", "column of addresses that modules are loaded at, or one"),
                ("output", "stack or frames"),
            )
        ],
        "requestBody": {"required": True, "content": _STREAM},
        "responses": {
            "200": {"description": "The batches with answers", "content": _STREAM},
            "default": _response("Not answered", "Error"),
        },
    }
}

_PROTOBUF: dict[str, Any] = {"application/x-protobuf": {}}
_PROFILES: dict[str, Any] = {
    "post": {
        "summary": "Symbolize profiles of OpenTelemetry, and send them on",
        "security": [{"token": []}],
        "requestBody": {"required": True, "content": _PROTOBUF},
        "responses": {
            "200": {
                "description": "The answer of the next collector",
                "content": _PROTOBUF,
            },
            "default": {
                "description": "Not accepted",
                "content": {**_PROTOBUF, **_content(_schema("Error"))},
            },
        },
    }
}


def _get(summary: str, media_type: str | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": summary}
    if media_type is not None:
        answer["content"] = {media_type: {}}
    return {"get": {"summary": summary, "responses": {"200": answer}}}


_METADATA = _get("The binaries of local sources by build id or path", _JSON)
_METADATA["get"]["parameters"] = [
    _parameter(
        "key",
        "query",
        {"type": "string", "enum": ["buildid", "file", "glob"]},
        required=True,
    ),
    _parameter("value", "query", _TEXT, required=False),
]
_METADATA["get"]["responses"]["default"] = _response("Not answered", "Error")

_PATHS: dict[str, Any] = {
    "/symbolicate/v5": _symbolication(
        "Symbolicate stacks", _schema("Jobs", "Job"), "Results"
    ),
    "/symbolicate/v4": _symbolication(
        "Symbolicate the stacks of one job", _schema("Job"), "Calls"
    ),
    "/source/v1": _extension("A source file", "SourceFile", "Source"),
    "/asm/v1": _extension("Disassembled code", "Code", "Assembly"),
    "/upload/": _UPLOAD,
    "/upload/auth_info/": _AUTH_INFO,
    "/api/symbols-ranges": _symbfile("A part of the ranges of an executable"),
    "/api/symbols-returnpads": _symbfile("A part of its return pads"),
    "/symbolicate/arrow": _ARROW,
    "/v1development/profiles": _PROFILES,
    "/buildid/{build_id}/{kind}": _file(
        "A file by build id: gsym, json, debuginfo or executable", "build_id", "kind"
    ),
    "/buildid/{build_id}/section/{name}": _file(
        "A section of the debug file or the executable", "build_id", "name"
    ),
    "/buildid/{build_id}/source/{path}": _file(
        "A source file that the module refers to", "build_id", "path"
    ),
    "/metadata": _METADATA,
    "/{name}/{module_id}/{file}": _file(
        "A file in the layout of Breakpad's stores", "name", "module_id", "file"
    ),
    "/{first}/{second}/{file_id}/{file}": _file(
        "A symbfile for devfiler: metadata.json, ranges or returnpads",
        *("first", "second", "file_id", "file"),
    ),
    "/__heartbeat__": _get("The server is running"),
    "/__lbheartbeat__": _get("The server is running"),
    "/__version__": _get("Version of the server", _JSON),
    "/metrics": _get("Metrics for Prometheus", "text/plain"),
    "/openapi.json": _get("This document", _JSON),
}


def openapi_document(paths: Iterable[str], root_path: str = "") -> dict[str, Any]:
    """The OpenAPI document.

    Args:
        paths: Paths of the enabled endpoints; undocumented ones are omitted.
        root_path: Path prefix of a proxy.
    """
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
            "schemas": SCHEMAS,
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
        return Response(msgspec.json.encode(text), media_type=_JSON)

    return [Route("/openapi.json", document, methods=["GET"])]
