"""Turn debug information into GSYM files and look addresses up in them.

The names below are loaded when they are first used, so that `import gsym` costs
next to nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.breakpad_export import ExportReport, export_breakpad
    from gsym.client.answers import JobAnswer, StackFrame
    from gsym.client.remote_symbolizer import RemoteSymbolizer
    from gsym.client.settings import ClientSettings
    from gsym.client.symbolication_client import SymbolicationClient
    from gsym.conversion import convert, convert_members, convert_slices
    from gsym.conversion_report import ConversionReport
    from gsym.creator import Creator
    from gsym.demangling import demangle
    from gsym.embedding.transfer import EmbeddingReport, embed, extract
    from gsym.errors import (
        ArchitectureError,
        CancelledError,
        ClosedError,
        EmptyError,
        FormatError,
        GsymError,
        LimitError,
        MemberError,
        MissingDebugInfoError,
        ServerError,
        UnsupportedError,
        UuidMismatchError,
    )
    from gsym.file_id import FileId
    from gsym.frames import Frames
    from gsym.markup_filter.filter import MarkupFilter
    from gsym.merging import MergeReport, merge_files
    from gsym.model import (
        CallSite,
        Frame,
        FunctionInfo,
        FunctionRange,
        Header,
        InlineInfo,
        LineEntry,
        Lookup,
        Range,
    )
    from gsym.module_identity import ModuleIdentity, identify
    from gsym.reader import Reader, open
    from gsym.store.adding import add_file
    from gsym.store.directory import Store
    from gsym.store.module_key import ModuleKey, key_of_build_id, key_of_debug_id
    from gsym.store.resolver import Resolver
    from gsym.store.source_settings import open_source
    from gsym.symbolizer import Symbolizer
    from gsym.trace.tracer import Tracer

_MODULE_OF = {
    "ArchitectureError": "errors",
    "CallSite": "model",
    "CancelledError": "errors",
    "ClientSettings": "client.settings",
    "ClosedError": "errors",
    "ConversionReport": "conversion_report",
    "Creator": "creator",
    "EmbeddingReport": "embedding.transfer",
    "EmptyError": "errors",
    "ExportReport": "breakpad_export",
    "FileId": "file_id",
    "FormatError": "errors",
    "Frame": "model",
    "Frames": "frames",
    "FunctionInfo": "model",
    "FunctionRange": "model",
    "GsymError": "errors",
    "Header": "model",
    "InlineInfo": "model",
    "JobAnswer": "client.answers",
    "LimitError": "errors",
    "LineEntry": "model",
    "Lookup": "model",
    "MarkupFilter": "markup_filter.filter",
    "MemberError": "errors",
    "MergeReport": "merging",
    "MissingDebugInfoError": "errors",
    "ModuleIdentity": "module_identity",
    "ModuleKey": "store.module_key",
    "Range": "model",
    "Reader": "reader",
    "RemoteSymbolizer": "client.remote_symbolizer",
    "Resolver": "store.resolver",
    "ServerError": "errors",
    "StackFrame": "client.answers",
    "Store": "store.directory",
    "SymbolicationClient": "client.symbolication_client",
    "Symbolizer": "symbolizer",
    "Tracer": "trace.tracer",
    "UnsupportedError": "errors",
    "UuidMismatchError": "errors",
    "add_file": "store.adding",
    "convert": "conversion",
    "convert_members": "conversion",
    "convert_slices": "conversion",
    "demangle": "demangling",
    "embed": "embedding.transfer",
    "export_breakpad": "breakpad_export",
    "extract": "embedding.transfer",
    "identify": "module_identity",
    "key_of_build_id": "store.module_key",
    "key_of_debug_id": "store.module_key",
    "merge_files": "merging",
    "open": "reader",
    "open_source": "store.source_settings",
}

__all__ = [
    "ArchitectureError",
    "CallSite",
    "CancelledError",
    "ClientSettings",
    "ClosedError",
    "ConversionReport",
    "Creator",
    "EmbeddingReport",
    "EmptyError",
    "ExportReport",
    "FileId",
    "FormatError",
    "Frame",
    "Frames",
    "FunctionInfo",
    "FunctionRange",
    "GsymError",
    "Header",
    "InlineInfo",
    "JobAnswer",
    "LimitError",
    "LineEntry",
    "Lookup",
    "MarkupFilter",
    "MemberError",
    "MergeReport",
    "MissingDebugInfoError",
    "ModuleIdentity",
    "ModuleKey",
    "Range",
    "Reader",
    "RemoteSymbolizer",
    "Resolver",
    "ServerError",
    "StackFrame",
    "Store",
    "SymbolicationClient",
    "Symbolizer",
    "Tracer",
    "UnsupportedError",
    "UuidMismatchError",
    "add_file",
    "convert",
    "convert_members",
    "convert_slices",
    "demangle",
    "embed",
    "export_breakpad",
    "extract",
    "identify",
    "key_of_build_id",
    "key_of_debug_id",
    "merge_files",
    "open",
    "open_source",
]


def __getattr__(name: str) -> object:
    module_name = _MODULE_OF.get(name)
    if module_name is None:
        raise AttributeError(f"module 'gsym' has no attribute {name!r}")
    module = __import__(f"gsym.{module_name}", fromlist=(name,))
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
