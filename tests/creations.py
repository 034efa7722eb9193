"""Files made by the creator for tests, also through what only the engine offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gsym.engine.native import check, ffi, lib, new_error
from gsym.writing.creator import Creator
from tests import oracle
from tests.views import functions_from_oracle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.model import FunctionInfo
    from gsym.writing.creator_handle import CreatorReport


def create(functions: Iterable[FunctionInfo], **options: Any) -> bytes:  # noqa: ANN401
    """A file of *functions*; *options* are those of `Creator`."""
    with Creator(**options) as creator:
        for function in functions:
            creator.add(function)
        return creator.to_bytes()


def decoded(data: bytes) -> list[FunctionInfo]:
    """What the oracle reads in a file."""
    return functions_from_oracle(oracle.decode_file(data))


def handle_of(creator: Creator) -> Any:  # noqa: ANN401
    """The engine's creator: symbols of a symbol table have no way in from Python."""
    return creator._handle  # noqa: SLF001


def finish(creator: Creator) -> None:
    """Lay the file out, and read nothing of it."""
    report, error = ffi.new("gsym_creator_report *"), new_error()
    check(lib.gsym_creator_finish(handle_of(creator), report, error), error)


def add_symbol(creator: Creator, symbol: FunctionInfo) -> None:
    """Add address, size and name as a symbol table has them."""
    handle, error = handle_of(creator), new_error()
    strp, raw = ffi.new("uint64_t *"), symbol.name.encode()
    check(lib.gsym_creator_add_string(handle, raw, len(raw), strp, error), error)
    function = ffi.new("gsym_function *")
    function.address, function.size = symbol.start, symbol.size
    function.name = strp[0]
    origin = lib.GSYM_ORIGIN_SYMBOL_TABLE
    check(lib.gsym_creator_add_function(handle, function, origin, error), error)


def merge(creator: Creator) -> None:
    """Fold equal ranges of the functions added so far."""
    error = new_error()
    check(lib.gsym_creator_merge_functions(handle_of(creator), error), error)


class Kept(NamedTuple):
    functions: list[FunctionInfo]
    report: CreatorReport


def keep(
    functions: Iterable[FunctionInfo],
    symbols: Iterable[FunctionInfo] = (),
    *,
    is_merging: bool = False,
    **options: Any,  # noqa: ANN401
) -> Kept:
    """The remaining functions and symbols, without entries that continue others."""
    with Creator(**options) as creator:
        for function in functions:
            creator.add(function)
        if is_merging:
            merge(creator)
        for symbol in symbols:
            add_symbol(creator, symbol)
        left: list[FunctionInfo] = []
        widest: dict[str, FunctionInfo] = {}  # of the functions of a name so far
        for info in decoded(creator.to_bytes()):
            if not _continues(info, widest.setdefault(info.name, info)):
                left.append(info)
                widest[info.name] = max(widest[info.name], info, key=_end)
        assert creator.report is not None
        return Kept(left, creator.report)


def _continues(info: FunctionInfo, outer: FunctionInfo) -> bool:
    return outer.start < info.start and _end(info) <= _end(outer)


def _end(info: FunctionInfo) -> int:
    return info.start + info.size
