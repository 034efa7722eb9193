"""Tokens of clients: files that name who may do what.

A line of a file is `NAME SCOPES HASH`: a name for the log, scopes separated by commas,
and the SHA-256 of the token in hexadecimal. So neither a file nor the command line
contains a token.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from hashlib import sha256

from gsym.errors import FormatError
from gsym.records import NamedTuple

READ, UPLOAD, REPLACE, ADMIN = "read", "upload", "replace", "admin"
PROFILES = "profiles"
_SCOPES = frozenset({READ, UPLOAD, REPLACE, PROFILES, ADMIN})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")  # also of a folder
_HASH = re.compile("[0-9a-f]{64}")
_OF_NOTHING = sha256(b"").hexdigest()
_SCHEMES = ("bearer ", "apikey ")


class Holder(NamedTuple):
    """The holder of a token."""

    name: str  # for the log
    # what it may do: `read`; `upload` modules that the store lacks; `replace` stored
    # ones by better ones; send `profiles`; all of this is `admin`
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        """Whether it has a scope."""
        return scope in self.scopes or ADMIN in self.scopes


class Tokens:
    """The tokens that a server accepts."""

    def __init__(self, files: Iterable[str] = ()) -> None:
        self._holders: dict[str, Holder] = {}  # by hash
        for path in files:
            self._read(path)

    def _read(self, path: str) -> None:
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                words = line.partition("#")[0].split()
                if not words:
                    continue
                problem = _problem(words)
                if problem:
                    raise FormatError(f"line {number}: {problem}", path=path)
                name, scopes, digest = words
                holder = Holder(name, frozenset(scopes.split(",")))
                self._holders[digest.lower()] = holder

    def is_needed_to_read(self) -> bool:
        """Whether reading needs a token: one has just that scope."""
        return any(READ in each.scopes for each in self._holders.values())

    def is_needed_to_send(self) -> bool:
        """Whether profiles need a token: reading does, or one has just that scope."""
        held = [each.scopes for each in self._holders.values()]
        return any({READ, PROFILES} & scopes for scopes in held)

    def names(self, scope: str) -> list[str]:
        """The names of the holders that have a scope."""
        return [each.name for each in self._holders.values() if each.may(scope)]

    def holder(self, headers: Mapping[str, str]) -> Holder | None:
        """The holder of the token in the headers of a request.

        The token is in `Authorization: Bearer TOKEN`, in `Authorization: APIKey TOKEN`
        as profilers send it, in `Auth-Token: TOKEN` as for Mozilla's symbol server, or
        the password of clients that know only URLs. A token may be followed by a hyphen
        and a label, as Mozilla's symbol server allows.
        """
        if not self._holders:
            return None
        authorization = headers.get("authorization", "").strip()
        given = headers.get("auth-token") or _password(authorization)
        for scheme in _SCHEMES:
            if authorization[: len(scheme)].lower() == scheme:
                given = authorization[len(scheme) :].strip()
        bare, hyphen, _ = given.partition("-")
        for token in (given, bare) if hyphen else (given,):
            digest = sha256(token.encode("utf-8", "replace")).hexdigest()
            if digest in self._holders:
                return self._holders[digest]
        return None


def _password(authorization: str) -> str:
    """The password of basic authorization; "" for none."""
    scheme, _, pair = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return b64decode(pair).decode().partition(":")[2]
    except ValueError:
        return ""


def _problem(words: list[str]) -> str:
    """The fault of the words of a line; "" for none."""
    if len(words) != 3:  # noqa: PLR2004 - as the message says
        return "expected NAME SCOPES HASH"
    name, scopes, digest = words
    if not _NAME.fullmatch(name):
        return (
            f"'{name[:80]}' is not a name of letters, digits, '.', '_', '@', '+', '-'"
        )
    unknown = sorted({*scopes.split(",")} - _SCOPES)
    if unknown:
        known = ", ".join(sorted(_SCOPES))
        return f"unknown scope '{unknown[0][:80]}'; scopes are {known}"
    if not _HASH.fullmatch(digest.lower()):
        return "expected the SHA-256 of a token, 64 hexadecimal digits"
    if digest.lower() == _OF_NOTHING:
        return "the token is empty, so every request would have it"
    return ""
