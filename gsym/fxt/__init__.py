"""The Fuchsia trace format."""

from __future__ import annotations

from gsym import lazy_names

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.fxt.decoder import Decoder as Decoder
    from gsym.fxt.reader import Trace as Trace, open_trace as open_trace
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
    from gsym.fxt.tracer import Tracer as Tracer
    from gsym.fxt.writer import (
        Encoder as Encoder,
        argument_of as argument_of,
        encode as encode,
    )
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "decoder": "Decoder",
            "reader": "Trace open_trace",
            "records": (
                "Argument Backtrace Blob ContextSwitch Event Initialization "
                "KernelObject LargeBlob Log Mmap Module ProviderInfo Record String "
                "Thread ThreadWakeup TraceInfo UserspaceObject"
            ),
            "tracer": "Tracer",
            "writer": "Encoder argument_of encode",
        },
    )
