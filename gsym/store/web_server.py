"""Servers that have files of modules: of Breakpad's tools, debuginfod, others."""

from __future__ import annotations

import os

from gsym.store.foreign_layouts import ANY
from gsym.store.source import FoundFile, NotThereError

__all__ = ["WebServer"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.store.foreign_layouts import Layout
    from gsym.store.module_key import ModuleKey
    from gsym.store.transfer import Transfer
    from gsym.store.web_address import WebAddress


class WebServer:
    """A web server whose paths follow a layout.

    Args:
        address: What the paths are put behind.
        layout: Of the paths.
        transfer: Fetches.
        headers: (name, value) to send to this server.
    """

    def __init__(
        self,
        address: WebAddress,
        layout: Layout,
        transfer: Transfer,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._address = address
        self._layout = layout
        self._transfer = transfer
        self._headers = tuple(headers)

    @property
    def name(self) -> str:
        """The layout and the URL."""
        return f"{self._layout.name} {self._address}"

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """Fetch the file of a module.

        Raises:
            NotThereError: The server has none.
            SourceError: It gave no answer, or none of use.
        """
        answers = []
        for path in self._layout.paths(key):
            if ANY in path:
                continue
            address = self._address.below(path)
            target = os.path.join(folder, os.path.basename(path))
            try:
                self._transfer.fetch(
                    address, target, headers=self._headers, is_trusted=True
                )
            except NotThereError as error:
                answers.append(str(error))
            else:
                return FoundFile(target, str(address))
        raise NotThereError("; ".join(answers) or f"needs {self._layout.needs}")
