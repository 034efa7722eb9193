"""Adds files to a store: identifies, converts, checks and publishes their modules."""

from __future__ import annotations

import os
from contextlib import contextmanager

import gsym.reading.reader
from gsym import errors
from gsym.arguments import path_of, refusal, strings_of
from gsym.containers.fat import open_slice
from gsym.conversion.companions.search import SearchNote
from gsym.conversion.job import convert
from gsym.lazy import shutil
from gsym.model import detail_level
from gsym.modules.key import (
    GUID_DIGITS,
    UNKNOWN,
    ModuleKey,
    compare,
    completed,
    has_id,
    hash_of_code,
)
from gsym.records import NamedTuple
from gsym.store.archives import MOST_INFLATED, bare_name, inflate_file
from gsym.store.binary_facts import facts_of, storable_modules
from gsym.store.entries import Quality
from gsym.store.layout import checked_identity

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gsym.conversion.module_file import ModuleFile
    from gsym.conversion.report import ConversionReport
    from gsym.store.directory import Store
    from gsym.store.publication import Publication
    from gsym.writing.creator_handle import CreatorReport

# Kinds without a symbol table; a GSYM file already has its variables, or never will.
_WITHOUT_SYMBOLS = frozenset({"breakpad", "gsym", "pdb"})


def add_file(  # noqa: PLR0913 - independent keywords
    store: Store | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    key: ModuleKey | None = None,
    identity: ModuleKey | None = None,
    code_ids: Sequence[str] = (),
    source: str = "",
    keep_original: bool = False,
    most_inflated: int = MOST_INFLATED,
    **options: Any,
) -> Publication:
    """Add the module of a file to a store.

    Args:
        store: The store, or its folder.
        path: A module in any format that `gsym.convert` accepts; gzip, zstd and xz
            files are inflated.
        key: The module that the file must contain, also found by the names in *key*.
            It selects the slice of a fat file.
        identity: What the file does not say of its module, and names to give it.
        code_ids: As `Entry.code_ids`.
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
        AmbiguousModuleError: It may be any of several modules of the store.
        UuidMismatchError: It is not the module of *key*, or *identity* contradicts it.
        OSError: The file cannot be read, or the store not written.
    """
    path = path_of("path", path)
    store = opened_store(store)
    for name, identified in ("key", key), ("identity", identity):
        if identified is not None and not isinstance(identified, ModuleKey):
            raise refusal(name, "a ModuleKey", identified)
    code_ids = strings_of("code_ids", code_ids)
    architecture = options.pop("architecture", None)
    addition = _Addition(
        *(store, path, key, identity or ModuleKey()),
        *(code_ids, source or path, keep_original, options),
    )
    with addition.opened(path, most_inflated) as (folder, modules):
        return addition.add(_choose(modules, key, architecture, path), folder)


def opened_store(store: Store | str | os.PathLike[str]) -> Store:
    """The store of an argument, which may be its folder.

    Raises:
        TypeError: It is neither.
    """
    from gsym.store import directory

    if isinstance(store, directory.Store):
        return store
    return directory.Store(path_of("store", store, " or a gsym.Store"))


def add_all(  # noqa: PLR0913 - independent keywords
    store: Store,
    path: str,
    *,
    label: str = "",
    identity: ModuleKey | None = None,
    code_ids: Sequence[str] = (),
    source: str = "",
    keep_original: bool = False,
    most_inflated: int = MOST_INFLATED,
    **options: Any,
) -> Iterator[Publication | errors.GsymError]:
    """Add all modules of a file to a store, one for each slice of a fat file.

    Arguments and errors are those of `add_file`; *label* names the file in errors and
    in the store, by default its path.

    Returns:
        The outcome for each module, or the error.
    """
    label = label or path
    addition = _Addition(
        *(store, path, None, identity or ModuleKey()),
        *(code_ids, source or label, keep_original, options),
    )
    with addition.opened(label, most_inflated) as (folder, modules):
        for module in modules:
            try:
                result: Publication | errors.GsymError = addition.add(module, folder)
            except errors.GsymError as error:
                result = error
            yield result


