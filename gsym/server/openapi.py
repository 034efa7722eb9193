"""What the server answers, for programs: an OpenAPI document."""

from __future__ import annotations

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from gsym import __version__
from gsym.server.openapi_schemas import SCHEMAS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from starlette.requests import Request

    from gsym.server.service import Service

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
