"""A file with a profile of any format -> `Profile`; its contents tell the format.

Source of the protobuf formats' first fields: `gsym.trace.profiles.pprof`,
`gsym.trace.profiles.otlp`.
"""

from __future__ import annotations

import os
from itertools import islice

from gsym.errors import FormatError
from gsym.records import NamedTuple
from gsym.trace.fxt.decoder import MAGICS
from gsym.trace.fxt.reader import is_trace
from gsym.trace.profiles.address_list_input import is_address_list, read_addresses
from gsym.trace.profiles.input_bytes import MOST_BYTES, read_inflated, read_pieces
from gsym.trace.profiles.perf_script import is_perf_script
from gsym.trace.profiles.protobuf import LENGTH_DELIMITED, VARINT, each_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gsym.trace.profiles.model import Profile


class ProfileOptions(NamedTuple):
    """What a caller can say of a profile; each format takes what it has use for.

    Attributes:
        build_ids: Of modules by their paths: perf script, addresses.
        keep_symbols: See `read_perf_script`.
        return_addresses: Addresses of callers, or all of a list, are where calls
            return to: pprof, addresses.
        build_id: Of the module of addresses without one: addresses.
        module: Its path: addresses.
        most_bytes: How large the file may be, inflated; None: as large as the
            format's own limit.
    """

    build_ids: Mapping[str, str] | None = None
    keep_symbols: bool = True
    return_addresses: bool = False
    build_id: str = ""
    module: str = ""
    most_bytes: int | None = None


_LINES_LOOKED_AT = 256
_FIELDS_LOOKED_AT = 1 << 16
_FIRST = 1  # the number of the types of values in pprof, of resources in OTLP
_LAST_OF_OTLP = 2
# Of the fields of pprof, which has those of OTLP among them.
_WIRE_TYPES = {
    **dict.fromkeys((1, 2, 3, 4, 5, 6, 11), (LENGTH_DELIMITED,)),
    **dict.fromkeys((7, 8, 9, 10, 12, 14, 15), (VARINT,)),
    13: (VARINT, LENGTH_DELIMITED),
}


def read_profile(
    path: str | os.PathLike[str], options: ProfileOptions | None = None
) -> Profile:
    """The profile in a file, whatever its format is.

    Args:
        path: A regular file, compressed by gzip or zstd, or not.
        options: What the caller knows of it.

    Raises:
        FormatError: It is of no known format, or damaged.
        OSError: It cannot be read.
        UnsupportedError: It is of a layout that is not read, or needs a library that is
            not installed.
    """
    name = os.fspath(path)
    kind = profile_kind(name)
    if not kind:
        known = ", ".join(KINDS)
        reason = f"this is no profile of a known format ({known})"
        raise FormatError(reason, path=name, offset=0)
    return _READERS[kind](name, options or ProfileOptions())


def profile_kind(path: str | os.PathLike[str]) -> str:
    """The format of a file, one of `KINDS`; "" for an unknown one.

    Raises:
        FormatError: It is empty or no regular file, or what is compressed is damaged.
        OSError: It cannot be read.
    """
    name = os.fspath(path)
    pieces = read_pieces(name)
    head = next(pieces, b"")
    if head.startswith(MAGICS):
        return "fxt"  # which is read as far as it makes sense
    is_whole = next(pieces, None) is None
    lines = head.decode("utf-8", "replace").split("\n")
    first_lines = list(islice(lines, _LINES_LOOKED_AT))
    if is_perf_script(first_lines):
        return "perf script"
    if is_address_list(first_lines):
        return "addresses"
    kind = _message_kind(head, is_whole=is_whole) or ("fxt" if is_trace(head) else "")
    if kind or is_whole or b"\0" not in head:
        return kind
    return _message_kind(read_inflated(name)[0], is_whole=True)


def _message_kind(data: bytes, *, is_whole: bool) -> str:
    """Which protobuf message begins so; "" where it is none, or that is not certain."""
    is_pprof = False
    try:
        for number, field in enumerate(each_field(data)):
            if number == _FIELDS_LOOKED_AT:
                return "pprof"  # the other one has not as many that say nothing
            if field.wire_type not in _WIRE_TYPES.get(field.number, ()):
                return ""
            if field.number == _FIRST and field.content < field.end:
                # A type of values has numbers in it, a resource has messages.
                inside = data[field.content] & 7
                return {VARINT: "pprof", LENGTH_DELIMITED: "otlp"}.get(inside, "")
            is_pprof |= field.number > _LAST_OF_OTLP
    except FormatError:
        return ""
    if not is_whole:
        return ""
    return "pprof" if is_pprof else "otlp"


def _read_pprof(path: str, options: ProfileOptions) -> Profile:
    from gsym.trace.profiles.pprof_input import read_pprof

    return read_pprof(
        path,
        return_addresses=options.return_addresses,
        most_bytes=options.most_bytes or MOST_BYTES,
    )


def _read_otlp(path: str, options: ProfileOptions) -> Profile:
    from gsym.trace.profiles.otlp_input import read_otlp

    return read_otlp(path, most_bytes=options.most_bytes or MOST_BYTES)


def _read_perf_script(path: str, options: ProfileOptions) -> Profile:
    from gsym.trace.profiles.perf_script_input import MOST_TEXT_BYTES, read_perf_script

    return read_perf_script(
        path,
        build_ids=options.build_ids,
        keep_symbols=options.keep_symbols,
        most_bytes=options.most_bytes or MOST_TEXT_BYTES,
    )


def _read_addresses(path: str, options: ProfileOptions) -> Profile:
    return read_addresses(
        path,
        build_id=options.build_id,
        module=options.module,
        build_ids=options.build_ids,
        return_addresses=options.return_addresses,
        most_bytes=options.most_bytes or MOST_BYTES,
    )


def _read_fxt(path: str, _options: ProfileOptions) -> Profile:
    from gsym.trace.fxt.reader import open_trace
    from gsym.trace.profiles.fxt_samples import PROFILER_KINDS, read_fxt_samples

    trace = open_trace(path, kinds=PROFILER_KINDS)
    profile = read_fxt_samples(trace)
    if trace.problems:
        profile.losses["places of the trace that are damaged"] = len(trace.problems)
    return profile


_READERS: dict[str, Callable[[str, ProfileOptions], Profile]] = {
    "pprof": _read_pprof,
    "otlp": _read_otlp,
    "perf script": _read_perf_script,
    "addresses": _read_addresses,
    "fxt": _read_fxt,
}
KINDS = tuple(_READERS)
"""The formats that are read, by the names that `profile_kind` gives them."""
