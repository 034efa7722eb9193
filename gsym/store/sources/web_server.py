"""Sources on web servers: symbol servers, debuginfod and others."""

from __future__ import annotations

import os

from gsym.errors import NotFoundError, SourceError
from gsym.modules.key import ModuleKey
from gsym.store.sidecar import read_identity
from gsym.store.sources.foreign_layouts import ANY
from gsym.store.sources.source import FoundFile, kind_of_binary

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from gsym.net.file_server import FileServer
    from gsym.store.sources.foreign_layouts import Layout

# Ends of the paths of a GSYM file and of its identity.
_GSYM = "gsym"
_IDENTITY = "json"
_MOST_IDENTITY = 64 << 10  # bytes


class WebServer:
    """A web server whose paths follow a layout."""

    def __init__(self, server: FileServer, layout: Layout) -> None:
        self._server = server
        self._layout = layout

    @property
    def name(self) -> str:
        """The layout and the URL."""
        return f"{self._layout.name} {self._server}"

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """Fetch the file of a module.

        Raises:
            NotFoundError: The server has none.
            SourceError: It gave no usable answer.
        """
        answers: list[str] = []
        for path in self._layout.paths(key):
            if ANY not in path and (found := self._fetch(path, folder, answers)):
                return found
        raise NotFoundError("; ".join(answers) or f"needs {self._layout.needs}")

    def find_binaries(
        self, key: ModuleKey, folder: str, known: Container[str]
    ) -> Iterator[FoundFile]:
        """Fetch the files that may have the code of a module, except of *known* kinds.

        Raises:
            SourceError: The server gave no usable answer.
        """
        for path in self._layout.binaries(key):
            if ANY in path or kind_of_binary(path) in known:
                continue
            if found := self._fetch(path, folder, []):
                yield found

    def find_source(self, key: ModuleKey, path: str, folder: str) -> str:
        """Fetch a source file of a module; its place in *folder*.

        Raises:
            NotFoundError: The server has none.
            SourceError: It gave no usable answer.
        """
        for relative in self._layout.sources(key, path):
            target = os.path.join(folder, "source")
            self._server.fetch(relative, target)
            return target
        raise NotFoundError(f"needs {self._layout.needs}")

    def _fetch(self, path: str, folder: str, answers: list[str]) -> FoundFile | None:
        """The file at a path; None, and why in *answers*, if there is none."""
        target = os.path.join(folder, os.path.basename(path))
        try:
            self._server.fetch(path, target)
        except NotFoundError as error:
            answers.append(str(error))
            return None
        location = self._server.location(path)
        return FoundFile(target, location, self._identity(path, folder))

    def _identity(self, path: str, folder: str) -> ModuleKey:
        """The identity that the server has for a GSYM file, which has no names."""
        if not path.endswith(_GSYM):
            return ModuleKey()
        target = os.path.join(folder, _IDENTITY)
        try:
            self._server.fetch(path.removesuffix(_GSYM) + _IDENTITY, target)
            with open(target, "rb") as file:
                return read_identity(file.read(_MOST_IDENTITY))
        except (NotFoundError, SourceError, ValueError):
            return ModuleKey()
