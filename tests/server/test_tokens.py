"""Tokens: files that name who may read, upload and replace."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.server.admission import is_loopback
from gsym.server.tokens import Tokens
from gsym.store.directory import Store
from tests.server.running import RunningServer, token_lines
from tests.store_modules import key, put, write_sym

if TYPE_CHECKING:
    from pathlib import Path

HASH = sha256(b"secret").hexdigest()


def tokens_of(folder: Path, text: str) -> Tokens:
    path = folder / "tokens"
    path.write_text(text)
    return Tokens([str(path)])


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer secret"},
        {"authorization": "bearer  secret "},
        {"authorization": "APIKey secret"},
        {"auth-token": "secret"},
        {"auth-token": "secret-ci-2"},  # with a label
        {"authorization": f"Basic {b64encode(b'any:secret').decode()}"},
        {"authorization": f"basic {b64encode(b':secret').decode()}"},
        {"authorization": "Basic eDp5", "auth-token": "secret"},  # of a proxy
    ],
)
def test_a_holder_is_found_by_the_hash_of_its_token(
    headers: dict[str, str], tmp_path: Path
) -> None:
    text = f"# people\n\nann read,upload {HASH.upper()}  # until May\n"
    holder = tokens_of(tmp_path, text).holder(headers)
    assert holder is not None
    assert holder.name == "ann"
    assert [scope for scope in ("read", "upload", "replace") if holder.may(scope)] == [
        "read",
        "upload",
    ]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Basic secret"},
        {"authorization": "Basic a"},
        {"authorization": f"Basic {b64encode(b'secret:').decode()}"},
        {"authorization": f"Basic {b64encode(b'secret').decode()}"},
        {"authorization": "secret"},
        {"authorization": f"Bearer {HASH}"},
        {"auth-token": "Secret"},
        {"auth-token": "-secret"},
        {"auth-token": "-"},
        {"auth-token": "\ud800"},
    ],
)
def test_other_tokens_have_no_holder(headers: dict[str, str], tmp_path: Path) -> None:
    assert tokens_of(tmp_path, f"ann read {HASH}").holder(headers) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ann read", "expected NAME SCOPES HASH"),
        (f"ann read {HASH} x", "expected NAME SCOPES HASH"),
        (f"ann read,write {HASH}", "unknown scope 'write'"),
        (f"ann , {HASH}", "unknown scope ''"),
        ("ann read secret", "64 hexadecimal digits"),
        (f"ann read {sha256(b'').hexdigest()}", "the token is empty"),
        (f"../ann read {HASH}", "is not a name"),
        (f".. read {HASH}", "is not a name"),
    ],
)
def test_a_damaged_file_is_refused_by_line(
    line: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=f"line 2: .*{reason}") as caught:
        tokens_of(tmp_path, f"# people\n{line}\n")
    assert caught.value.path == str(tmp_path / "tokens")


@pytest.mark.parametrize(
    ("scopes", "is_needed"), [("upload,admin", False), ("read", True)]
)
def test_reading_needs_a_token_only_if_one_is_for_reading(
    tmp_path: Path, scopes: str, *, is_needed: bool
) -> None:
    text = token_lines({"secret": scopes})
    assert tokens_of(tmp_path, text).is_needed_to_read() is is_needed


@pytest.mark.confined
@pytest.mark.parametrize(
    ("scopes", "status", "outcome"),
    [
        ("read", 403, None),
        ("upload", 201, "kept"),
        ("upload,replace", 201, "replaced"),
        ("admin", 201, "replaced"),
    ],
)
def test_a_scope_decides_what_an_upload_does(
    scopes: str, status: int, outcome: str | None, tmp_path: Path
) -> None:
    store = Store(tmp_path / "store")
    put(store, 1)
    sym = tmp_path / "x.sym"
    write_sym(sym, 1)  # with lines: better
    tokens = {"secret": scopes, "other": "upload"}
    with RunningServer(
        Symbolizer(Resolver(store)), store=store.path, tokens=tokens
    ) as server:
        answer = server.ask(
            "POST", "/upload/", sym.read_bytes(), {"Auth-Token": "secret"}
        )
    assert answer.status == status
    if outcome is not None:
        (module,) = answer.json["upload"]["modules"]
        assert module["outcome"] == outcome
    entry = store.get(key(1))
    assert entry is not None
    assert (entry.quality.level > 0) == (outcome == "replaced")


@pytest.mark.confined
def test_the_log_names_who_uploaded_and_who_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path / "store")
    sym = tmp_path / "x.sym"
    write_sym(sym, 1)
    caplog.set_level("DEBUG", "gsym")
    with RunningServer(
        Symbolizer(Resolver(store)), store=store.path, tokens={"ann": "upload"}
    ) as server:
        server.ask("POST", "/upload/", sym.read_bytes(), {"Auth-Token": "ann"})
        server.ask("GET", "/__version__", headers={"Auth-Token": "ann"})
        server.ask("GET", "/__version__", headers={"Auth-Token": "bob"})
    texts = [record.getMessage() for record in caplog.records]
    assert any(", uploaded by ann in upload " in text for text in texts)
    requests = [
        vars(record)["fields"].get("token")
        for record in caplog.records
        if record.name == "gsym.requests"
    ]
    assert requests[-3:] == ["ann", "ann", None]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("localhost", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("no:address", False),
        ("no address", False),
    ],
)
def test_only_this_machine_connects_to_loopback(
    address: str, *, expected: bool
) -> None:
    assert is_loopback(address) == expected
