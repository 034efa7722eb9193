"""The OpenAPI document: its paths and schemas."""

from __future__ import annotations

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from gsym import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from starlette.requests import Request

    from gsym.server.service import Service


_OFFSET = {"type": "string", "pattern": "^-?0x[0-9a-f]+$"}
_PAIR = {"type": "array", "minItems": 2, "maxItems": 2}
_MODULE = {
    **_PAIR,
    "description": "debug file and debug id",
    "items": {"type": "string"},
}
_FRAME = {
    **_PAIR,
    "description": "index of the module, -1 for none, and offset from its base",
    "items": {"type": "integer", "minimum": -1},
}
_STATE = {"type": ["boolean", "null"]}

SCHEMAS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["title"],
        "properties": {"title": {"type": "string"}},
        "additionalProperties": False,
    },
    "Job": {
        "type": "object",
        "required": ["stacks", "memoryMap"],
        "properties": {
            "memoryMap": {"type": "array", "items": _MODULE},
            "stacks": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "array", "items": _FRAME},
            },
        },
    },
    "Jobs": {
        "type": "object",
        "required": ["jobs"],
        "properties": {
            "jobs": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}}
        },
    },
    "Frame": {
        "type": "object",
        "required": ["frame", "module", "module_offset"],
        "properties": {
            "frame": {"type": "integer", "minimum": 0},
            "module": {"type": "string"},
            "module_offset": _OFFSET,
            "function": {"type": "string"},
            "function_offset": _OFFSET,
            "function_size": _OFFSET,
            "file": {"type": "string"},
            "line": {"type": "integer", "minimum": 1},
            "inlines": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["function"],
                    "properties": {
                        "function": {"type": "string"},
                        "file": {"type": "string"},
                        "line": {"type": "integer", "minimum": 1},
                    },
                    "additionalProperties": False,
                },
            },
        },
        "additionalProperties": False,
    },
    "Results": {
        "type": "object",
        "required": ["results"],
        "properties": {
            "results": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["stacks", "found_modules"],
                    "properties": {
                        "stacks": {
                            "type": "array",
                            "items": {
                                "type": "array",
                                "items": {"$ref": "#/components/schemas/Frame"},
                            },
                        },
                        "found_modules": {
                            "type": "object",
                            "additionalProperties": _STATE,
                        },
                        "module_errors": {"type": "object"},
                    },
                    "additionalProperties": False,
                },
            },
            "debug": {"type": "object"},
        },
        "additionalProperties": False,
    },
    "Calls": {
        "type": "object",
        "required": ["symbolicatedStacks", "knownModules"],
        "properties": {
            "symbolicatedStacks": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "string"}},
            },
            "knownModules": {"type": "array", "items": _STATE},
        },
        "additionalProperties": False,
    },
}

_NUMBER = {"type": "string", "pattern": "^0x[0-9a-fA-F]{1,16}$"}
_TEXT = {"type": "string"}
_DEBUG_ID = {"type": "string", "pattern": "^[0-9A-F]{33}$"}
SCHEMAS |= {
    "SourceFile": {
        "type": "object",
        "required": ["debugName", "debugId", "moduleOffset", "file"],
        "properties": {
            "debugName": _TEXT,
            "debugId": _DEBUG_ID,
            "moduleOffset": _NUMBER,
            "file": _TEXT,
        },
    },
    "Source": {
        "type": "object",
        "required": ["symbolsLastModified", "sourceLastModified", "file", "source"],
        "properties": {"file": _TEXT, "source": _TEXT},
    },
    "Code": {
        "type": "object",
        "required": ["startAddress", "size", "debugId"],
        "properties": {
            "startAddress": _NUMBER,
            "size": _NUMBER,
            "name": {"type": ["string", "null"]},
            "codeId": {"type": ["string", "null"]},
            "debugName": {"type": ["string", "null"]},
            "debugId": _DEBUG_ID,
            "continueUntilFunctionEnd": {"type": "boolean"},
        },
    },
    "Assembly": {
        "type": "object",
        "required": ["startAddress", "size", "arch", "syntax", "instructions"],
        "properties": {
            "startAddress": _NUMBER,
            "size": _NUMBER,
            "arch": _TEXT,
            "syntax": {"type": "array", "items": _TEXT},
            "instructions": {"type": "array", "items": {"type": "array"}},
        },
    },
}

SCHEMAS |= {
    "Taken": {
        "type": "object",
        "required": ["success", "status"],
        "properties": {"success": {"const": True}, "status": {"const": 200}},
        "additionalProperties": False,
    },
    "Refused": {
        "type": "object",
        "required": ["success", "uuid", "error", "status"],
        "properties": {
            "success": {"const": False},
            "uuid": {"type": "string", "format": "uuid"},
            "error": {
                "type": "object",
                "required": ["Code", "Text"],
                "properties": {"Code": _TEXT, "Text": _TEXT},
                "additionalProperties": False,
            },
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
        },
        "additionalProperties": False,
    },
}


