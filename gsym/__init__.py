"""Turn debug information into GSYM files and look addresses up in them.

The names below are loaded when they are first used, so that `import gsym` costs
next to nothing.
"""

from __future__ import annotations

import sys

__version__ = "0.1.0"

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.api.client.jobs import (
        JobAnswer as JobAnswer,
        StackFrame as StackFrame,
    )
    from gsym.api.client.remote_symbolizer import (
        RemoteSymbolizer as RemoteSymbolizer,
    )
    from gsym.api.client.symbolication_client import (
        ClientSettings as ClientSettings,
        SymbolicationClient as SymbolicationClient,
    )
    from gsym.conversion.export import (
        ExportReport as ExportReport,
        export_breakpad as export_breakpad,
    )
    from gsym.conversion.identity import identify as identify
    from gsym.conversion.job import (
        convert as convert,
        convert_members as convert_members,
        convert_slices as convert_slices,
    )
    from gsym.conversion.many import (
        Conversion as Conversion,
        convert_many as convert_many,
    )
    from gsym.conversion.merging import (
        MergeReport as MergeReport,
        merge_files as merge_files,
    )
    from gsym.conversion.report import ConversionReport as ConversionReport
    from gsym.embedding.transfer import (
        EmbeddingReport as EmbeddingReport,
        embed as embed,
        extract as extract,
    )
    from gsym.engine.demangling import demangle as demangle
    from gsym.errors import (
        AmbiguousModuleError as AmbiguousModuleError,
        ArchitectureError as ArchitectureError,
        CancelledError as CancelledError,
        ClosedError as ClosedError,
        EmptyError as EmptyError,
        FormatError as FormatError,
        GsymError as GsymError,
        LimitError as LimitError,
        MemberError as MemberError,
        ServerError as ServerError,
        SourceError as SourceError,
        UnsupportedError as UnsupportedError,
        UuidMismatchError as UuidMismatchError,
    )
    from gsym.fxt.tracer import Tracer as Tracer
    from gsym.markup.filter import MarkupFilter as MarkupFilter
    from gsym.memory.kernel import Kernel as Kernel
    from gsym.memory.loaded import ModuleAddress as ModuleAddress
    from gsym.memory.process import Process as Process
    from gsym.model import (
        CallSite as CallSite,
        Frame as Frame,
        FunctionInfo as FunctionInfo,
        FunctionRange as FunctionRange,
        Header as Header,
        InlineInfo as InlineInfo,
        LineEntry as LineEntry,
        Lookup as Lookup,
        Range as Range,
    )
    from gsym.modules.binary_lookup import (
        lookup as lookup,
        open as open,
    )
    from gsym.modules.key import (
        ModuleKey as ModuleKey,
        key_of_build_id as key_of_build_id,
        key_of_debug_id as key_of_debug_id,
    )
    from gsym.modules.resolver import Resolver as Resolver
    from gsym.modules.symbolizer import Symbolizer as Symbolizer
    from gsym.reading.frames import Frames as Frames
    from gsym.reading.reader import Reader as Reader
    from gsym.reports.report import (
        Report as Report,
        ReportFrame as ReportFrame,
        ReportModule as ReportModule,
        ReportThread as ReportThread,
    )
    from gsym.reports.symbolicate import symbolicate as symbolicate
    from gsym.store.adding import add_file as add_file
    from gsym.store.bucket import BucketStore as BucketStore
    from gsym.store.directory import Store as Store
    from gsym.store.sources.settings import open_source as open_source
    from gsym.symbfile.file_id import FileId as FileId
    from gsym.writing.creator import Creator as Creator

_MODULE_OF = {
    "AmbiguousModuleError": "errors",
    "ArchitectureError": "errors",
    "BucketStore": "store.bucket",
    "CallSite": "model",
    "CancelledError": "errors",
    "ClientSettings": "api.client.symbolication_client",
    "ClosedError": "errors",
    "Conversion": "conversion.many",
    "ConversionReport": "conversion.report",
    "Creator": "writing.creator",
    "EmbeddingReport": "embedding.transfer",
    "EmptyError": "errors",
    "ExportReport": "conversion.export",
    "FileId": "symbfile.file_id",
    "FormatError": "errors",
    "Frame": "model",
    "Frames": "reading.frames",
    "FunctionInfo": "model",
    "FunctionRange": "model",
    "GsymError": "errors",
    "Header": "model",
    "InlineInfo": "model",
    "JobAnswer": "api.client.jobs",
    "Kernel": "memory.kernel",
    "LimitError": "errors",
    "LineEntry": "model",
    "Lookup": "model",
    "MarkupFilter": "markup.filter",
    "MemberError": "errors",
    "MergeReport": "conversion.merging",
    "ModuleAddress": "memory.loaded",
    "ModuleKey": "modules.key",
    "Process": "memory.process",
    "Range": "model",
    "Reader": "reading.reader",
    "RemoteSymbolizer": "api.client.remote_symbolizer",
    "Report": "reports.report",
    "ReportFrame": "reports.report",
    "ReportModule": "reports.report",
    "ReportThread": "reports.report",
    "Resolver": "modules.resolver",
    "ServerError": "errors",
    "SourceError": "errors",
    "StackFrame": "api.client.jobs",
    "Store": "store.directory",
    "SymbolicationClient": "api.client.symbolication_client",
    "Symbolizer": "modules.symbolizer",
    "Tracer": "fxt.tracer",
    "UnsupportedError": "errors",
    "UuidMismatchError": "errors",
    "add_file": "store.adding",
    "convert": "conversion.job",
    "convert_many": "conversion.many",
    "convert_members": "conversion.job",
    "convert_slices": "conversion.job",
    "demangle": "engine.demangling",
    "embed": "embedding.transfer",
    "export_breakpad": "conversion.export",
    "extract": "embedding.transfer",
    "identify": "conversion.identity",
    "key_of_build_id": "modules.key",
    "key_of_debug_id": "modules.key",
    "lookup": "modules.binary_lookup",
    "merge_files": "conversion.merging",
    "open": "modules.binary_lookup",
    "open_source": "store.sources.settings",
    "symbolicate": "reports.symbolicate",
}

__all__ = list(_MODULE_OF)


if not TYPE_CHECKING:  # for type checkers, a name that is not above is an error

    def __getattr__(name: str) -> object:
        module_name = _MODULE_OF.get(name)
        if module_name is None:
            raise AttributeError(f"module 'gsym' has no attribute {name!r}")
        module = __import__(f"gsym.{module_name}", fromlist=(name,))
        if "typing" in sys.modules:  # else nobody reads hints
            from gsym.hints import provide_hints

            provide_hints(module)
        value = getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
