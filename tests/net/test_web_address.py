"""URLs taken apart, joined, and shown without secrets."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.net.web_address import read_web_address

pytestmark = pytest.mark.no_engine


@pytest.mark.parametrize(
    ("url", "parts", "header"),
    [
        ("http://h", ("http", "h", 80, "/", ""), "h"),
        (
            "HTTPS://H:8443/a%2Fb?c=d#e",
            ("https", "h", 8443, "/a%2Fb?c=d", ""),
            "h:8443",
        ),
        ("https://u:p@h/", ("https", "h", 443, "/", "u:p"), "h"),
        ("http://[::1]:8000/x", ("http", "::1", 8000, "/x", ""), "[::1]:8000"),
        (
            "http://b\u00fccher/\u00fc",
            ("http", "xn--bcher-kva", 80, "/%C3%BC", ""),
            None,
        ),
        ("http://h/a|b<c>", ("http", "h", 80, "/a%7Cb%3Cc%3E", ""), "h"),
    ],
)
def test_a_url_has_its_parts(
    url: str, parts: tuple[object, ...], header: str | None
) -> None:
    address = read_web_address(url)
    assert tuple(address) == parts
    assert address.host_header == (header or parts[1])


def test_secrets_of_a_url_are_not_shown() -> None:
    address = read_web_address("https://user:secret@h:8443/a/b?token=secret")
    assert str(address) == "https://h:8443/a/b"
    assert len(str(read_web_address("http://h/" + "x" * 5000))) < 600


@pytest.mark.parametrize(
    ("base", "path", "target"),
    [
        ("http://h", "a.pdb/0/a.sym", "/a.pdb/0/a.sym"),
        ("http://h/x/", "a b/0/a#?%.sym", "/x/a%20b/0/a%23%3F%25.sym"),
        ("http://h/x?sas=1", "\u00fc", "/x/%C3%BC?sas=1"),
    ],
)
def test_a_path_below_is_percent_encoded(base: str, path: str, target: str) -> None:
    assert read_web_address(base).below(path).target == target


def test_a_redirect_is_joined_as_browsers_do() -> None:
    address = read_web_address("http://u:p@h/a/b?c")
    for location, expected in {
        "d": "http://h/a/d",
        "/d": "http://h/d",
        "//g/d": "http://g/d",
        "https://g/": "https://g/",
    }.items():
        joined = address.joined(location)
        assert str(joined) == expected
        assert joined.credentials == ""


@given(
    st.text(), st.sampled_from(["", "http://", "https://h/", "http://[", "http://h:"])
)
def test_any_text_is_a_url_or_refused(text: str, start: str) -> None:
    try:
        address = read_web_address(start + text)
    except ValueError:
        return
    assert address.scheme in {"http", "https"}
    assert address.target.isascii()
    assert address.target.startswith("/")
    assert not set(address.target) & set(" \r\n\t\0")
    assert read_web_address(f"http://{address.host_header}/").host == address.host
