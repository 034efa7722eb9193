"""Where Source Link and srcsrv say that source files are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym.reports.source_links import SourceLinks

if TYPE_CHECKING:
    from collections.abc import Iterable

# The examples of the specification.
DOCUMENTS = {
    "C:\\src\\*": "http://MyDefaultDomain.com/src/*",
    "C:\\src\\foo\\*": "http://MyFooDomain.com/src/*",
    "C:\\src\\foo\\specific.txt": "http://MySpecificFoodDomain.com/src/specific.txt",
    "C:\\src\\bar\\*": "http://MyBarDomain.com/src/*",
    "/usr/local/*": "https://host/get?path=/*&commit=1",
    "/fixed.c": "https://host/fixed",
    "/star/*/x": "https://host/*",
    "/two/*": "https://host/*/*",
    "/bare/*": "https://host/bare/",
}


def source_link(links: Iterable[tuple[str, bytes]], path: str) -> str:
    return SourceLinks(links).of(path)


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("C:\\src\\a.cs", "http://MyDefaultDomain.com/src/a.cs"),
        ("c:\\SRC\\Foo\\b\\A b#.cs", "http://MyFooDomain.com/src/b/A%20b%23.cs"),
        (
            "C:\\src\\foo\\Specific.txt",
            "http://MySpecificFoodDomain.com/src/specific.txt",
        ),
        ("C:\\src\\bar\\x/y.c", "http://MyBarDomain.com/src/x/y.c"),
        ("/usr/local/x/é.c", "https://host/get?path=/x/%C3%A9.c&commit=1"),
        ("/fixed.c", "https://host/fixed"),
        ("/fixed.cc", ""),
        ("/star/a/x", ""),
        ("/two/a", ""),
        ("/bare/a.c", "https://host/bare/a.c"),
        ("D:\\src\\a.cs", ""),
        ("", ""),
    ],
)
def test_the_longest_pattern_of_source_link_wins(path: str, url: str) -> None:
    text = "\N{BOM}" + json.dumps({"documents": DOCUMENTS})
    assert source_link((("sourcelink", text.encode()),), path) == url


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "1", '{"documents": 1}', '{"documents": ["/a.c"]}', "[" * 100_000],
)
def test_damaged_source_link_says_nothing(text: str) -> None:
    assert source_link((("sourcelink", text.encode()),), "/a.c") == ""


def srcsrv(variables: str, *files: str) -> tuple[tuple[str, bytes], ...]:
    line = "-" * 40
    parts = [f"SRCSRV: ini {line}", "VERSION=2", f"SRCSRV: variables {line}", variables]
    parts += [f"SRCSRV: source files {line}", *files, f"SRCSRV: end {line}"]
    return (("srcsrv", "\r\n".join(parts).encode()),)


# The example of the specification, then forms that Mozilla and Chromium have used.
@pytest.mark.parametrize(
    ("variables", "file", "found"),
    [
        (
            (
                "DEPOT=//depot\nSRCSRVCMD=%sdcmd%\n"
                "SDCMD=sd.exe -p %fnvar%(%var2%) print -o %srcsrvtrg% -q "
                "%depot%/%var3%#%var4%\nSRCSRVTRG=%sdtrg%\n"
                "SDTRG=%targ%\\%var2%\\%fnbksl%(%var3%)\\%var4%\\%fnfile%(%var1%)\n"
                "WIN_SDKTOOLS=sserver.microsoft.com:4444"
            ),
            "c:\\db\\a.cpp*WIN_SDKTOOLS*tools/srcsrv/shell.cpp*3",
            (
                "sd.exe -p sserver.microsoft.com:4444 print -o "
                ".\\WIN_SDKTOOLS\\tools\\srcsrv\\shell.cpp\\3\\a.cpp -q "
                "//depot/tools/srcsrv/shell.cpp#3"
            ),
        ),
        (
            (
                "HGSERVER=https://hg.mozilla.org/mozilla-central\nSRCSRVVERCTRL=http\n"
                "HTTP_EXTRACT_TARGET=%hgserver%/raw-file/%var3%/%var2%\n"
                "SRCSRVTRG=%http_extract_target%"
            ),
            "C:\\DB\\A.cpp*js/src/vm/Interpreter.cpp*24938c537a55",
            (
                "https://hg.mozilla.org/mozilla-central/raw-file/24938c537a55/js/src/vm/"
                "Interpreter.cpp"
            ),
        ),
        (
            (
                "DIR=%targ%\\%fnbksl%(%var2%)\\%var3%\nSRCSRVTRG=%DIR%\\%fnfile%(%var1%)\n"
                'SRCSRVCMD=cmd /c "mkdir "%DIR%" & python -c "get(\\"%var4%\\")"'
            ),
            "c:\\db\\a.cpp*core/x.cpp*dab1*https://h/x.cpp?format=TEXT",
            (
                'cmd /c "mkdir ".\\core\\x.cpp\\dab1" & python -c '
                '"get(\\"https://h/x.cpp?format=TEXT\\")"'
            ),
        ),
        ("SRCSRVTRG=\\\\host\\share\\%var2%", "c:\\db\\a.cpp*x", "\\\\host\\share\\x"),
        ("SRCSRVTRG=100%%%unknown%", "c:\\db\\a.cpp*x", "100%"),
        ("SRCSRVTRG=%srcsrvtrg%!", "c:\\db\\a.cpp*x", "!"),
        ("SRCSRVTRG=x", "c:\\db\\b.cpp*x", ""),
        ("", "c:\\db\\a.cpp*x", ""),
    ],
)
def test_srcsrv_names_the_command_or_the_url(
    variables: str, file: str, found: str
) -> None:
    assert source_link(srcsrv(variables, "other*x", file), "c:\\db\\a.cpp") == found


def test_values_in_values_are_limited() -> None:
    long = "\n".join(["SRCSRVTRG=" + "%A%" * 100, "A=" + "x" * 40])
    assert source_link(srcsrv(long, "a.c"), "a.c") == "x" * 4000
    deep = "\n".join([*(f"A{at}=%A{at + 1}%" for at in range(30)), "A30=text"])
    assert source_link(srcsrv(f"{deep}\nSRCSRVTRG=%A0%", "a.c"), "a.c") == "text"
    assert (
        source_link(srcsrv(f"{deep}\nSRCSRVTRG=%B%\nB=%C%\nC=%A0%", "a.c"), "a.c") == ""
    )


# Each would make gigabytes, or take hours, of a few megabytes.
@pytest.mark.parametrize(
    "variables",
    [
        [*(f"A{at}=%A{at + 1}%%A{at + 1}%" for at in range(60)), "A60=text"],
        ["A0=" + "%fnbksl%(%A%)" * 300_000, "A=" + "x" * 60_000],
        ["A0=" + "%A%" * 100_000, "A=" + "x" * 60_000],
        [f"A0={'%fnvar%(A)' * 100_000}", "A=" + "x" * 60_000],
        [
            "A0=" + "".join(f"%B{at}%" for at in range(10_000)),
            *(f"B{at}=" + "%fnvar%(%A%)" * 500 for at in range(10_000)),
            "A=" + "x" * 60_000,
        ],
    ],
)
def test_values_that_grow_are_limited(variables: list[str]) -> None:
    links = srcsrv("\n".join([*variables, "SRCSRVTRG=%A0%"]), "a.c")
    assert len(source_link(links, "a.c")) <= 4096


def test_links_of_many_files_are_read_once() -> None:
    files = [f"c:\\{at}.c*{at}" for at in range(20_000)]
    documents = {f"/{at}/*": f"http://x/{at}/*" for at in range(20_000)}
    text = json.dumps({"documents": documents}).encode()
    links = SourceLinks((("sourcelink", text), *srcsrv("SRCSRVTRG=%var2%", *files)))
    for at in range(20_000):
        assert links.of(f"C:\\{at}.c") == str(at)
        assert links.of(f"/{at}/b") == f"http://x/{at}/b"


def test_a_long_link_is_no_link() -> None:
    for size, is_link in ((4096, True), (4097, False)):
        text = json.dumps({"documents": {"/a.c": "x" * size}})
        assert bool(source_link((("sourcelink", text.encode()),), "/a.c")) == is_link


@given(st.text(), st.text(alphabet="a%()fnvarbksl=*\n"))
def test_any_text_says_something_or_nothing(text: str, variables: str) -> None:
    for kind in ("sourcelink", "srcsrv"):
        found = source_link(((kind, text.encode("utf-8", "replace")),), "a.c")
        assert isinstance(found, str)
    links = srcsrv(f"SRCSRVTRG={variables}", "a.c*b")
    assert isinstance(source_link(links, "a.c"), str)
