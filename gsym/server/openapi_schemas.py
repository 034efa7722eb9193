"""Bodies of requests and answers as JSON schemas, for the OpenAPI document."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