_JSON = "application/json"


def _schema(*names: str) -> dict[str, Any]:
    found = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {_JSON: {"schema": schema}}}


def _symbolication(summary: str, asked: dict[str, Any], answer: str) -> dict[str, Any]:
    error = _content(_schema("Error"))
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, **_content(asked)},
            "responses": {
                "200": {"description": "Answered", **_content(_schema(answer))},
                "400": {"description": "The request is not sound", **error},
                "413": {"description": "The request asks for too much", **error},
                "default": {"description": "Not answered", **error},
            },
        }
    }


def _file(summary: str, *names: str) -> dict[str, Any]:
    error = _content(_schema("Error"))
    return {
        "get": {
            "summary": summary,
            "parameters": [
                {
                    "name": name,
                    "in": "path",
                    "required": True,
                    "schema": {"type": "string", "minLength": 1},
                }
                for name in names
            ],
            "responses": {
                "200": {"description": "The file", "content": {"*/*": {}}},
                "302": {"description": "The same by debug file and debug id"},
                "404": {"description": "There is none", **error},
                "default": {"description": "Not answered", **error},
            },
        }
    }


def _extension(summary: str, asked: str, answer: str) -> dict[str, Any]:
    found = _symbolication(summary, _schema(asked), answer)
    found["post"]["responses"]["404"] = {
        "description": "There is no such thing",
        **_content(_schema("Error")),
    }
    return found


_UPLOAD: dict[str, Any] = {
    "post": {
        "summary": "Put debug information into the store",
        "security": [{"token": []}],
        "parameters": [
            {
                "name": "name",
                "in": "query",
                "description": "what a single file is called",
                "schema": {"type": "string"},
            }
        ],
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "properties": {
                            "url": {"type": "string"},
                            "symbols": {"type": "string", "format": "binary"},
                        },
                    }
                },
                "application/octet-stream": {},
            },
        },
        "responses": {
            "201": {
                "description": "It is in the store",
                **_content({"type": "object", "required": ["upload"]}),
            },
            "default": {
                "description": "Refused",
                **_content(_schema("Error")),
            },
        },
    }
}


def _header(name: str, about: str, kind: str, *, is_needed: bool) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "description": about,
        "required": is_needed,
        "schema": {"type": kind},
    }


def _symbfile(summary: str) -> dict[str, Any]:
    operation = {
        "summary": summary,
        "security": [{"apiKey": []}],
        "parameters": [
            _header(*("FileID", "of the executable", "string"), is_needed=True),
            _header(*("FilePart", "number, from 0", "integer"), is_needed=True),
            _header(*("FileParts", "how many", "integer"), is_needed=False),
        ],
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {}},
        },
        "responses": {
            "200": {"description": "The part is there", **_content(_schema("Taken"))},
            "default": {
                "description": "Refused",
                **_content(_schema("Refused", "Error")),
            },
        },
    }
    return {"post": operation, "put": operation}


def _get(summary: str, media_type: str | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": summary}
    if media_type is not None:
        answer["content"] = {media_type: {}}
    return {"get": {"summary": summary, "responses": {"200": answer}}}


_PATHS: dict[str, Any] = {
    "/symbolicate/v5": _symbolication(
        "Symbolicate stacks", _schema("Jobs", "Job"), "Results"
    ),
    "/symbolicate/v4": _symbolication(
        "Symbolicate the stacks of one job", _schema("Job"), "Calls"
    ),
    "/source/v1": _extension("A source file", "SourceFile", "Source"),
    "/asm/v1": _extension("Code as text", "Code", "Assembly"),
    "/upload/": _UPLOAD,
    "/api/symbols-ranges": _symbfile("A part of the ranges of an executable"),
    "/api/symbols-returnpads": _symbfile("A part of its return pads"),
    "/buildid/{build_id}/{kind}": _file(
        "A file by build id: gsym, json, debuginfo or executable", "build_id", "kind"
    ),
    "/{name}/{module_id}/{file}": _file(
        "A file as Breakpad's stores have it", "name", "module_id", "file"
    ),
    "/{first}/{second}/{file_id}/{file}": _file(
        "A symbfile where devfiler asks: metadata.json, ranges or returnpads",
        *("first", "second", "file_id", "file"),
    ),
    "/__heartbeat__": _get("The server lives"),
    "/__lbheartbeat__": _get("The server lives"),
    "/__version__": _get("Which server it is", _JSON),
    "/metrics": _get("Figures for Prometheus", "text/plain"),
    "/openapi.json": _get("This document", _JSON),
}


def openapi_document(paths: Iterable[str], root_path: str = "") -> dict[str, Any]:
    """The document.

    Args:
        paths: Of the endpoints that there are; those that are described are in it.
        root_path: What a proxy has in front of them.
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
