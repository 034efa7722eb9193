"""Opens buckets: S3, Google Cloud Storage, Azure."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

from gsym.arguments import text_of
from gsym.errors import NotFoundError, SourceError, UnsupportedError, first_line

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from obstore.store import ObjectStore

    from gsym.net.limits import TransferLimits

BUCKETS = ("s3://", "gs://", "az://")


def open_object_store(url: str, limits: TransferLimits) -> tuple[ObjectStore, str]:
    """The bucket at a URL, with its prefix, and its location for people.

    Args:
        url: `s3://BUCKET/PREFIX`, `gs://...` or `az://...`; settings of obstore may
            follow a question mark: `?region=...&endpoint=...`. Credentials come from
            the environment, as for the tools of these services.
        limits: Limits of each file.

    Raises:
        UnsupportedError: The package for object storage is not installed.
        ValueError: The URL or a setting is invalid.
    """
    url = text_of("url", url)
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
        raise ValueError(first_line(error)) from error
    parts = urlsplit(location)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return store, shown.rstrip("/")


@contextmanager
def errors_of(location: str) -> Iterator[None]:
    """Raise the errors of obstore in the block as those of a source."""
    from obstore import exceptions

    try:
        yield
    except FileNotFoundError:
        raise NotFoundError("not found", path=location) from None
    except (
        exceptions.PermissionDeniedError,
        exceptions.UnauthenticatedError,
    ) as error:
        reason = f"not allowed: {first_line(error)}"
        raise SourceError(reason, path=location) from error
    except exceptions.BaseError as error:
        reason = first_line(error)
        raise SourceError(reason, path=location, may_retry=True) from error
    except SourceError as error:
        error.path = location
        raise
