"""Opens sources from their names on the command line and in settings."""

from __future__ import annotations

import os

from gsym.arguments import path_of
from gsym.conversion.companions.debuginfod_settings import folder_of_url, read_settings
from gsym.net.buckets import BUCKETS, open_object_store
from gsym.net.limits import TransferLimits
from gsym.net.web_address import read_web_address
from gsym.store.sources import foreign_layouts
from gsym.store.sources.local_trees import LocalTree, open_folder
from gsym.store.sources.source import SourceList
from gsym.store.sources.web_server import WebServer

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from typing_extensions import Self

    from gsym.net.transfer import Transfer
    from gsym.store.loose_files import LooseFiles
    from gsym.store.sources.source import Source

_LAYOUTS = {
    "breakpad": foreign_layouts.BREAKPAD,
    "debuginfod": foreign_layouts.DEBUGINFOD,
    "gsym": foreign_layouts.GSYM,
    "store": foreign_layouts.STORE,
    "symstore": foreign_layouts.SYMSTORE,
    "unified": foreign_layouts.UNIFIED,
}
_WEB = ("http://", "https://")
_FORMATS = (
    f"folders, http(s)://..., LAYOUT+http(s)://... ({', '.join(sorted(_LAYOUTS))}), "
    "debuginfod, s3://..., gs://..., az://... and srv*FOLDER*URL"
)


def open_source(text: str | os.PathLike[str]) -> Source:
    """Open a source; use `SourceOpener` for several with shared connections.

    Args:
        text: A folder, or the URL of a server or bucket.

    Raises:
        TypeError: *text* is neither a text nor a path.
        UnsupportedError: It needs a package that is not installed.
        ValueError: *text* is invalid.
    """
    text = path_of("text", text, " or a URL")
    is_folder = os.path.isdir(text)
    found = tuple(open_folder(text) if is_folder else SourceOpener().open(text))
    return found[0] if len(found) == 1 else SourceList(found)


def source_of_store(url: str) -> str:
    """The source that has the modules of the store at a URL.

    Raises:
        ValueError: There cannot be a store.
    """
    if url.startswith(BUCKETS):
        return url
    if url.startswith(_WEB):
        return f"store+{url}"
    places = "folders, s3://..., gs://..., az://... and http(s)://..."
    raise ValueError(f"store '{_hidden(url)}': stores are {places}")


class SourceOpener:
    """Opens sources that share connections and limits.

    Args:
        limits: Limits of each transfer.
        allow_private: Allow redirects to private addresses.
        environment: Environment variables, for debuginfod and NETRC.
    """

    def __init__(
        self,
        *,
        limits: TransferLimits | None = None,
        allow_private: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._limits = TransferLimits() if limits is None else limits
        self._allow_private = allow_private
        self._environment = environment
        self._netrc = environment.get("NETRC", "")
        self._transfers: dict[TransferLimits, Transfer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all sources, which cannot be used any more."""
        for transfer in self._transfers.values():
            transfer.close()

    def open(
        self, text: str, scan: Callable[[str], LooseFiles] | None = None
    ) -> Iterator[Source]:
        """Open the source, or several sources, named by *text*.

        Raises:
            UnsupportedError: It needs a package that is not installed.
            ValueError: *text* is invalid.
        """
        layout, plus, url = text.partition("+")
        if text.startswith(_WEB):
            yield self._server(text, "breakpad")
        elif plus and layout in _LAYOUTS and url.startswith(_WEB):
            yield self._server(url, layout)
        elif text.partition(":")[0] == "debuginfod":
            yield from self._debuginfod(text.partition(":")[2])
        elif text.startswith(BUCKETS):
            from gsym.store.sources.object_storage import ObjectStorage

            limits = self._limits
            yield ObjectStorage(*open_object_store(text, limits), limits)
        elif text.lower().rstrip("*").startswith(("srv*", "symsrv*")):
            yield from self._symbol_path(text)
        elif "://" in text or not text:
            raise ValueError(f"source '{_hidden(text)}': sources are {_FORMATS}")
        else:
            if not os.path.isdir(text):
                raise ValueError(
                    f"source '{text}': no such folder; sources are {_FORMATS}"
                )
            yield from open_folder(text, scan)

    def _debuginfod(self, url: str) -> Iterator[Source]:
        """The server at a URL, or the cache and the servers in the environment."""
        if url:
            yield self._server(url, "debuginfod")
            return
        settings = read_settings(self._environment)
        if not settings.servers:
            raise ValueError("source 'debuginfod': DEBUGINFOD_URLS contains no server")
        if os.path.isdir(settings.cache):
            yield LocalTree(settings.cache, (foreign_layouts.DEBUGINFOD_CACHE,))
        for each in settings.servers:
            if not each.startswith("file:"):
                yield self._server(each, "debuginfod", settings.headers)
                continue
            try:
                yield LocalTree(folder_of_url(each), (foreign_layouts.DEBUGINFOD,))
            except ValueError as error:
                raise ValueError(f"source '{each}': {error}") from None

    def _symbol_path(self, text: str) -> Iterator[Source]:
        """The folders and the server in an element of _NT_SYMBOL_PATH."""
        for each in text.split("*")[1:]:
            if each.startswith(_WEB):
                yield self._server(each, "symstore")
            elif each:
                yield LocalTree(each, (foreign_layouts.SYMSTORE,))

    def _server(
        self, url: str, layout: str, headers: Iterable[tuple[str, str]] = ()
    ) -> Source:
        try:
            address = read_web_address(url)
        except ValueError as error:
            raise ValueError(f"source '{_hidden(url)}': {error}") from None
        if not address.credentials and self._netrc:
            credentials = _credentials(self._netrc, address.host)
            address = address._replace(credentials=credentials)
        limits, most = self._limits, 0
        if layout == "debuginfod":
            # Without DEBUGINFOD_MAXSIZE, files may be as large as those of others.
            environment = {"DEBUGINFOD_MAXSIZE": "0", **self._environment}
            settings = read_settings(environment)
            limits, most = settings.limits(limits), settings.most_bytes
        from gsym.net.transfer import FileServer, Transfer

        if limits not in self._transfers:
            self._transfers[limits] = Transfer(
                limits, allow_private=self._allow_private
            )
        server = FileServer(address, self._transfers[limits], headers, most)
        return WebServer(server, _LAYOUTS[layout])


def _hidden(url: str) -> str:
    """A URL without credentials and query, for messages."""
    start, slashes, rest = url.partition("://")
    return f"{start}{slashes}{rest.rpartition('@')[2].partition('?')[0]}"


def _credentials(path: str, host: str) -> str:
    """The credentials for a host in a netrc file, or ""."""
    from netrc import NetrcParseError, netrc
    from urllib.parse import quote

    try:
        found = netrc(path).authenticators(host)
    except NetrcParseError as error:
        raise ValueError(f"{path}: {error.msg}") from None
    if found is None:
        return ""
    login, _, password = found
    return f"{quote(login, safe='')}:{quote(password or '', safe='')}"
