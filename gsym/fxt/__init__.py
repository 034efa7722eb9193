"""The Fuchsia trace format."""

from __future__ import annotations

from gsym import lazy_names

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.fxt.decoder import (
        Decoder as Decoder,
    )
    from gsym.fxt.reader import (
        Trace as Trace,
        open_trace as open_trace,
    )
    from gsym.fxt.records import (
        Argument as Argument,
        Backtrace as Backtrace,
        Blob as Blob,
        ContextSwitch as ContextSwitch,
        Event as Event,
        Initialization as Initialization,
        KernelObject as KernelObject,
        LargeBlob as LargeBlob,
        Log as Log,
        Mmap as Mmap,
        Module as Module,
        ProviderInfo as ProviderInfo,
        Record as Record,
        String as String,
        Thread as Thread,
        ThreadWakeup as ThreadWakeup,
        TraceInfo as TraceInfo,
        UserspaceObject as UserspaceObject,
    )
    from gsym.fxt.tracer import (
        Tracer as Tracer,
    )
    from gsym.fxt.writer import (
        Encoder as Encoder,
        argument_of as argument_of,
        encode as encode,
    )
else:
    _MODULE_OF = {
        "Argument": "records",
        "Backtrace": "records",
        "Blob": "records",
        "ContextSwitch": "records",
        "Decoder": "decoder",
        "Encoder": "writer",
        "Event": "records",
        "Initialization": "records",
        "KernelObject": "records",
        "LargeBlob": "records",
        "Log": "records",
        "Mmap": "records",
        "Module": "records",
        "ProviderInfo": "records",
        "Record": "records",
        "String": "records",
        "Thread": "records",
        "ThreadWakeup": "records",
        "Trace": "reader",
        "TraceInfo": "records",
        "Tracer": "tracer",
        "UserspaceObject": "records",
        "argument_of": "writer",
        "encode": "writer",
        "open_trace": "reader",
    }
    __all__ = [*_MODULE_OF]  # noqa: PLE0604 - they are strings
    __getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
