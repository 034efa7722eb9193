"""Search for a file that belongs to a binary, with a reason for each that does not."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress

from gsym.containers.fat import slice_if_fat
from gsym.containers.mapped_file import map_file, map_one_of_many
from gsym.containers.object_file import LoadedSection, ObjectFile
from gsym.conversion.identity import key_of_binary
from gsym.errors import GsymError, NotFoundError, SourceError, reason_of
from gsym.modules.key import Attempt, Comparison, ModuleKey, compare, tried_text
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Self


# Sections that only a linker makes: PROGBITS, INIT_ARRAY and FINI_ARRAY.
_KEPT_TYPES = frozenset({1, 14, 15})
_INTERPRETER = ".interp"
_PRELINKED = b".gnu.prelink_undo"
_EXECUTABLE = 4  # SHF_EXECINSTR
NOT_FOUND = "not found"


class SearchNote(str):  # noqa: SLOT000 - it has an attribute
    """A message about files that were not found, or may be others."""

    wanted: tuple[str, ...] = ()  # paths at which they may appear
    is_unsure = False

    def __new__(
        cls, text: str, wanted: Iterable[str] = (), *, is_unsure: bool = False
    ) -> Self:
        """The message *text*; relative paths are left out."""
        note = super().__new__(cls, text)
        note.wanted = tuple(filter(os.path.isabs, wanted))
        note.is_unsure = is_unsure
        return note


class CompanionSearch:
    """Opens candidates; those that do not fit are kept in `tried`.

    There may be *many*, more than a process may have descriptors. Where *aligns* is
    set, they have addresses of the binary, to which they are moved.
    """

    def __init__(
        self, binary: ObjectFile, *, many: bool = False, aligns: bool = True
    ) -> None:
        self.binary = binary
        self._aligns = aligns
        self.tried: list[Attempt] = []
        self._map = map_one_of_many if many else map_file

    def open(
        self, path: str, mismatch: Callable[[ObjectFile], str]
    ) -> Iterator[ObjectFile]:
        """The object file at *path*, if *mismatch* returns no reason against it."""
        try:
            data = slice_if_fat(self._map(path), path, self.binary.architecture)
            candidate = ObjectFile(data, path)
            if is_same_file(path, self.binary.path):
                reason = "is the binary itself"
            elif candidate.architecture != self.binary.architecture:
                reason = f"is for {candidate.architecture}"
            else:
                reason = mismatch(candidate)
            if self._aligns and not reason:
                candidate.align(self.binary)
        except (OSError, GsymError) as error:
            reason = problem_of(error)
        if reason:
            self.refuse(path, reason)
        else:
            yield candidate

    def open_all(
        self, paths: Iterable[str], mismatch: Callable[[ObjectFile], str]
    ) -> Iterator[ObjectFile]:
        """The object files at *paths* that fit."""
        for path in paths:
            yield from self.open(path, mismatch)

    def refuse(self, what: str, reason: str) -> None:
        """Remember why *what* was not taken."""
        self.tried.append(Attempt(what, "refused", reason))

    def note(self, text: str) -> SearchNote:
        """A message about the files that were tried."""
        return SearchNote(text, [each.source for each in self.tried])

    def describe(self) -> str:
        """All that was tried, in one line."""
        return f"tried {tried_text(self.tried)}"


def other_build(candidate: ObjectFile, wanted: ModuleKey) -> str:
    """Reason to doubt that *candidate* is of a build; "" for none."""
    return fault_of(compare(wanted, key_of_binary(candidate)))


def other_sections(candidate: ObjectFile, binary: ObjectFile) -> str:
    """Reason to doubt a debug file whose ids are those of the binary; "" for none.

    Two programs may have one id, such as a fixed `--build-id`. Sections keep their
    headers when debug information is moved to another file. Tools that change a
    finished binary, such as patchelf, move and resize those of the dynamic linker,
    which are not compared.
    """
    own, theirs = _compared_sections(binary), _compared_sections(candidate)
    common = [(each, theirs[name]) for name, each in own.items() if name in theirs]
    for one, other in common:
        is_kept = one.type in _KEPT_TYPES and one.name != _INTERPRETER
        if not is_kept and not one.access & _EXECUTABLE:
            continue
        if one.size != other.size:
            difference = f"has {other.size} bytes, not {one.size}"
        elif one.access != other.access:
            difference = "has other flags"
        else:
            continue
        return f"is of another build: its {one.name} {difference}"
    return "" if binary.is_relocatable else _uneven_move(binary, common)


def _compared_sections(file: ObjectFile) -> dict[str, LoadedSection]:
    """The loaded sections that have a name of their own."""
    sections = list(file.loaded_sections())
    counts = Counter(each.name for each in sections)
    return {each.name: each for each in sections if counts[each.name] == 1}


def _uneven_move(
    binary: ObjectFile, common: Iterable[tuple[LoadedSection, LoadedSection]]
) -> str:
    """Reason to doubt a file whose code was moved, but not with all other sections.

    Only prelink moves them by different distances, as it makes some sections larger.
    """
    placed = [
        (one, one.address - other.address) for one, other in common if one.address
    ]
    code = {distance for one, distance in placed if one.access & _EXECUTABLE}
    if 0 in code or len(code) != 1 or binary.has_section(_PRELINKED):
        return ""
    for one, distance in placed:
        if distance not in code:
            moves = (
                f"its code would have to be moved by {code.pop():#x}, its {one.name}"
            )
            return f"is of another build: {moves} by {distance:#x}"
    return ""


def fetched(target: str, folder: str, fetch: Callable[[str], object]) -> str:
    """Fill a file of a cache, which is complete or absent.

    Args:
        target: The file.
        folder: The place of the file until it is complete.
        fetch: Writes it to a path.

    Returns:
        "" if the file is complete, else the reason, as `NOT_FOUND`, why it is absent.
    """
    temporary = os.path.join(folder, f"{os.urandom(8).hex()}.new")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        fetch(temporary)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        os.replace(temporary, target)
    except NotFoundError:
        return NOT_FOUND
    except SourceError as error:
        return error.reason
    except OSError as error:
        return f"cannot be written to {folder}: {reason_of(error)}"
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return ""


def fault_of(fit: Comparison) -> str:
    """Reason to doubt that a candidate is of the build that is wanted."""
    return f"is of another build: {fit.reason}" if fit.is_refused else fit.reason


def problem_of(error: OSError | GsymError) -> str:
    """Reason why a candidate cannot be read."""
    return "not there" if isinstance(error, FileNotFoundError) else reason_of(error)