class _Addition(NamedTuple):
    """A file to add, with the arguments of `add_file`; *known* is its *identity*."""

    store: Store
    path: str
    key: ModuleKey | None
    known: ModuleKey
    code_ids: Sequence[str]
    source: str
    keep_original: bool
    options: dict[str, Any]

    @contextmanager
    def opened(
        self, label: str, most_inflated: int
    ) -> Iterator[tuple[str, tuple[ModuleFile, ...]]]:
        """A temporary folder in the store, and the modules of the file.

        Errors within the block name the file by *label*.
        """
        with self.store.temporary_folder() as folder:
            file = self.path
            try:
                file = inflate_file(file, folder, most_inflated)
                wanted = completed(self.known, self.key or ModuleKey())
                yield folder, storable_modules(file, wanted)
            except errors.GsymError as error:
                if error.path is not None and error.path.startswith(file):
                    error.path = label
                raise

    def add(self, module: ModuleFile, folder: str) -> Publication:
        """Convert, check and publish one module."""
        key, options = self.key, dict(self.options)
        named = _complete(module, self.path, self.known, key)
        _require(named, key, self.path)
        output = os.path.join(folder, "converted.gsym")
        if module.kind in _WITHOUT_SYMBOLS:
            options.pop("data_symbols", None)
        originals = {}
        if self.keep_original and module.kind != "gsym":
            # Of a fat file it has all slices.
            copy = shutil.copyfile(module.path, os.path.join(folder, "original"))
            kind = "sym" if module.kind == "breakpad" else "debuginfo"
            if module.kind == "object" and module.architecture is None:
                kind = next(iter(facts_of(module.path).kinds), kind)
            originals[kind] = copy
        try:
            report = convert(module.path, output, arch=module.architecture, **options)
        except errors.EmptyError:
            if "executable" not in originals:
                raise
            # It joins the module of its debug file.
            with open_slice(module.path) as binary:
                named = named._replace(code_hash=hash_of_code(binary.code()))
            _require(named, key, self.path)
            return self.store.publish(
                *("", named),
                uuid=module.uuid,
                quality=Quality(0, 0),
                source=self.source,
                originals=originals,
                key=key,
            )
        code_hash = _check(output, module)
        named = named._replace(code_hash=named.code_hash or code_hash)
        _require(named, key, self.path)
        notes = [note for note in report.notes if isinstance(note, SearchNote)]
        return self.store.publish(
            *(output, named),
            uuid=module.uuid,
            quality=quality_of(report),
            source=self.source,
            originals=originals,
            key=key,
            missing=report.notes,
            wanted=[path for note in notes for path in note.wanted],
            code_ids=self.code_ids,
        )


def _choose(
    modules: tuple[ModuleFile, ...],
    key: ModuleKey | None,
    architecture: str | None,
    path: str,
) -> ModuleFile:
    if architecture is not None:
        modules = tuple(
            each for each in modules if each.architecture in {architecture, None}
        )
    elif key is not None and len(modules) > 1:
        modules = tuple(
            each for each in modules if not compare(key, each.identity).is_refused
        )
        if not modules:
            raise errors.UuidMismatchError(
                "no slice is the requested module", path=path
            )
    if len(modules) != 1:
        names = ", ".join(each.architecture or "" for each in modules) or "others"
        reason = f"contains code for {names}: choose one architecture"
        raise errors.ArchitectureError(reason, path=path)
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
    if contradiction := _contradiction(known, found):
        raise errors.UuidMismatchError(contradiction, path=path)
    named = completed(found, known)._replace(
        debug_file=known.debug_file or found.debug_file,
        code_file=known.code_file or found.code_file,
        code_id=max(found.code_id, known.code_id, key=len),
    )
    if known.debug_id and len(found.debug_id) == GUID_DIGITS:
        named = named._replace(debug_id=known.debug_id)
    if not named.debug_id:
        reason = "no debug id: the file has no build id, UUID or GUID"
        raise errors.UnsupportedError(reason, path=path)
    try:
        return checked_identity(named)
    except ValueError as error:
        raise errors.FormatError(str(error), path=path) from None


def _contradiction(known: ModuleKey, found: ModuleKey) -> str:
    """Difference between the stated module and that of the file; else ""."""
    for name in ("os", "architecture"):
        stated, actual = getattr(known, name), getattr(found, name)
        if stated and actual and stated.lower() != actual.lower():
            return f"its {name} is {actual}, not {stated}"
    # Also alone: a debug id that fits does not excuse another code id.
    image = known._replace(debug_id="")
    for result in (compare(known, found), compare(image, found._replace(debug_id=""))):
        if result.is_refused:
            return result.reason
    return ""


def _require(identity: ModuleKey, key: ModuleKey | None, path: str) -> None:
    """Refuse a module that is not the one of *key*, or not known to be."""
    if key is None:
        return
    result = compare(key, identity)
    if result.is_refused or (result.outcome == UNKNOWN and has_id(key)):
        raise errors.UuidMismatchError(result.reason, path=path)


def _check(path: str, module: ModuleFile) -> str:
    """Check that the converted file can be opened and is of the module.

    Returns:
        The hash of the code that it was made from; "" if there was none.
    """
    with gsym.reading.reader.open(path) as reader:
        found = reader.module_like(module.identity)
        if (fit := compare(module.identity, found)).is_refused:
            raise errors.UuidMismatchError(
                f"it was replaced: {fit.reason}", path=module.path
            )
        return (reader.module or ModuleKey()).code_hash


def quality_of(report: ConversionReport | CreatorReport) -> Quality:
    """Quality of the GSYM file of a report."""
    level = detail_level(report.functions_with_lines, report.functions_with_inlines)
    return Quality(level, report.functions)
