"""A file goes into a store: identified, converted, checked, published."""

from __future__ import annotations

import os
from contextlib import contextmanager

import gsym.reading.reader
from gsym.conversion.identity import ModuleIdentity
from gsym.conversion.job import convert
from gsym.errors import (
    ArchitectureError,
    FormatError,
    GsymError,
    UnsupportedError,
    UuidMismatchError,
)
from gsym.store.archives import MOST_INFLATED, bare_name, inflate_file
from gsym.store.layout import checked_identity
from gsym.store.module_file import modules_in
from gsym.store.modules import Quality

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.conversion.report import ConversionReport
    from gsym.store.directory import Store
    from gsym.store.module_file import ModuleFile
    from gsym.store.modules import ModuleKey
    from gsym.store.publication import Publication
    from gsym.writing.creator import CreatorReport

_LONGEST_UUID = 20  # bytes, in a GSYM file of version 1
_GUID_SIZE = 16
# They have no symbol table; a GSYM file has variables already, or never.
_WITHOUT_SYMBOLS = frozenset({"breakpad", "gsym"})


def add_file(  # noqa: PLR0913 - keywords, each a choice of its own
    store: Store,
    path: str | os.PathLike[str],
    *,
    key: ModuleKey | None = None,
    identity: ModuleIdentity | None = None,
    source: str = "",
    keep_original: bool = False,
    most_inflated: int = MOST_INFLATED,
    **options: Any,
) -> Publication:
    """Put the module of a file into a store.

    Args:
        store: The store.
        path: Anything that `gsym.convert` takes and that is a module; gzip, zstd and xz
            are inflated.
        key: The module that it has to be; it is found by the names in it as well. Of
            a fat file it chooses the slice.
        identity: What is known better than the file tells: fields that are not "".
        source: Where the file is from; by default its path.
        keep_original: Keep a copy of the file, inflated, with the module.
        most_inflated: Bytes that a compressed file may hold.
        options: Keywords of `gsym.convert`. An *architecture* chooses a slice;
            *data_symbols* is for object files only.

    Raises:
        ArchitectureError: It is a fat file, of which nothing chooses a slice.
        FormatError: It is no such file, or damaged, or has no debug id.
        GsymError: It cannot be converted, for another reason.
        LimitError: It holds more than *most_inflated*.
        UnsupportedError: It is of a kind that is not read, or no module.
        UuidMismatchError: It is another module than *key* says.
        OSError: It cannot be read, or the store not be written to.
    """
    place = os.fspath(path)
    known = identity or ModuleIdentity()
    with _identified(
        *(store, place, place), known=known, key=key, most_inflated=most_inflated
    ) as file:
        architecture = options.pop("architecture", None)
        module = _choose(file.modules, key, architecture, place)
        return _add_module(
            *(store, file, module),
            key=key,
            known=known,
            source=source or place,
            keep_original=keep_original,
            **options,
        )


def add_all(  # noqa: PLR0913 - keywords, each a choice of its own
    store: Store,
    path: str,
    *,
    label: str = "",
    identity: ModuleIdentity | None = None,
    source: str = "",
    keep_original: bool = False,
    most_inflated: int = MOST_INFLATED,
    **options: Any,
) -> Iterator[Publication | GsymError]:
    """Put all modules of a file into a store: those of all slices of a fat one.

    Args:
        store: The store.
        path: As for `add_file`.
        label: What errors and the store call the file; by default its path.
        identity: As for `add_file`.
        source: As for `add_file`.
        keep_original: As for `add_file`.
        most_inflated: As for `add_file`.
        options: As for `add_file`.

    Returns:
        What became of each module, or why it was refused.

    Raises:
        GsymError: The whole file is refused.
        OSError: As for `add_file`.
    """
    known, label = identity or ModuleIdentity(), label or path
    with _identified(
        *(store, path, label), known=known, key=None, most_inflated=most_inflated
    ) as file:
        for module in file.modules:
            yield _result(
                *(store, file, module),
                key=None,
                known=known,
                source=source or label,
                keep_original=keep_original,
                **options,
            )


class _IdentifiedFile:
    """A file on its way into a store.

    Attributes:
        path: Where it was.
        folder: For what is made of it, in the store; what was inflated is there, too.
        modules: What is in it.
    """

    def __init__(self, path: str, folder: str, modules: tuple[ModuleFile, ...]) -> None:
        self.path = path
        self.folder = folder
        self.modules = modules


@contextmanager
def _identified(  # noqa: PLR0913 - what is known of a file
    store: Store,
    path: str,
    label: str,
    *,
    known: ModuleIdentity,
    key: ModuleKey | None,
    most_inflated: int,
) -> Iterator[_IdentifiedFile]:
    """Find out what a file holds; errors name it by *label* meanwhile."""
    with store.temporary_folder() as folder:
        file = path
        try:
            file = inflate_file(path, folder, most_inflated)
            debug_id = known.debug_id or (key.debug_id if key else "")
            modules = modules_in(file, known._replace(debug_id=debug_id))
            yield _IdentifiedFile(path, folder, modules)
        except GsymError as error:
            if error.path is not None and error.path.startswith(file):
                error.path = label
            raise


def _result(*module: Any, **options: Any) -> Publication | GsymError:
    """What `_add_module` answers or raises."""
    try:
        return _add_module(*module, **options)
    except GsymError as error:
        return error


