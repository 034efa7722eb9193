"""A client that does what the Firefox Profiler does.

Written from what is known of it: requests without a type, one job for each library with
one stack of [0, address], 10 jobs and about 10 000 addresses at most; answers checked
against its schema before they are believed; a preflight, for it sets headers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.server.modules import LIB_ID, MISSING_ID, XUL_ID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.server.running import RunningServer

pytestmark = pytest.mark.no_engine

MOST_JOBS = 10
MOST_ADDRESSES = 10_000
ORIGIN = "https://profiler.firefox.com"


class Library(NamedTuple):
    name: str
    debug_id: str
    addresses: tuple[int, ...]


class SchemaError(Exception):
    """The Profiler takes the answer for none."""


def requests_for(libraries: Iterable[Library]) -> Iterable[list[Library]]:
    """Libraries whose addresses are asked for together."""
    batch: list[Library] = []
    for library in libraries:
        addresses = sum(len(each.addresses) for each in batch)
        is_full = addresses + len(library.addresses) > MOST_ADDRESSES
        if batch and (len(batch) == MOST_JOBS or is_full):
            yield batch
            batch = []
        batch.append(library)
    if batch:
        yield batch


def symbolicate(
    server: RunningServer, libraries: Iterable[Library]
) -> dict[str, dict[int, Any] | None]:
    """By library: by address what is there; None where there are no symbols."""
    found: dict[str, dict[int, Any] | None] = {}
    for batch in requests_for(libraries):
        jobs = [
            {
                "memoryMap": [[library.name, library.debug_id]],
                "stacks": [[[0, address] for address in library.addresses]],
            }
            for library in batch
        ]
        answer = server.post(
            json.dumps({"jobs": jobs}).encode(),
            Content_Type="text/plain;charset=UTF-8",
            Origin=ORIGIN,
            User_Agent="FirefoxProfiler/1.0 (+https://profiler.firefox.com)",
            Accept="*/*",
        )
        assert answer.headers["access-control-allow-origin"] in {"*", ORIGIN}
        results = checked(answer.json)
        if len(results) != len(batch):
            raise SchemaError("results")
        for library, result in zip(batch, results, strict=True):
            found[library.name] = addresses_of(library, result)
    return found


def checked(answer: Any) -> list[dict[str, Any]]:
    """The results, if they are of the form that the Profiler believes."""
    if not isinstance(answer, dict) or not isinstance(answer.get("results"), list):
        raise SchemaError("answer")
    for result in answer["results"]:
        if not isinstance(result.get("found_modules"), dict):
            raise SchemaError("found_modules")
        for state in result["found_modules"].values():
            if state is not None and not isinstance(state, bool):
                raise SchemaError("state")
        for stack in result["stacks"]:
            for frame in stack:
                check_frame(frame)
    return list(answer["results"])


def check_frame(frame: dict[str, Any]) -> None:
    required = {"frame": int, "module": str, "module_offset": str}
    optional = {
        "function": str,
        "function_offset": str,
        "function_size": str,
        "file": str,
        "line": int,
        "inlines": list,
    }
    for key, kind in required.items():
        if not isinstance(frame.get(key), kind):
            raise SchemaError(key)
    for key, kind in optional.items():
        if key in frame and not isinstance(frame[key], kind):
            raise SchemaError(key)
    for call in frame.get("inlines", []):
        for key in set(call) & set(optional):
            if not isinstance(call[key], optional[key]):
                raise SchemaError(key)


def addresses_of(library: Library, result: dict[str, Any]) -> dict[int, Any] | None:
    label = f"{library.name}/{library.debug_id}"
    if result["found_modules"].get(label) is not True:
        return None
    (stack,) = result["stacks"]
    if len(stack) != len(library.addresses):
        raise SchemaError("stack")
    found: dict[int, Any] = {}
    for address, frame in zip(library.addresses, stack, strict=True):
        if "function" not in frame or "function_offset" not in frame:
            found[address] = (f"<unknown at 0x{address:x}>", address, None, [])
            continue
        start = address - int(frame["function_offset"], 16)
        size = int(frame["function_size"], 16) if "function_size" in frame else None
        calls = [call["function"] for call in frame.get("inlines", [])]
        found[address] = (frame["function"], start, size, calls)
    return found


def test_a_profile_is_symbolicated(server: RunningServer) -> None:
    found = symbolicate(
        server,
        [
            Library("xul.pdb", XUL_ID, (0x1004, 0x1015, 0x5000)),
            Library("libdemo.so", LIB_ID, (0x404,)),
            Library("wntdll.pdb", MISSING_ID, (1, 2)),
        ],
    )
    assert found == {
        "xul.pdb": {
            0x1004: ("a::outer()", 0x1000, 0x100, []),
            0x1015: ("a::outer()", 0x1000, 0x100, ["innermost", "a::inner(int)"]),
            0x5000: ("<unknown at 0x5000>", 0x5000, None, []),
        },
        "libdemo.so": {0x404: ("main", 0x400, 0x20, [])},
        "wntdll.pdb": None,
    }


def test_a_profile_of_many_libraries_takes_several_requests(
    server: RunningServer,
) -> None:
    many = [Library(f"lib{number}.so", LIB_ID, (0x404,)) for number in range(25)]
    assert [len(batch) for batch in requests_for(many)] == [10, 10, 5]
    found = symbolicate(server, many)
    assert all(each == {0x404: ("main", 0x400, 0x20, [])} for each in found.values())


def test_a_library_with_many_addresses_is_symbolicated(server: RunningServer) -> None:
    addresses = tuple(range(MOST_ADDRESSES))
    found = symbolicate(server, [Library("xul.pdb", XUL_ID, addresses)])["xul.pdb"]
    assert found is not None
    known = [address for address in addresses if found[address][0] == "a::outer()"]
    assert known == list(range(0x1000, 0x1100))


def test_the_browser_lets_it_ask(server: RunningServer) -> None:
    answer = server.ask(
        "OPTIONS",
        "/symbolicate/v5",
        headers={
            "Origin": ORIGIN,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "user-agent",
        },
    )
    assert answer.status in {200, 204}
    assert answer.headers["access-control-allow-origin"] in {"*", ORIGIN}
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert "user-agent" in answer.headers["access-control-allow-headers"]


@pytest.mark.parametrize(
    "frame",
    [
        {"frame": 0, "module": "x"},
        {"frame": 0, "module": "x", "module_offset": 3},
        {"frame": 0, "module": "x", "module_offset": "0x1", "line": "3"},
        {"frame": 0, "module": None, "module_offset": "0x1"},
    ],
)
def test_the_check_sees_faults(frame: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        checked({"results": [{"found_modules": {}, "stacks": [[frame]]}]})


# As recorded requests have them.
NAMES = (
    *("libstdc++.so.6", "ld-linux-x86-64.so.2", "libgdk-3.so.0", "i965_dri.so"),
    *(
        "vcruntime140.amd64.pdb",
        "TextInputFramework.pdb",
        "AppKit",
        "libsystem_c.dylib",
    ),
)


def test_one_job_may_have_a_stack_for_each_module(server: RunningServer) -> None:
    """Older Profilers ask so, without a version and without `jobs`."""
    modules = [[name, MISSING_ID] for name in NAMES]
    modules[2:2] = [["xul.pdb", XUL_ID], ["libdemo.so", LIB_ID]]
    stacks = [[[at, 0x1000], [at, 0x400]] for at in range(len(modules))]
    answer = server.post({"memoryMap": modules, "stacks": stacks}).json
    (result,) = answer["results"]
    assert list(result["found_modules"]) == ["/".join(each) for each in modules]
    assert sum(map(bool, result["found_modules"].values())) == 2
    shown = [[frame.get("function") for frame in stack] for stack in result["stacks"]]
    expected: list[list[str | None]] = [[None, None] for _ in modules]
    expected[2:4] = [["a::outer()", None], [None, "main"]]
    assert shown == expected
