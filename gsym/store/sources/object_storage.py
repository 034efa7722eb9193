"""Sources in buckets: S3, Google Cloud Storage, Azure."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

from gsym.errors import NotFoundError, SourceError, UnsupportedError
from gsym.net.transfer import inflated_pieces, write_pieces
from gsym.store.sources.foreign_layouts import ANY, BREAKPAD_TREE, DEBUGINFOD, UNIFIED
from gsym.store.sources.source import FoundFile, not_found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from obstore.store import ObjectStore
    from typing_extensions import Buffer

    from gsym.net.limits import TransferLimits
    from gsym.store.modules import ModuleKey
    from gsym.store.sources.foreign_layouts import Layout

_LAYOUTS = (BREAKPAD_TREE, DEBUGINFOD, UNIFIED)
_PIECE = 1 << 20


def open_bucket(url: str, limits: TransferLimits) -> ObjectStorage:
    """Open the bucket at a URL.

    Args:
        url: `s3://BUCKET/PREFIX`, `gs://...` or `az://...`; settings of obstore may
            follow a question mark: `?region=...&endpoint=...`. Credentials come from
            the environment, as for the tools of these services.
        limits: Limits of each file.

    Raises:
        UnsupportedError: The package for object storage is not installed.
        ValueError: The URL or a setting is invalid.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        reason = "buckets need the package obstore: pip install 'gsym[cloud]'"
        raise UnsupportedError(reason) from None
    location, _, query = url.partition("?")
    settings: dict[str, Any] = dict(parse_qsl(query))  # obstore checks them
    is_plain = settings.get("endpoint", "").startswith("http://")
    client: Any = {
        "connect_timeout": timedelta(seconds=limits.connect_seconds),
        "read_timeout": timedelta(seconds=limits.idle_seconds),
        "timeout": timedelta(seconds=limits.total_seconds),
        **({"allow_http": True} if is_plain else {}),
    }
    retries: Any = {
        "max_retries": limits.attempts - 1,
        "retry_timeout": timedelta(seconds=limits.total_seconds),
        "backoff": {"init_backoff": timedelta(seconds=limits.backoff_seconds)},
    }
    try:
        store = from_url(
            location, client_options=client, retry_config=retries, **settings
        )
    except (BaseError, ValueError) as error:
        raise ValueError(_first_line(error)) from error
    parts = urlsplit(location)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return ObjectStorage(store, shown.rstrip("/"), limits)


class ObjectStorage:
    """A bucket, or a part of one, with the layouts of other tools.

    Args:
        store: The bucket, with its prefix.
        name: Its location, for people.
        limits: Limits of each file.
        layouts: Possible layouts, the most likely first.
    """

    def __init__(
        self,
        store: ObjectStore,
        name: str,
        limits: TransferLimits,
        layouts: Sequence[Layout] = _LAYOUTS,
    ) -> None:
        self._store = store
        self._name = name
        self._limits = limits
        self._layouts = tuple(layouts)

    @property
    def name(self) -> str:
        """Location of the bucket."""
        return self._name

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """Fetch the file of a module.

        Raises:
            NotFoundError: The bucket has none.
            SourceError: It gave no usable answer.
        """
        tried = 0
        for layout in self._layouts:
            for path in layout.paths(key):
                if ANY in path:
                    continue
                tried += 1
                target = os.path.join(folder, os.path.basename(path))
                if self._fetch(path, target):
                    return FoundFile(target, f"{self._name}/{path}")
        raise not_found(tried)

    def objects(self) -> Iterator[tuple[str, str]]:
        """(path, mark) of each object; the mark changes with its contents.

        Raises:
            SourceError: It cannot be listed.
        """
        from obstore.exceptions import BaseError

        try:
            for batch in self._store.list():
                for each in batch:
                    mark = each["e_tag"] or each["last_modified"].isoformat()
                    yield each["path"], f"{each['size']} {mark}"
        except BaseError as error:
            raise SourceError(_first_line(error), path=self._name) from error

    def fetch(self, path: str, target: str) -> None:
        """Download an object; *target* is complete or absent.

        Raises:
            NotFoundError: It does not exist.
            SourceError: It cannot be downloaded within the limits.
        """
        if not self._fetch(path, target):
            raise NotFoundError("not found", path=f"{self._name}/{path}")

    def _fetch(self, path: str, target: str) -> bool:
        """Download an object; return whether it exists."""
        from obstore.exceptions import (
            BaseError,
            PermissionDeniedError,
            UnauthenticatedError,
        )

        limits = self._limits
        location = f"{self._name}/{path}"
        try:
            result = self._store.get(path)
            encoding = str(result.attributes.get("Content-Encoding", ""))
            pieces: Iterable[Buffer] = result.stream(min_chunk_size=_PIECE)
            pieces = _checked(pieces, result.meta["size"], limits)
            pieces = inflated_pieces(pieces, encoding, limits.most_inflated)
            write_pieces(pieces, target)
        except FileNotFoundError:
            return False
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise SourceError(
                f"not allowed: {_first_line(error)}", path=location
            ) from error
        except BaseError as error:
            reason = _first_line(error)
            raise SourceError(reason, path=location, may_retry=True) from error
        except SourceError as error:
            error.path = location
            raise
        return True


def _checked(
    pieces: Iterable[Buffer], size: int, limits: TransferLimits
) -> Iterator[Buffer]:
    """*pieces*, checking size and time."""
    if size > limits.most_bytes:
        raise SourceError(f"is larger than {limits.most_bytes} bytes")
    until = time.monotonic() + limits.total_seconds
    left = size
    for piece in pieces:
        left -= memoryview(piece).nbytes
        if time.monotonic() > until:
            reason = f"took more than {limits.total_seconds:g} seconds"
            raise SourceError(reason, may_retry=True)
        yield piece
    if left:
        raise SourceError(f"is not {size} bytes as declared", may_retry=True)


def _first_line(error: Exception) -> str:
    """The message; obstore appends internals."""
    return str(error).partition("\n")[0] or type(error).__name__