def _add_module(  # noqa: PLR0913 - keywords, each a choice of its own
    store: Store,
    file: _IdentifiedFile,
    module: ModuleFile,
    *,
    key: ModuleKey | None,
    known: ModuleIdentity,
    source: str,
    keep_original: bool,
    **options: Any,
) -> Publication:
    """Convert, check and publish one module."""
    named = _complete(module, file.path, known, key)
    _require(named, module.uuid, key, file.path)
    output = os.path.join(file.folder, "converted.gsym")
    if len(module.uuid) > _LONGEST_UUID:
        options.setdefault("uuid", module.uuid[:_LONGEST_UUID])
    if module.kind in _WITHOUT_SYMBOLS:
        options.pop("data_symbols", None)
    report = convert(module.path, output, arch=module.architecture, **options)
    _check(output, report, module)
    originals = {}
    if keep_original and module.kind != "gsym":
        kind = "sym" if module.kind == "breakpad" else "debuginfo"
        originals[kind] = _original(module, file.folder)
    return store.publish(
        output,
        named,
        uuid=module.uuid,
        quality=quality_of(report),
        source=source,
        originals=originals,
        key=key,
        missing=report.notes,
    )


def _choose(
    modules: tuple[ModuleFile, ...],
    key: ModuleKey | None,
    architecture: str | None,
    path: str,
) -> ModuleFile:
    """The one module that is meant."""
    if architecture is not None:
        modules = tuple(
            each for each in modules if each.architecture in {architecture, None}
        )
    elif key is not None and len(modules) > 1:
        modules = tuple(
            each for each in modules if not _difference(each.identity, each.uuid, key)
        )
        if not modules:
            raise UuidMismatchError("none of its slices is the module", path=path)
    if len(modules) != 1:
        names = ", ".join(each.architecture or "" for each in modules) or "others"
        reason = f"holds code for {names}: choose one architecture"
        raise ArchitectureError(reason, path=path)
    return modules[0]


def _complete(
    module: ModuleFile, path: str, known: ModuleIdentity, key: ModuleKey | None
) -> ModuleIdentity:
    """The identity of a module, with a name; what somebody knows better goes first."""
    found = module.identity
    if os.path.isdir(path):  # a bundle, which has a name of its own
        path = module.path
    is_named_by_file = found.debug_file in {"", os.path.basename(module.path)}
    if is_named_by_file and module.kind != "breakpad":
        asked = key.debug_file if key else ""
        suffix = ".gsym" if module.kind == "gsym" else ""
        found = found._replace(debug_file=asked or bare_name(path).removesuffix(suffix))
    if found.os == "windows" and module.kind == "object":
        asked = key.code_file if key else ""
        found = found._replace(code_file=asked or bare_name(path))
    better = {name: text for name, text in known._asdict().items() if text}
    named = found._replace(**better)
    if not named.debug_id:
        reason = "it has no debug id: neither a build id nor anything like it"
        raise UnsupportedError(reason, path=path)
    if found.debug_id and named.debug_id.upper() != found.debug_id.upper():
        reason = f"its debug id is {found.debug_id}, not {named.debug_id}"
        raise UuidMismatchError(reason, path=path)
    try:
        return checked_identity(named)
    except ValueError as error:
        raise FormatError(str(error), path=path) from None


def _require(
    identity: ModuleIdentity, uuid: bytes, key: ModuleKey | None, path: str
) -> None:
    difference = _difference(identity, uuid, key) if key else ""
    if difference:
        raise UuidMismatchError(difference, path=path)


def _difference(identity: ModuleIdentity, uuid: bytes, key: ModuleKey) -> str:
    """Why a module is not the one that is asked for; "" if it is."""
    if key.debug_id:
        debug_id = key.debug_id.upper()
        if identity.debug_id.upper() == debug_id:
            return ""
        return f"its debug id is {identity.debug_id or 'missing'}, not {debug_id}"
    code_id = key.code_id.upper()
    whole = identity.code_id.upper() or uuid.hex().upper()
    # A Breakpad file may have no more of a build id than fits into a debug id.
    part = uuid.hex().upper() if len(uuid) == _GUID_SIZE else whole
    if (
        not code_id
        or code_id == whole
        or (not identity.code_id and part == code_id[:32])
    ):
        return ""
    return f"its code id is {whole or 'missing'}, not {code_id}"


def _check(path: str, report: ConversionReport, module: ModuleFile) -> None:
    """See that what was converted opens, and is of the module."""
    with gsym.reading.reader.open(path) as reader:
        expected = module.uuid[:_LONGEST_UUID]
        if reader.uuid != report.uuid or report.uuid != expected:
            raise UuidMismatchError(
                f"converted, its UUID is {reader.uuid.hex() or 'missing'}, not "
                f"{expected.hex() or 'missing'}",
                path=module.path,
            )


def quality_of(report: ConversionReport | CreatorReport) -> Quality:
    """How much the GSYM file knows that a report tells of."""
    level = 2 if report.functions_with_inlines else bool(report.functions_with_lines)
    return Quality(int(level), report.functions)


def _original(module: ModuleFile, folder: str) -> str:
    """A file in *folder* with the bytes that a module was made from.

    Of a fat file that is all of it: its slices share the file.
    """
    from shutil import copyfile

    return copyfile(module.path, os.path.join(folder, "original"))
