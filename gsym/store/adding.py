"""Adds files to a store: identifies, converts, checks and publishes their modules."""

from __future__ import annotations

import os
from contextlib import contextmanager

import gsym.reading.reader
from gsym.conversion.companions.search import Note
from gsym.conversion.job import convert
from gsym.errors import (
    ArchitectureError,
    EmptyError,
    FormatError,
    GsymError,
    UnsupportedError,
    UuidMismatchError,
)
from gsym.modules.key import ModuleKey
from gsym.records import NamedTuple
from gsym.store.archives import MOST_INFLATED, bare_name, inflate_file
from gsym.store.binary_facts import facts_of
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
    from gsym.store.publication import Publication
    from gsym.writing.creator_handle import CreatorReport

_MAX_UUID = 20  # bytes, in a GSYM file of version 1
_GUID_SIZE = 16
# Kinds without a symbol table; a GSYM file already has its variables, or never will.
_WITHOUT_SYMBOLS = frozenset({"breakpad", "gsym", "pdb"})


def add_file(  # noqa: PLR0913 - independent keywords
    store: Store,
    path: str | os.PathLike[str],
    *,
    key: ModuleKey | None = None,
    identity: ModuleKey | None = None,
    source: str = "",
    keep_original: bool = False,
    most_inflated: int = MOST_INFLATED,
    **options: Any,
) -> Publication:
    """Add the module of a file to a store.

    Args:
        store: The store.
        path: A module in any format that `gsym.convert` accepts; gzip, zstd and xz
            files are inflated.
        key: The module that the file must contain, also found by the names in *key*.
            It selects the slice of a fat file.
        identity: Fields that are not "" override the identity in the file.
        source: Where the file is from; by default its path.
        keep_original: Keep a copy of the file, inflated, with the module.
        most_inflated: Maximum inflated bytes of a compressed file.
        options: Keywords of `gsym.convert`. *architecture* selects a slice;
            *data_symbols* is ignored for other files than object files.

    Raises:
        ArchitectureError: A fat file, and no slice is selected.
        FormatError: The file is damaged or has no valid debug id.
        GsymError: It cannot be converted for another reason.
        LimitError: It inflates to more than *most_inflated*.
        UnsupportedError: It is not a module, or of an unsupported kind.
        UuidMismatchError: It is not the module of *key*.
        OSError: The file cannot be read, or the store not written.
    """
    path = os.fspath(path)
    known = identity or ModuleKey()
    with _identified(
        *(store, path, path), known=known, key=key, most_inflated=most_inflated
    ) as file:
        architecture = options.pop("architecture", None)
        module = _choose(file.modules, key, architecture, path)
        return _add_module(
            *(store, file, module),
            key=key,
            known=known,
            source=source or path,
            keep_original=keep_original,
            **options,
        )


def add_all(  # noqa: PLR0913 - independent keywords
    store: Store,
    path: str,
    *,
    label: str = "",
    identity: ModuleKey | None = None,
    source: str = "",
    keep_original: bool = False,
    most_inflated: int = MOST_INFLATED,
    **options: Any,
) -> Iterator[Publication | GsymError]:
    """Add all modules of a file to a store, one for each slice of a fat file.

    Arguments and errors are those of `add_file`; *label* names the file in errors and
    in the store, by default its path.

    Returns:
        The outcome for each module, or the error.
    """
    known, label = identity or ModuleKey(), label or path
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


class _IdentifiedFile(NamedTuple):
    """A file to add.

    Attributes:
        path: Its path.
        folder: Temporary folder in the store, for inflated and converted files.
        modules: Its modules.
    """

    path: str
    folder: str
    modules: tuple[ModuleFile, ...]


@contextmanager
def _identified(  # noqa: PLR0913 - independent keywords
    store: Store,
    path: str,
    label: str,
    *,
    known: ModuleKey,
    key: ModuleKey | None,
    most_inflated: int,
) -> Iterator[_IdentifiedFile]:
    """Find the modules of a file; errors within the block name it by *label*."""
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
    """The result of `_add_module`, or its error."""
    try:
        return _add_module(*module, **options)
    except GsymError as error:
        return error


