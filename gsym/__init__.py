"""Turn debug information into GSYM files and look addresses up in them.

The names below are loaded when they are first used, so that `import gsym` costs
next to nothing.
"""

from __future__ import annotations

import sys

__version__ = "0.1.0"

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.api.client.async_client import (
        AsyncSymbolicationClient as AsyncSymbolicationClient,
    )
    from gsym.api.client.jobs import (
        JobAnswer as JobAnswer,
        StackFrame as StackFrame,
    )
    from gsym.api.client.remote_symbolizer import (
        RemoteSymbolizer as RemoteSymbolizer,
    )
    from gsym.api.client.symbfile_client import SymbfileClient as SymbfileClient
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
    from gsym.memory.report_modules import ReportModules as ReportModules
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
    from gsym.reports.log_stacks import LogStacks as LogStacks
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

    __all__: list[str]


def import_module(name: str) -> Any:
    """The module of this name, as from `importlib`, which imports `warnings`."""
    __import__(name)
    return sys.modules[name]


def lazy_names(
    package: str, modules: dict[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """The `__all__`, `__getattr__`, `__dir__` of a package whose names load modules.

    Args:
        package: Its name.
        modules: The public names in each of its modules, with blanks between them.
    """
    module_of = {
        name: each for each, names in modules.items() for name in names.split()
    }
    public = sorted(module_of)

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{module_of[name]}")
        if "typing" in sys.modules:  # else nobody reads hints
            from gsym.hints import provide_hints

            provide_hints(module)
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return public, load, lambda: public


if not TYPE_CHECKING:  # for type checkers, a name that is not above is an error
    __all__, __getattr__, _ = lazy_names(
        __name__,
        {
            "api.client.async_client": "AsyncSymbolicationClient",
            "api.client.jobs": "JobAnswer StackFrame",
            "api.client.remote_symbolizer": "RemoteSymbolizer",
            "api.client.symbfile_client": "SymbfileClient",
            "api.client.symbolication_client": "ClientSettings SymbolicationClient",
            "conversion.export": "ExportReport export_breakpad",
            "conversion.identity": "identify",
            "conversion.job": "convert convert_members convert_slices",
            "conversion.many": "Conversion convert_many",
            "conversion.merging": "MergeReport merge_files",
            "conversion.report": "ConversionReport",
            "embedding.transfer": "EmbeddingReport embed extract",
            "engine.demangling": "demangle",
            "errors": (
                "AmbiguousModuleError ArchitectureError CancelledError ClosedError "
                "EmptyError FormatError GsymError LimitError MemberError ServerError "
                "SourceError UnsupportedError UuidMismatchError"
            ),
            "fxt.tracer": "Tracer",
            "markup.filter": "MarkupFilter",
            "memory.kernel": "Kernel",
            "memory.loaded": "ModuleAddress",
            "memory.process": "Process",
            "memory.report_modules": "ReportModules",
            "model": (
                "CallSite Frame FunctionInfo FunctionRange Header InlineInfo "
                "LineEntry Lookup Range"
            ),
            "modules.binary_lookup": "lookup open",
            "modules.key": "ModuleKey key_of_build_id key_of_debug_id",
            "modules.resolver": "Resolver",
            "modules.symbolizer": "Symbolizer",
            "reading.frames": "Frames",
            "reading.reader": "Reader",
            "reports.log_stacks": "LogStacks",
            "reports.report": "Report ReportFrame ReportModule ReportThread",
            "reports.symbolicate": "symbolicate",
            "store.adding": "add_file",
            "store.bucket": "BucketStore",
            "store.directory": "Store",
            "store.sources.settings": "open_source",
            "symbfile.file_id": "FileId",
            "writing.creator": "Creator",
        },
    )

    def __dir__() -> list[str]:
        return [*__all__, "__version__"]
