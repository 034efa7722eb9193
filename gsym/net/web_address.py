"""URLs of http and https: parsed, shown without secrets, and as request headers."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from ipaddress import IPv6Address
from urllib.parse import quote, unquote, urljoin, urlsplit

from gsym import __version__
from gsym.records import NamedTuple

_PORTS = {"http": 80, "https": 443}
_MAX_CHARACTERS = 8192
_MAX_SHOWN = 500
# Characters of a path or query that are not percent-encoded.
_SAFE = "/%:@!$&'()*+,;=~-._?[]"


class WebAddress(NamedTuple):
    """A URL of http or https."""

    scheme: str  # "http" or "https"
    host: str  # name or address; an IPv6 address without brackets
    port: int  # given, or that of the scheme
    target: str  # path and query, as they are sent
    credentials: str  # "USER:PASSWORD", or "" for none

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: credentials are sent only where all are equal."""
        return self.scheme, self.host, self.port

    @property
    def host_header(self) -> str:
        """Host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        """The URL without credentials and query: the query of storage is a key."""
        path = self.target.partition("?")[0]
        text = f"{self.scheme}://{self.host_header}{path}"
        return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."

    @property
    def url(self) -> str:
        """The requested URL: without credentials, with its query."""
        return f"{self.scheme}://{self.host_header}{self.target}"

    @property
    def authorization(self) -> str:
        """The Authorization header for the credentials; "" for none."""
        if not self.credentials:
            return ""
        encoded = b64encode(unquote(self.credentials).encode()).decode("ascii")
        return f"Basic {encoded}"

    def below(self, path: str) -> WebAddress:
        """The address of *path*, a relative path, after this one as a folder."""
        folder, question, query = self.target.partition("?")
        name = quote(path, errors="surrogateescape")
        target = f"{folder.rstrip('/')}/{name}{question}{query}"
        return self._replace(target=target)

    def joined(self, location: str) -> WebAddress:
        """The address that a redirect from here leads to."""
        return read_web_address(urljoin(self.url, location))

    def shown_target(self, location: str) -> str:
        """The address that a redirect from here leads to, without secrets."""
        try:
            return str(self.joined(location)) if location else "nowhere"
        except ValueError:
            return "an invalid URL"


def read_web_address(url: str) -> WebAddress:
    """The parts of a URL.

    Raises:
        ValueError: It is not a URL of http or https, or one that programs read in
            different ways; the message does not repeat it.
    """
    if len(url) > _MAX_CHARACTERS:
        raise ValueError("the URL is too long")
    if "\\" in url or any(each <= " " or each == "\x7f" for each in url):
        raise ValueError("the URL has invalid characters")
    parts = urlsplit(url)
    if parts.scheme not in _PORTS:
        raise ValueError("the URL is not http or https")
    host = _read_host(parts.hostname or "")
    port = parts.port  # raises ValueError
    path = quote(parts.path or "/", safe=_SAFE)
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    credentials, at, _ = parts.netloc.rpartition("@")
    return WebAddress(
        parts.scheme,
        host,
        _PORTS[parts.scheme] if port is None else port,
        path + query,
        credentials if at else "",
    )


def _read_host(host: str) -> str:
    """A host name or address, normalized."""
    if ":" in host:
        return str(IPv6Address(host))
    try:
        host = host if host.isascii() else host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        host = ""
    if not host.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise ValueError("the URL has no valid host")
    return host


def request_headers(
    address: WebAddress, headers: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """(name, value) of all headers of a request, in order.

    If they have no User-Agent, that of this package is added.
    """
    sent = [("Host", address.host_header), ("Accept", "*/*"), *headers]
    if all(name.lower() != "user-agent" for name, _ in sent):
        sent.append(("User-Agent", f"gsym/{__version__}"))
    return sent