def _add_module(  # noqa: PLR0913 - independent keywords
    store: Store,
    file: _IdentifiedFile,
    module: ModuleFile,
    *,
    key: ModuleKey | None,
    known: ModuleKey,
    source: str,
    keep_original: bool,
    **options: Any,
) -> Publication:
    """Convert, check and publish one module."""
    named = _complete(module, file.path, known, key)
    _require(named, module.uuid, key, file.path)
    output = os.path.join(file.folder, "converted.gsym")
    if len(module.uuid) > _MAX_UUID:
        options.setdefault("uuid", module.uuid[:_MAX_UUID])
    if module.kind in _WITHOUT_SYMBOLS:
        options.pop("data_symbols", None)
    originals = {}
    if keep_original and module.kind != "gsym":
        originals[_original_kind(module)] = _original(module, file.folder)
    try:
        report = convert(module.path, output, arch=module.architecture, **options)
    except EmptyError:
        if "executable" not in originals:
            raise
        # It joins the module of its debug file.
        return store.publish(
            *("", named),
            uuid=module.uuid,
            quality=Quality(0, 0),
            source=source,
            originals=originals,
            key=key,
        )
    _check(output, report, module)
    return store.publish(
        output,
        named,
        uuid=module.uuid,
        quality=quality_of(report),
        source=source,
        originals=originals,
        key=key,
        missing=report.notes,
        wanted=[
            path
            for note in report.notes
            if isinstance(note, Note)
            for path in note.wanted
        ],
    )


def _choose(
    modules: tuple[ModuleFile, ...],
    key: ModuleKey | None,
    architecture: str | None,
    path: str,
) -> ModuleFile:
    """The selected module."""
    if architecture is not None:
        modules = tuple(
            each for each in modules if each.architecture in {architecture, None}
        )
    elif key is not None and len(modules) > 1:
        modules = tuple(
            each for each in modules if not _difference(each.identity, each.uuid, key)
        )
        if not modules:
            raise UuidMismatchError("no slice is the requested module", path=path)
    if len(modules) != 1:
        names = ", ".join(each.architecture or "" for each in modules) or "others"
        reason = f"contains code for {names}: choose one architecture"
        raise ArchitectureError(reason, path=path)
    return modules[0]


def _complete(
    module: ModuleFile, path: str, known: ModuleKey, key: ModuleKey | None
) -> ModuleKey:
    """The identity of a module, with a name and the fields of *known*."""
    found = module.identity
    if os.path.isdir(path):  # a bundle, which has another name than its module
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
        reason = "no debug id: the file has no build id, UUID or GUID"
        raise UnsupportedError(reason, path=path)
    if found.debug_id and named.debug_id.upper() != found.debug_id.upper():
        reason = f"debug id is {found.debug_id}, not {named.debug_id}"
        raise UuidMismatchError(reason, path=path)
    try:
        return checked_identity(named)
    except ValueError as error:
        raise FormatError(str(error), path=path) from None


def _require(
    identity: ModuleKey, uuid: bytes, key: ModuleKey | None, path: str
) -> None:
    difference = _difference(identity, uuid, key) if key else ""
    if difference:
        raise UuidMismatchError(difference, path=path)


def _difference(identity: ModuleKey, uuid: bytes, key: ModuleKey) -> str:
    """Why a module is not the one of *key*; "" if it is."""
    if key.debug_id:
        debug_id = key.debug_id.upper()
        if identity.debug_id.upper() == debug_id:
            return ""
        return f"debug id is {identity.debug_id or 'missing'}, not {debug_id}"
    code_id = key.code_id.upper()
    complete = identity.code_id.upper() or uuid.hex().upper()
    # A Breakpad file may only have the part of a build id that fits into a debug id.
    part = uuid.hex().upper() if len(uuid) == _GUID_SIZE else complete
    if (
        not code_id
        or code_id == complete
        or (not identity.code_id and part == code_id[:32])
    ):
        return ""
    return f"code id is {complete or 'missing'}, not {code_id}"


def _check(path: str, report: ConversionReport, module: ModuleFile) -> None:
    """Check that the converted file can be opened and has the UUID of the module."""
    with gsym.reading.reader.open(path) as reader:
        expected = module.uuid[:_MAX_UUID]
        if reader.uuid != report.uuid or report.uuid != expected:
            raise UuidMismatchError(
                f"the converted file has the UUID {reader.uuid.hex() or 'missing'}, "
                f"not {expected.hex() or 'missing'}",
                path=module.path,
            )


def quality_of(report: ConversionReport | CreatorReport) -> Quality:
    """How much the GSYM file of a report contains."""
    level = 2 if report.functions_with_inlines else bool(report.functions_with_lines)
    return Quality(int(level), report.functions)


def _original_kind(module: ModuleFile) -> str:
    """The kind of a file that is kept with its module."""
    if module.kind == "breakpad":
        return "sym"
    if module.kind == "object" and module.architecture is None:
        return next(iter(facts_of(module.path).kinds), "debuginfo")
    return "debuginfo"


def _original(module: ModuleFile, folder: str) -> str:
    """A copy in *folder* of the file that a module was made from.

    Of a fat file it has all slices.
    """
    from shutil import copyfile

    return copyfile(module.path, os.path.join(folder, "original"))
