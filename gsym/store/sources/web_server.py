"""Sources whose files are fetched: symbol servers, debuginfod, buckets and others."""

from __future__ import annotations

import os
from contextlib import suppress

from gsym.errors import NotFoundError, SourceError
from gsym.modules.key import ModuleKey
from gsym.store.sidecar import MOST_SIDECAR, read_identity
from gsym.store.sources.foreign_layouts import ANY, Layout
from gsym.store.sources.source import FoundFile, kind_of_binary, not_found

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from gsym.net.transfer import FileServer

# Ends of the paths of a GSYM file and of its identity.
_GSYM = "gsym"
_IDENTITY = "json"


class FetchedFiles:
    """Files elsewhere, whose paths follow one of the layouts.

    Attributes:
        name: As of `Source`.
    """

    def __init__(self, name: str, layouts: Sequence[Layout]) -> None:
        self.name = name
        self._layouts = tuple(layouts)

    def fetch(self, path: str, target: str) -> None:
        """Download the file at a relative path; *target* is removed if that fails.

        Raises:
            NotFoundError: It does not exist.
            SourceError: It cannot be downloaded within the limits.
        """
        raise NotImplementedError

    def location(self, path: str) -> str:
        """The location of a file, for people."""
        return f"{self.name}/{path}"

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """Fetch the file of a module; see `Source.find`."""
        answers: list[str] = []
        for layout in self._layouts:
            for path in layout.paths(key):
                if ANY in path:
                    continue
                try:
                    return self._fetched(path, folder)
                except NotFoundError as error:
                    answers.append(str(error))
        if len(self._layouts) > 1:
            raise not_found(len(answers))
        raise NotFoundError("; ".join(answers) or f"needs {self._layouts[0].needs}")

    def find_binaries(
        self, key: ModuleKey, folder: str, known: Container[str]
    ) -> Iterator[FoundFile]:
        """Fetch the files that may have the code of a module, except of *known* kinds.

        Raises:
            SourceError: The source gave no usable answer.
        """
        for layout in self._layouts:
            for path in layout.binaries(key):
                if ANY not in path and kind_of_binary(path) not in known:
                    with suppress(NotFoundError):
                        yield self._fetched(path, folder)

    def find_source(self, key: ModuleKey, path: str, folder: str) -> str:
        """Fetch a source file of a module; its place in *folder*.

        Raises:
            NotFoundError: There is none.
            SourceError: The source gave no usable answer.
        """
        target = os.path.join(folder, "source")
        for layout in self._layouts:
            for relative in layout.sources(key, path):
                self.fetch(relative, target)
                return target
        raise NotFoundError("needs a build id and an absolute path")

    def _fetched(self, path: str, folder: str) -> FoundFile:
        target = os.path.join(folder, os.path.basename(path))
        self.fetch(path, target)
        identity = ModuleKey()
        if path.endswith(_GSYM):  # which has no names
            record = os.path.join(folder, _IDENTITY)
            with suppress(NotFoundError, SourceError, ValueError):
                self.fetch(path.removesuffix(_GSYM) + _IDENTITY, record)
                with open(record, "rb") as file:
                    identity = read_identity(file.read(MOST_SIDECAR))
        return FoundFile(target, self.location(path), identity)


class WebServer(FetchedFiles):
    """A web server whose paths follow a layout."""

    def __init__(self, server: FileServer, layout: Layout) -> None:
        super().__init__(f"{layout.name} {server}", (layout,))
        self._server = server

    def fetch(self, path: str, target: str) -> None:
        """Download a file, as `FetchedFiles.fetch` says."""
        self._server.fetch(path, target)

    def location(self, path: str) -> str:
        """The URL of a file, without credentials."""
        return self._server.location(path)
