"""Buckets as sources: in memory, in a folder, and S3 over the wire."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from gsym.errors import NotFoundError, SourceError
from gsym.modules.key import ModuleKey, key_of_build_id
from gsym.modules.resolver import Resolver
from gsym.net.buckets import open_object_store
from gsym.net.limits import TransferLimits
from gsym.store.directory import Store
from gsym.store.sources.settings import open_source
from tests.companions import ID, debug_file
from tests.http_server import Reply, Server
from tests.symbol_files import key, path, symbols

if TYPE_CHECKING:
    from pathlib import Path

    from obstore.store import LocalStore, MemoryStore

    from gsym.store.sources.object_storage import ObjectStorage

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

obstore_store = pytest.importorskip(
    "obstore.store", reason="the extra `cloud` is not installed"
)
object_storage = pytest.importorskip("gsym.store.sources.object_storage")

LIMITS = TransferLimits(
    connect_seconds=1, idle_seconds=1, total_seconds=2, attempts=1, backoff_seconds=0.01
)
SYMBOLS = path().lstrip("/")


@pytest.fixture
def bucket() -> MemoryStore:
    made: MemoryStore = obstore_store.MemoryStore()
    return made


def source(
    bucket: MemoryStore | LocalStore, limits: TransferLimits = LIMITS
) -> ObjectStorage:
    made: ObjectStorage = object_storage.ObjectStorage(
        bucket, "memory://bucket", limits
    )
    return made


def test_a_module_comes_from_a_bucket(bucket: MemoryStore, tmp_path: Path) -> None:
    bucket.put(SYMBOLS, symbols())
    found = source(bucket).find(key(), str(tmp_path))
    assert found.location == f"memory://bucket/{SYMBOLS}"
    assert (tmp_path / "app.sym").read_bytes() == symbols()


@pytest.mark.parametrize(
    "place",
    [
        f"buildid/{ID.hex()}/debuginfo",
        f"{ID.hex()[:2]}/{ID.hex()[2:]}/debuginfo",
        f"{ID.hex()[:2]}/{ID.hex()[2:]}/executable",
    ],
)
def test_build_ids_are_laid_out_as_debuginfod_and_symbolicator_do(
    bucket: MemoryStore, tmp_path: Path, place: str
) -> None:
    bucket.put(place, debug_file(ID))
    resolver = Resolver(Store(tmp_path / "store"), [source(bucket)])
    assert resolver.resolve(key_of_build_id(ID)).entry is not None


def test_objects_that_are_stored_compressed_are_inflated(
    bucket: MemoryStore, tmp_path: Path
) -> None:
    attributes = {"Content-Encoding": "gzip"}
    bucket.put(SYMBOLS, gzip.compress(symbols()), attributes=attributes)
    source(bucket).find(key(), str(tmp_path))
    assert (tmp_path / "app.sym").read_bytes() == symbols()
    limits = LIMITS._replace(most_inflated=len(symbols()) - 1)
    with pytest.raises(SourceError, match="inflates to more than"):
        source(bucket, limits).find(key(), str(tmp_path))


def test_an_object_may_be_as_large_as_the_limit(
    bucket: MemoryStore, tmp_path: Path
) -> None:
    bucket.put(SYMBOLS, symbols())
    size = len(symbols())
    source(bucket, LIMITS._replace(most_bytes=size)).find(key(), str(tmp_path))
    with pytest.raises(SourceError, match=f"larger than {size - 1} bytes") as caught:
        source(bucket, LIMITS._replace(most_bytes=size - 1)).find(key(), str(tmp_path))
    assert str(caught.value).startswith(f"memory://bucket/{SYMBOLS}: ")


def test_object_missing_from_a_bucket_is_not_found(
    bucket: MemoryStore, tmp_path: Path
) -> None:
    with pytest.raises(NotFoundError, match=r"not found \(tried \d+ paths\)"):
        source(bucket).find(key(), str(tmp_path))
    with pytest.raises(NotFoundError, match="needs a file name"):
        source(bucket).find(ModuleKey("app"), str(tmp_path))


@pytest.mark.parametrize(
    "name", ["a b+c@<d>~{e}", "[kernel.kallsyms]", "50%41#?\u00fc"]
)
def test_names_with_odd_characters_are_names(
    bucket: MemoryStore, tmp_path: Path, name: str
) -> None:
    bucket.put(path(name=name).lstrip("/"), symbols(name=name))
    source(bucket).find(key(name=name), str(tmp_path))
    assert (tmp_path / f"{name}.sym").read_bytes() == symbols(name=name)


def test_a_bucket_can_be_listed(bucket: MemoryStore) -> None:
    bucket.put("a/1", b"one")
    bucket.put("b", b"two")
    listed = dict(source(bucket).objects())
    assert set(listed) == {"a/1", "b"}
    bucket.put("b", b"other")
    again = dict(source(bucket).objects())
    assert again["a/1"] == listed["a/1"]
    assert again["b"] != listed["b"]


def test_a_folder_is_a_bucket_too(tmp_path: Path) -> None:
    (tmp_path / SYMBOLS).parent.mkdir(parents=True)
    (tmp_path / SYMBOLS).write_bytes(symbols())
    bucket = obstore_store.LocalStore(tmp_path)
    (tmp_path / "fetched").mkdir()
    assert source(bucket).find(key(), str(tmp_path / "fetched")).path


# ---- over the wire

STAMP = (("Last-Modified", "Sat, 21 Nov 2026 10:00:00 GMT"), ("ETag", '"1"'))
LISTING = f"""<?xml version="1.0"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
<Name>symbols</Name><Prefix>public/</Prefix><KeyCount>1</KeyCount>
<IsTruncated>false</IsTruncated><Contents><Key>public/{SYMBOLS}</Key>
<LastModified>2026-11-21T10:00:00.000Z</LastModified><ETag>"1"</ETag><Size>7</Size>
</Contents></ListBucketResult>""".encode()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine counts."""
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")


