"""What the page asks its server for, over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
import pytest

from gsym.modules.symbolizer import Symbolizer
from gsym.server.openapi import Report
from tests.report_examples import CRASH_REPORT, TOMBSTONE
from tests.server.page_store import (
    EVIL,
    FOO_BASE,
    FOO_ID,
    MISSING_BUILD_ID,
    OLD_FOO_ID,
    XUL_ID,
    StoredModules,
    make_page_store,
)
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    store = make_page_store(tmp_path_factory.mktemp("page"))
    with RunningServer(Symbolizer(StoredModules(store))) as running:
        yield running


def symbolized(page: RunningServer, text: str, **query: Any) -> Any:
    path = f"/symbolicate/report?{urlencode({'parts': 'true', **query})}"
    answer = page.ask("POST", path, text.encode())
    assert answer.status == 200
    msgspec.convert(answer.json, Report)  # it is as the OpenAPI document says
    return answer.json


def frames_of(answer: Any) -> list[Any]:
    return [frame for thread in answer["threads"] for frame in thread["frames"]]


def functions_of(answer: Any) -> list[list[str]]:
    return [[call["function"] for call in f["calls"]] for f in frames_of(answer)]


# ---- pastes


def test_paths_are_mapped_as_in_the_api(tmp_path: Path) -> None:
    store = make_page_store(tmp_path)
    rules: dict[str, Any] = {
        "path_map": ["/src/=/home/me/"],
        "source_map": ["/home/=s3:b:d/{path}:"],
    }
    with RunningServer(Symbolizer(StoredModules(store)), **rules) as page:
        pasted = symbolized(page, f"libfoo.so+{0x1016:#x}")
        (frame,) = frames_of(pasted)
        asked = f"/page/address?id={FOO_ID}&address={0x1016:#x}&base=image"
        found = page.ask("GET", asked).json
        form = page.ask("POST", "/", b"text=libfoo.so%2B0x1016")
    assert frame["calls"][0]["file"] == "s3:b:d/me/lib/c.h:"
    without = [{**each, "inlined": False} for each in frame["calls"]]
    assert [{**each, "inlined": False} for each in found["calls"]] == without
    assert b"s3:b:d/me/lib/c.h:" in form.body


@pytest.mark.parametrize(("size", "status"), [(30, 200), (31, 413)])
def test_the_size_of_a_paste_is_limited(tmp_path: Path, size: int, status: int) -> None:
    store = make_page_store(tmp_path)
    with RunningServer(Symbolizer(StoredModules(store)), max_paste=30) as page:
        body = ("\U0001f600" * size).encode()
        assert page.ask("POST", "/symbolicate/report", body).status == status
        assert page.ask("GET", "/page/state").json["max_paste"] == 30


def test_a_paste_comes_back_with_its_frames_symbolized(page: RunningServer) -> None:
    text = TOMBSTONE.replace("0000000000012345", f"{FOO_BASE + 0x1016:016x}")
    answer = symbolized(page, text)
    assert answer["form"] == "Android backtrace"
    assert answer["verbatim"]
    parts = [
        part
        if isinstance(part, str)
        else answer["threads"][part[0]]["frames"][part[1]]["text"]
        for part in answer["parts"]
    ]
    assert "".join(parts) == text
    leaf, mid, bar = frames_of(answer)[0]["calls"]
    assert leaf == {
        "function": "foo::leaf()",
        "file": "/src/lib/c.h",
        "line": 7,
        "offset": "0x2",
        "inlined": True,
    }
    assert (mid["function"], mid["line"]) == ("foo::mid(int)", 30)
    assert (bar["function"], bar["line"]) == ("foo::bar(int)", 12)
    assert bar["offset"] == "0x16"
    states = {each["name"]: each["state"] for each in answer["modules"]}
    assert states == {
        "libfoo.so": "found",
        "libgame.so": "missing",
        "libc.so": "missing",
    }


def test_a_missing_module_has_the_outcome_of_each_source(page: RunningServer) -> None:
    answer = symbolized(page, f"#00 pc 10  /l/libc.so (BuildId: {MISSING_BUILD_ID})")
    (module,) = answer["modules"]
    assert module["state"] == "missing"
    outcomes = [attempt["outcome"] for attempt in module["attempts"]]
    assert outcomes == ["missing", "failed"]
    misses = page.ask("GET", "/page/misses").json["misses"]
    told = [miss for miss in misses if miss["code_id"] == MISSING_BUILD_ID.upper()]
    assert [attempt["outcome"] for attempt in told[0]["attempts"]] == outcomes
    assert told[0]["count"] >= 1


def test_return_addresses_are_decremented(page: RunningServer) -> None:
    """The crash report of the examples has a frame at 0x1a2b of Example."""
    answer = symbolized(page, CRASH_REPORT)
    assert ["-[Example run:]"] in functions_of(answer)
    line = (
        "{{{module:0:libfoo.so:elf:%s}}}\n{{{mmap:0x1000:0x9000:load:0:rx:0x401000}}}\n"
    )
    build_id = "80ae0509e7ce335ae3cab61c274274de96049b64"
    bt = "{{{bt:0:0x1010:%s}}}"  # at which the inlined call begins
    exact = symbolized(page, line % build_id + bt % "pc")
    returned = symbolized(page, line % build_id + bt % "ra")
    assert functions_of(exact) == [["foo::mid(int)", "foo::bar(int)"]]
    assert functions_of(returned) == [["foo::bar(int)"]]


@pytest.mark.parametrize(
    ("address", "function"),
    [
        ("0x401000", "foo::bar(int)"),  # link-time, for it is behind the base
        ("0x1000", "foo::bar(int)"),  # from the base
        ("0x500000", None),
        ("0xffffffffffffffff", None),
    ],
)
def test_a_bare_address_is_link_time_if_possible(
    page: RunningServer, address: str, function: str | None
) -> None:
    answer = symbolized(page, address, module=f"libfoo.so/{FOO_ID}")
    (frame,) = frames_of(answer)
    assert [call["function"] for call in frame["calls"]] == [function] * bool(function)
    assert bool(frame["reason"]) == (function is None)


PART = "only 16 of 20 bytes of its build id are known"


def test_a_module_found_by_name_can_be_changed(page: RunningServer) -> None:
    answer = symbolized(page, "libfoo.so+0x1000")
    (module,) = answer["modules"]
    assert module["unsure"] == "found by its name alone"
    assert {each["debug_id"] for each in module["candidates"]} == {FOO_ID, OLD_FOO_ID}
    answer = symbolized(page, "libfoo.so+0x1000", choice=f"0:{OLD_FOO_ID}")
    (module,) = answer["modules"]
    assert module["unsure"] == PART
    assert module["debug_id"] == OLD_FOO_ID


def test_a_name_refers_to_a_module_with_an_id_in_the_paste(
    page: RunningServer,
) -> None:
    text = f"libfoo.so+0x1000\nlibfoo.so/{OLD_FOO_ID}+0x1000"
    alone, full = symbolized(page, text)["modules"]
    assert alone["unsure"] == PART
    assert alone["debug_id"] == full["debug_id"] == OLD_FOO_ID


def test_a_symbolication_request_can_be_pasted(page: RunningServer) -> None:
    request = {
        "memoryMap": [["xul.pdb", XUL_ID], ["x", "1"]],
        "stacks": [[[0, 0x1004]]],
    }
    answer = symbolized(page, str(request).replace("'", '"'))
    assert functions_of(answer) == [["XRE_main"]]
    assert answer["modules"][1]["state"] == "unused"


@pytest.mark.parametrize(
    "query",
    ["choice=0", "choice=x:1", "load_address=a", "load_address=a=-1", "load_address=1"],
)
def test_an_invalid_parameter_is_refused(page: RunningServer, query: str) -> None:
    answer = page.ask("POST", f"/symbolicate/report?{query}", b"libfoo.so+0x1000")
    assert answer.status == 400
    assert answer.title.startswith(query.partition("=")[0])


def test_a_load_address_places_a_module(page: RunningServer) -> None:
    text = f"{{{{{{module:0:libfoo.so}}}}}}\n 4:     {0x7000001016:#x} - foo::bar\n"
    answer = symbolized(page, text, load_address="libfoo.so=0x7000000000")
    assert functions_of(answer)[-1:] != [[]]


# ---- the store


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["Example", "libevil.so", "libfoo.so", "libfoo.so", "xul.pdb"]),
        ("FOO", ["libfoo.so", "libfoo.so"]),
        ("xul.dll", ["xul.pdb"]),
        ("foo 80ae", ["libfoo.so"]),
        ("nothing", []),
    ],
)
def test_modules_are_found_by_words(
    page: RunningServer, query: str, names: list[str]
) -> None:
    found = page.ask("GET", f"/page/modules?query={query.replace(' ', '+')}").json
    assert [module["debug_file"] for module in found["modules"]] == names
    assert found["matched"] == len(names)


def test_a_module_has_its_properties(page: RunningServer) -> None:
    found = page.ask("GET", f"/page/module?id={FOO_ID.lower()}").json
    assert found["base_address"] == hex(FOO_BASE)
    assert found["functions"] == 6


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("foo::bar", ["foo::bar(int)"]),
        ("step", 4),
        ("no_line", ["no_line"]),
        ("zz", []),
        ("", []),
    ],
)
def test_functions_are_found_in_a_module(
    page: RunningServer, query: str, names: Any
) -> None:
    found = page.ask("GET", f"/page/functions?id={FOO_ID}&query={query}").json
    told = [each["name"] for each in found["functions"]]
    assert told == names if isinstance(names, list) else len(told) == names


@pytest.mark.parametrize(
    ("address", "calls"),
    [
        ("address=0x401016", 3),
        ("address=4198422", 3),
        ("address=0x1016&base=image", 3),
        ("address=0x1016", 0),
        ("address=0xffffffffffffffff&base=image", 0),
    ],
)
def test_one_address_is_looked_up(
    page: RunningServer, address: str, calls: int
) -> None:
    found = page.ask("GET", f"/page/address?id={FOO_ID}&{address}").json
    assert len(found["calls"]) == calls, address
    assert (found["function"] is None) == (calls == 0)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("module?id=zz", 400),
        ("module", 400),
        ("module?id=" + "0" * 33, 404),
        ("functions?id=" + "0" * 33, 404),
        (f"address?id={FOO_ID}&address=zz", 400),
        (f"address?id={FOO_ID}&address=-1", 400),
        (f"address?id={FOO_ID}&address=0x10000000000000000", 400),
        ("modules?first=-1", 400),
        ("files/nothing.js", 404),
        ("files/..%2fpage_data.py", 404),
    ],
)
def test_an_invalid_query_is_an_error_with_a_title(
    page: RunningServer, path: str, status: int
) -> None:
    answer = page.ask("GET", f"/page/{path}")
    assert answer.status == status, path
    assert answer.title


# ---- files and the form


def test_only_the_data_of_the_page_needs_a_token(
    tmp_path: Path,
) -> None:
    modules = StoredModules(make_page_store(tmp_path))
    with RunningServer(Symbolizer(modules), tokens={"secret": "read"}) as running:
        assert running.ask("GET", "/").status == 200
        assert running.ask("GET", "/page/files/main.js").status == 200
        assert running.ask("POST", "/", b"text=x").status == 401
        assert running.ask("GET", "/page/modules").status == 401
        token = {"authorization": "Bearer secret"}
        assert running.ask("GET", "/page/modules", headers=token).status == 200


@pytest.mark.parametrize("path", ["/", "/page/files/main.js", "/page/files/page.css"])
def test_the_content_security_policy_is_strict(page: RunningServer, path: str) -> None:
    answer = page.ask("GET", path)
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert b"http://" not in answer.body.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"https://" not in answer.body
    tag = answer.headers["etag"]
    for known in (tag, f'"x", {tag}', f"W/{tag}"):
        again = page.ask("GET", path, headers={"if-none-match": known})
        assert (again.status, again.body) == (304, b"")


def test_the_form_works_without_javascript(page: RunningServer) -> None:
    body = b"text=libfoo.so%2B0x1016%0Alibevil.so%2B0x1000%3Cb%3E"
    answer = page.ask("POST", "/", body)
    text = answer.body.decode()
    assert answer.headers["content-type"].startswith("text/html")
    assert "foo::bar(int)" in text
    assert "foo::leaf()" in text
    assert EVIL not in text
    assert "&lt;script&gt;" in text
    assert "&lt;b&gt;" in text
    assert "script-src 'self'" in answer.headers["content-security-policy"]
