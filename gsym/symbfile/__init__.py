"""symbfiles: read, print, check, compare, extract from debug information."""

from __future__ import annotations

from gsym import lazy_names

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.symbfile.address_index import AddressIndex as AddressIndex
    from gsym.symbfile.calls import find_calls as find_calls
    from gsym.symbfile.columns import (
        Columns as Columns,
        LineTableRow as LineTableRow,
        Range as Range,
        Record as Record,
        ReturnPad as ReturnPad,
        ReturnPadEntry as ReturnPadEntry,
    )
    from gsym.symbfile.extraction import (
        extract as extract,
        symbfile_blocks as symbfile_blocks,
    )
    from gsym.symbfile.format import (
        Counts as Counts,
        Decoder as Decoder,
        Encoder as Encoder,
        decode as decode,
        encode as encode,
        open_symbfile as open_symbfile,
    )
    from gsym.symbfile.to_gsym import convert_symbfiles as convert_symbfiles
    from gsym.symbfile.upload import (
        extract_upload as extract_upload,
        ready_upload as ready_upload,
    )
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "address_index": "AddressIndex",
            "calls": "find_calls",
            "columns": "Columns LineTableRow Range Record ReturnPad ReturnPadEntry",
            "extraction": "extract symbfile_blocks",
            "format": "Counts Decoder Encoder decode encode open_symbfile",
            "to_gsym": "convert_symbfiles",
            "upload": "extract_upload ready_upload",
        },
    )
