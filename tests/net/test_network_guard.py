"""Addresses that are not reached for strangers, in every spelling that leads there."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import given, strategies as st

from gsym.errors import SourceError
from gsym.net import network_guard
from gsym.net.limits import TransferLimits
from gsym.net.network_guard import (
    AddressRefusedError,
    public_addresses,
    refusal_of,
)
from gsym.net.transfer import Transfer
from gsym.net.web_address import read_web_address
from tests.http_server import Reply, Server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine]


def words(text: str) -> list[str]:
    return text.split()


REFUSED_V4 = words("""
0.0.0.0 0.1.2.3 0.255.255.255 10.0.0.0 10.0.0.1 10.255.255.255 100.64.0.0
100.100.100.200 100.127.255.255 127.0.0.0 127.0.0.1 127.1.2.3 127.255.255.255
168.63.129.16 169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 172.16.0.0
172.17.0.1 172.31.255.255 192.0.0.0 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.0
192.168.1.1 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.9
224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
""")
REFUSED_V6 = words("""
:: ::1 ::2 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:8.8.8.8 ::ffff:10.0.0.1
::ffff:0:127.0.0.1 ::8.8.8.8 64:ff9b::7f00:1 64:ff9b::8.8.8.8 64:ff9b:1::a00:1 100::1
2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:10::1 2001:20::1 2001:db8::1
2002:7f00:1::1 2002:a00:1:: 2002:808:808::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254
fd12:3456::1 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 ff02::1 ff0e::1 4000::1 e000::1
""")
ALLOWED = words("""
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255
128.0.0.1 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0
192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 2600::
2606:4700::1111 2a00:1450::200e 2001:200::1 2001:4860:4860::8888 2003::1
""")
# Spellings of the same that the system understands, or that other programs would.
SPELLINGS = words("""
http://127.1/ http://127.0.1/ http://0x7f.1/ http://0x7f000001/
http://0x7f.0x0.0x0.0x1/ http://2130706433/ http://017700000001/ http://0177.0.0.1/
http://0177.0.0.01/ http://0/ http://0x0/ http://0xa9fea9fe/ http://2852039166/
http://0251.0376.0251.0376/ http://169.16689662/ http://10.1/ http://0xa000001/
http://192.168.257/ http://localhost/ http://LOCALHOST/ http://localhost./
http://127.0.0.1:22/ http://127.0.0.1:80/a?b#c https://127.0.0.1/
https://localhost:443/ http://user@127.0.0.1/ http://user:8.8.8.8@127.0.0.1/
http://8.8.8.8@127.0.0.1/ http://8.8.8.8:80@127.0.0.1/ http://[::]:80/ http://[::1]/
http://[0:0:0:0:0:0:0:1]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/
http://[0:0:0:0:0:ffff:127.0.0.1]/ http://[64:ff9b::127.0.0.1]/ http://[fe80::1%25lo]/
http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/
http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/ http://127\u30020\u30020\u30021/
http://\u217c\u2134\u212d\u0251\u217c\u0570\u2134\u0455\u20dc/ http://loc%61lhost/
http://%31%32%37.0.0.1/ http://127.0.0.1%00.example.org/
http://127.0.0.1%2f@8.8.8.8.nip/ http://example.org\\@127.0.0.1/
http://127.0.0.1\\@example.org/ http:\\\\127.0.0.1\\ http:///127.0.0.1/
http:127.0.0.1/ http://#@127.0.0.1/ http://?@127.0.0.1/ //127.0.0.1/
file:///etc/passwd file://127.0.0.1/etc ftp://127.0.0.1/ gopher://127.0.0.1:70/_x
dict://127.0.0.1:11211/ ldap://127.0.0.1/ jar:http://127.0.0.1!/ data:text/plain,x
javascript:alert(1) unix:///var/run/docker.sock http+unix://%2Fvar%2Frun/x
ws://127.0.0.1/ http://[::1 http://::1/ http://127.0.0.1:port/ http://127.0.0.1:70000/
http://[127.0.0.1]/ http://127.0.0.1\u2028/ http://ex\u00adample\u0000.org/
""")
URLS = [
    *(f"http://{each}/" for each in REFUSED_V4),
    *(f"http://[{each}]/" for each in REFUSED_V6),
    *SPELLINGS,
]


def test_private_addresses_are_refused() -> None:
    assert [each for each in REFUSED_V4 + REFUSED_V6 if not refusal_of(each)] == []


def test_public_addresses_are_allowed() -> None:
    assert [each for each in ALLOWED if refusal_of(each)] == []


@given(st.ip_addresses())
def test_allowed_addresses_are_global(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if refusal_of(str(address)) == "":
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_reserved or address.version == 6


@given(st.integers(0, 2**32 - 1), st.sampled_from(["::ffff:", "::", "64:ff9b::"]))
def test_embedded_addresses_are_refused(number: int, prefix: str) -> None:
    assert refusal_of(f"{prefix}{ipaddress.IPv4Address(number)}")


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("10.0.0.1", "private"),
        ("fd12:3456::1", "private"),
        ("169.254.0.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fec0::1", "site-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("198.51.100.7", "documentation"),
        ("2001:db8::1", "documentation"),
        ("3fff::1", "documentation"),
        ("::ffff:8.8.8.8", "IPv4-mapped"),
        ("::8.8.8.8", "IPv4-compatible"),
        ("64:ff9b::8.8.8.8", "NAT64"),
        ("64:ff9b:1::a00:1", "NAT64"),
        ("100::1", "discard"),
        ("2001::1", "Teredo"),
        ("2002:808:808::1", "6to4"),
        ("5f00::1", "reserved"),
    ],
)
def test_the_kind_is_that_of_the_registries(address: str, kind: str) -> None:
    assert refusal_of(address) == kind


def test_the_zone_of_an_address_changes_nothing() -> None:
    assert refusal_of("fe80::1%eth0") == "link-local"
    assert refusal_of("2606:4700::1111%eth0") == ""


# ---- URLs, down to the socket


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """(address, port) of each connection that would have been made."""
    httpcore2 = pytest.importorskip(
        "httpcore2", reason="the extra `net` is not installed"
    )
    found: list[tuple[str, int]] = []

    def connect(_: object, host: str, port: int, *__: object) -> NoReturn:
        found.append((host, port))
        raise httpcore2.ConnectError("not today")

    monkeypatch.setattr(httpcore2.SyncBackend, "connect_tcp", connect)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return found


class Names:
    """Looks names up: each answer once, then the last one for ever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, **_: object) -> list[Any]:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(0, 0, 0, "", (each, port)) for each in answer]


