"""Search for the binary of a module, which has its code."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

from gsym.containers.fat import choose_slice
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.errors import GsymError
from gsym.modules.key import ModuleKey, completed, has_id
from gsym.modules.places import Files, Folder, find_files

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.store.modules import Entry


class ModuleBinaries:
    """Finds binaries in a store, then in folders."""

    def __init__(self, folders: Iterable[Folder] = ()) -> None:
        self._folders = tuple(folders)

    @contextmanager
    def open(
        self, key: ModuleKey, entry: Entry | None
    ) -> Iterator[Iterator[ObjectFile]]:
        """The binaries of a module, each of them checked.

        They are closed at the end of the block.
        """
        with ExitStack() as opened:
            yield self._each(key._replace(path=""), entry, opened)

    def _each(
        self, key: ModuleKey, entry: Entry | None, opened: ExitStack
    ) -> Iterator[ObjectFile]:
        originals = {} if entry is None else entry.originals
        kinds = ("executable", "debuginfo")
        own = Files(originals[each] for each in kinds if each in originals)
        whole = key if entry is None else completed(key, entry.identity)
        if not has_id(whole):
            return
        # The code of an original is what the module was made from.
        for wanted, places in (
            (whole._replace(code_hash=""), [own]),
            (whole, self._folders),
        ):
            for path, match in find_files(places, wanted):
                try:
                    data = choose_slice(map_file(path), path, match.architecture)
                    binary = opened.enter_context(ObjectFile(data, path))
                except (GsymError, OSError, ValueError):
                    continue
                yield binary
