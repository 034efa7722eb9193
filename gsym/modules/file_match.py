"""Whether a file is of a module, and which slice of it."""

from __future__ import annotations

import os
from stat import S_ISREG

from gsym.containers.recognition import recognise_file
from gsym.conversion.module_file import modules_in
from gsym.errors import FormatError, GsymError, reason_of
from gsym.modules.key import (
    NAME_ALONE,
    OTHER,
    OUTCOMES,
    PART,
    SAME,
    UNKNOWN,
    Comparison,
    ModuleKey,
    compare,
    has_id,
)
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable


class FileMatch(NamedTuple):
    """Result of comparing a file with a module."""

    refusal: str = ""  # why it is not used for it; "" if it is
    unsure: str = ""  # why it may be of another build; "" if it is not
    key: ModuleKey = ModuleKey()  # what the file says of itself
    # the slice of a fat file; None of another file, or if more than one fits
    architecture: str | None = None


def match_file(
    path: str,
    wanted: ModuleKey,
    compare_code: Callable[[str], Comparison] | None = None,
    *,
    is_named_by_id: bool = False,
) -> FileMatch:
    """Compare the file at *path* with a module.

    It must be a regular one, since those of /proc may block. *compare_code* compares
    the code of the file with that of the module in memory.
    """
    try:
        status = os.stat(path)
        if not S_ISREG(status.st_mode) or not status.st_size:
            return FileMatch("not a regular file with contents")
        comparison, key, architecture = _best_module(path, wanted)
        if is_named_by_id and not key.code_id and recognise_file(path) == "object":
            comparison = Comparison(UNKNOWN)
    except OSError as error:
        return FileMatch(reason_of(error))
    except (GsymError, ValueError) as error:
        if has_id(wanted):
            return FileMatch(str(error))
        comparison, key, architecture = Comparison(UNKNOWN), ModuleKey(), None
    if compare_code is not None and not comparison.is_refused:
        comparison = _with_code(comparison, compare_code(path))
    outcome, reason = comparison.outcome, comparison.reason
    needs_id = has_id(wanted) and not is_named_by_id
    if outcome == OTHER or (outcome == UNKNOWN and needs_id):
        return FileMatch(reason, key=key)
    if outcome == UNKNOWN:
        reason = NAME_ALONE
    return FileMatch("", "" if outcome == SAME else reason, key, architecture)


def _best_module(
    path: str, wanted: ModuleKey
) -> tuple[Comparison, ModuleKey, str | None]:
    """Module in a file that fits best."""
    candidates = [
        (compare(wanted, each.identity), each.identity, each.architecture)
        for each in modules_in(path, wanted, with_code=bool(wanted.code_hash))
    ]
    if not candidates:
        raise FormatError("no module in it", path=path)
    outcomes = {each[0].outcome for each in candidates}
    best = next(filter(outcomes.__contains__, OUTCOMES))
    equal = [each for each in candidates if each[0].outcome == best]
    chosen = [each for each in equal if each[1].architecture == wanted.architecture]
    for found in equal, chosen:
        if len(found) == 1:
            return found[0]
    return equal[0][0], ModuleKey(), None


def _with_code(ids: Comparison, code: Comparison) -> Comparison:
    """The result for a file whose ids and whose code were compared."""
    if code.outcome == OTHER and ids.outcome == SAME:
        # A hook or a breakpoint changes code, too.
        return Comparison(PART, f"its id fits, but {code.reason}")
    if code.outcome in {OTHER, SAME}:
        return code
    if code.outcome == PART and ids.outcome == UNKNOWN:
        return Comparison(PART, f"{NAME_ALONE}, but {code.reason}")
    return ids