def fetch(
    url: str, folder: Path, resolve: Callable[..., list[Any]] = socket.getaddrinfo
) -> None:
    limits = TransferLimits(attempts=1)
    transfer = Transfer(limits, resolve=resolve)
    try:
        transfer.fetch(read_web_address(url), str(folder / "file"))
    finally:
        transfer.close()


@pytest.mark.parametrize("urls", [URLS[at::8] for at in range(8)])
def test_urls_of_private_addresses_are_refused(
    urls: list[str], tmp_path: Path, connected: list[tuple[str, int]]
) -> None:
    for url in urls:
        with pytest.raises((SourceError, ValueError)):
            fetch(url, tmp_path)
        assert connected == [], url


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111"])
def test_a_name_is_looked_up_once_and_its_address_connected_to(
    address: str, tmp_path: Path, connected: list[tuple[str, int]]
) -> None:
    names = Names([address], ["127.0.0.1"])
    with pytest.raises(SourceError, match="not today"):
        fetch("https://rebinding.example/", tmp_path, names)
    assert names.asked == ["rebinding.example"]
    assert connected == [(address, 443)]


@pytest.mark.parametrize(
    "answer", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1", "8.8.8.8"]]
)
def test_host_names_with_a_private_address_are_refused(
    answer: list[str], tmp_path: Path, connected: list[tuple[str, int]]
) -> None:
    with pytest.raises(SourceError, match=r"rebinding\.example \(.*\) is a"):
        fetch("http://rebinding.example/", tmp_path, Names(answer))
    assert connected == []


def test_all_addresses_of_a_host_are_tried(
    tmp_path: Path, connected: list[tuple[str, int]]
) -> None:
    with pytest.raises(SourceError):
        fetch("http://a.example/", tmp_path, Names(["8.8.8.8", "1.1.1.1", "8.8.8.8"]))
    assert connected == [("8.8.8.8", 80), ("1.1.1.1", 80)]


@pytest.mark.parametrize("host", ["symbols.example", "other.example"])
def test_certificate_is_checked_against_the_host_name(
    host: str,
    certificate: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("httpx2", reason="the extra `net` is not installed")
    monkeypatch.setattr(network_guard, "refusal_of", lambda _: "")
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
    for name in ("https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with Server(Reply(b"body"), tls=context) as server:
        url = f"https://{host}:{server.port}/x"
        if host == "symbols.example":
            fetch(url, tmp_path, Names(["127.0.0.1"]))
            assert (tmp_path / "file").read_bytes() == b"body"
            assert server.headers_for("/x")["host"] == f"{host}:{server.port}"
        else:
            with pytest.raises(SourceError, match="certificate"):
                fetch(url, tmp_path, Names(["127.0.0.1"]))
            assert not server.requests


def test_proxy_does_not_bypass_the_refusal(
    tmp_path: Path,
    connected: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:3128")
    with pytest.raises(SourceError, match="is a private address"):
        fetch("http://10.0.0.1/", tmp_path)
    assert connected == []
    with pytest.raises(SourceError, match="not today"):
        fetch("http://a.example/", tmp_path, Names(["8.8.8.8"]))
    assert connected == [("127.0.0.1", 3128)]


def test_unknown_host_name_is_a_lookup_error() -> None:
    def unknown(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(OSError, match="not known"):
        public_addresses("a.example", 80, unknown)


def test_invalid_host_name_is_refused() -> None:
    with pytest.raises(AddressRefusedError, match="is not a host name"):
        public_addresses("a" * 70, 80)