def url(endpoint: str, prefix: str = "public") -> str:
    return f"s3://symbols/{prefix}?endpoint={endpoint}&region=us-east-1"


def opened(url: str, limits: TransferLimits) -> ObjectStorage:
    made: ObjectStorage = object_storage.ObjectStorage(
        *open_object_store(url, limits), limits
    )
    return made


def test_a_module_comes_from_s3(tmp_path: Path) -> None:
    object_path = f"/symbols/public/{SYMBOLS}"
    replies = {
        object_path: Reply(symbols(), headers=STAMP),
        "/symbols?list-type=2&prefix=public%2F": Reply(LISTING),
    }
    with Server(replies=dict(replies)) as server:
        bucket = opened(url(server.url), LIMITS)
        assert bucket.name == "s3://symbols/public"
        assert dict(bucket.objects()) == {SYMBOLS: '7 "1"'}
        resolver = Resolver(Store(tmp_path / "store"), [bucket])
        found = resolver.resolve(key())
        assert found.entry is not None
        assert found.entry.source == f"s3://symbols/public/{SYMBOLS}"
        missing = resolver.resolve(key(1))
        assert [each.outcome for each in missing.attempts] == ["missing"]
        signature = server.headers_for(object_path)["authorization"]
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=key/")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=403), "not allowed"),
        (Reply(status=500), "."),
        (Reply(symbols(), claimed=9999), "."),
        (Reply(fault="stall"), "."),
        (Reply(b"garbage", fault="no head"), "."),
    ],
)
def test_a_service_in_trouble_is_a_failure_and_never_a_file(
    reply: Reply, reason: str, tmp_path: Path
) -> None:
    limits = LIMITS._replace(total_seconds=0.5)
    with Server(reply) as server:
        bucket = opened(url(server.url), limits)
        with pytest.raises(SourceError, match=reason) as caught:
            bucket.find(key(), str(tmp_path))
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("s3://symbols/?nonsense=1", "nonsense"),
        ("az://container", "Account must be specified"),
    ],
)
def test_unknown_bucket_setting_is_reported(
    monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(ValueError, match=reason):
        open_source(text)
