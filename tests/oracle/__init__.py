"""A second, slow GSYM codec, written from docs/format.md alone.

It shares nothing with the engine, and repeats the numbers of the format on
purpose: the engine is right when both agree. Nothing here is fast or defensive.
"""

from tests.oracle.decode import Cursor, decode_file, decode_function, decode_line_table
from tests.oracle.encode import Encoder, encode_file, encode_line_table
from tests.oracle.index import FunctionIndex, decode_index
from tests.oracle.lookup import (
    Answer,
    Frame,
    NotFoundError,
    answer_text,
    find_entry,
    lookup,
    lookup_merged,
)
from tests.oracle.records import (
    CallSite,
    FunctionInfo,
    GsymFile,
    InlineInfo,
    LineRow,
    OracleError,
)

__all__ = [
    "Answer",
    "CallSite",
    "Cursor",
    "Encoder",
    "Frame",
    "FunctionIndex",
    "FunctionInfo",
    "GsymFile",
    "InlineInfo",
    "LineRow",
    "NotFoundError",
    "OracleError",
    "answer_text",
    "decode_file",
    "decode_function",
    "decode_index",
    "decode_line_table",
    "encode_file",
    "encode_line_table",
    "find_entry",
    "lookup",
    "lookup_merged",
]
