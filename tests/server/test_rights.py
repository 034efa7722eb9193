"""Rights to write: what exists is not changed without the right to replace it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from starlette.routing import Mount, Route

from gsym.modules.key import macho_debug_id
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.store.directory import Store
from tests.server.running import RunningServer
from tests.server.symbfile_pushes import (
    PADS,
    RANGES,
    file_id,
    push,
    ranges,
    return_pads,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from starlette.routing import BaseRoute

pytestmark = [pytest.mark.long, pytest.mark.confined]

APP, OTHER = "11112222333344445555666677778888", "99990000AAAABBBBCCCCDDDDEEEEFFFF"
BUILD_ID = "22221111" + "44443333" + "66665555" + APP[16:] + "aabbccdd"
OTHER_BUILD_ID = "ab" * 20
CODE_ID, OTHER_CODE_ID = "5E8F310E69D0000", "5E8F310F69D0000"
# Token, its scopes; in the table below: whether it may add, and whether it may replace.
TOKENS = {
    "reader": "read",
    "uploader": "upload",
    "owner": "upload,replace",
    "profiler": "profiles",
}


def sym(  # noqa: PLR0913, PLR0917 - all that names a module
    os: str = "Linux",
    debug_id: str = APP,
    name: str = "app",
    code_id: str = "",
    code_file: str = "",
    functions: int = 3,
) -> bytes:
    """A Breakpad file of more functions than the stored ones have."""
    lines = [f"MODULE {os} x86_64 {debug_id}0 {name}"]
    if code_id:
        lines.append(f"INFO CODE_ID {code_id} {code_file}".rstrip())
    lines.append("FILE 0 /a.c")
    for number in range(functions):
        start = 0x1000 + 0x10 * number
        lines += [
            f"FUNC {start:x} 10 0 of_{functions}_{number}",
            f"{start:x} 10 5 0",
        ]
    return "\n".join([*lines, ""]).encode()


def upload(body: bytes, **stated: str) -> Callable[[RunningServer, str], object]:
    def send(server: RunningServer, token: str) -> int:
        path = f"/upload/?{urlencode(stated)}"
        return server.ask("POST", path, body, {"auth-token": token}).status

    return send


def symbfile(path: str, body: bytes) -> Callable[[RunningServer, str], object]:
    def send(server: RunningServer, token: str) -> int:
        return push(server, 77, body, path=path, key=token).status

    return send


STORED = (
    upload(sym(code_id=BUILD_ID.upper(), functions=1)),
    upload(sym("windows", OTHER[::-1], "xul.pdb", CODE_ID, "xul.dll", 1)),
    upload(sym("mac", APP[::-1], "tool", functions=1)),
    symbfile(RANGES, ranges(77, count=1)),
    symbfile(PADS, return_pads(77, count=1)),
)
# Who: what is sent -> whether somebody with the right to replace changes an answer.
WRITES: dict[str, tuple[Callable[[RunningServer, str], object], bool]] = {
    "debug id": (upload(sym(code_id=BUILD_ID.upper())), True),
    "debug id, no build id": (upload(sym()), True),
    "debug id, another build": (upload(sym(code_id=OTHER_BUILD_ID.upper())), True),
    "build id, another debug id": (
        upload(sym(debug_id=OTHER, code_id=BUILD_ID.upper())),
        False,
    ),
    "build id, another name": (
        upload(sym(debug_id=OTHER, name="tool", code_id=BUILD_ID.upper())),
        False,
    ),
    "stated build id": (upload(sym(debug_id=OTHER), build_id=BUILD_ID), False),
    "code id": (upload(sym("windows", OTHER, "x.pdb", CODE_ID, "xul.dll")), True),
    "code id, capitals": (upload(sym("windows", OTHER, "x", CODE_ID, "XUL.DLL")), True),
    "debug id of Windows": (
        upload(sym("windows", OTHER[::-1], "xul.pdb", OTHER_CODE_ID, "xul.dll")),
        True,
    ),
    "debug id of Mac": (upload(sym("mac", APP[::-1], "tool")), True),
    "name": (upload(sym(debug_id=OTHER)), False),
    "ranges": (symbfile(RANGES, ranges(77, count=3)), True),
    "return pads": (symbfile(PADS, return_pads(77, count=3)), True),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    store = Store(tmp_path / "store")
    symbolizer = Symbolizer(Resolver(store), recheck=0.0)
    tokens = {name: scopes for name, scopes in TOKENS.items() if name != "reader"}
    with RunningServer(symbolizer, store=store.path, tokens=tokens) as running:
        for send in STORED:
            assert send(running, "owner") in {200, 201}
        yield running


def answers(server: RunningServer) -> dict[str, Any]:
    """All answers about the stored modules, by any of their ids."""
    file = file_id(77)
    modules = [
        ["app", f"{APP}0"],
        ["xul.pdb", f"{OTHER[::-1]}0"],
        ["tool", f"{APP[::-1]}0"],
        [file.base64, macho_debug_id(file)],
    ]
    stacks = [[[number, 0x1004] for number in range(len(modules))]]
    found: dict[str, Any] = {
        "v5": server.post({"memoryMap": modules, "stacks": stacks}).json["results"]
    }
    digits = file.base64
    for path in (
        f"/app/{APP}0/app.sym",
        f"/app/{BUILD_ID}/app.gsym",
        f"/buildid/{BUILD_ID}/gsym",
        f"/xul.pdb/{OTHER[::-1]}0/xul.sym",
        f"/xul.dll/{CODE_ID}/xul.sym",
        f"/tool/{APP[::-1]}0/tool.sym",
        f"/{digits[:2]}/{digits[2:4]}/{digits}/ranges",
        f"/{digits[:2]}/{digits[2:4]}/{digits}/returnpads",
    ):
        answer = server.ask("GET", path)
        assert answer.status in {200, 302, 404}
        found[path] = answer.status, answer.headers.get("location"), answer.body
    return found


@pytest.mark.parametrize("what", WRITES)
def test_what_exists_is_not_changed_without_the_right_to_replace(
    what: str, server: RunningServer
) -> None:
    send, is_replacing = WRITES[what]
    before = answers(server)
    for token in ("uploader", "profiler"):
        send(server, token)
        assert answers(server) == before
    send(server, "owner")
    assert (answers(server) != before) is is_replacing


# Routes that write, what they need -> status by token.
RIGHTS = {
    "/upload/": {
        "reader": 403,
        "uploader": 201,
        "owner": 201,
        "profiler": 403,
        "": 401,
    },
}
READING = {"GET", "HEAD", "OPTIONS"}
# Others with a body, which write nothing but what sources have.
READS = {
    *("/symbolicate/v4", "/symbolicate/v5", "/symbolicate/report", "/"),
    *("/source/v1", "/asm/v1", "/symbolicate/arrow", "/upload/auth_info/"),
    "/v1development/profiles",
}


def written_paths(routes: Iterable[BaseRoute], before: str = "") -> Iterator[str]:
    """The paths of routes that take other methods than those that read."""
    for route in routes:
        if isinstance(route, Mount):
            yield from written_paths(route.routes, before + route.path)
        elif isinstance(route, Route) and set(route.methods or ()) - READING:
            yield before + route.path


def test_all_routes_that_write_are_known(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    settings: dict[str, Any] = {"enable_source": True, "enable_asm": True}
    with RunningServer(
        Symbolizer(Resolver(store)), store=store.path, tokens=TOKENS, **settings
    ) as server:
        found = set(written_paths(server.app.routes))
    assert {path for path in found if not path.startswith("/page")} - READS == {
        *RIGHTS,
        *(RANGES, PADS),
    }


@pytest.mark.parametrize("token", [*TOKENS, ""])
def test_who_may_write(token: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with RunningServer(
        Symbolizer(Resolver(store)), store=store.path, tokens=TOKENS
    ) as server:
        headers = {"auth-token": token} if token else {}
        for path, statuses in RIGHTS.items():
            assert server.ask("POST", path, sym(), headers).status == statuses[token]
        for path, body in ((RANGES, ranges(77)), (PADS, return_pads(77))):
            is_taken = push(server, 77, body, path=path, key=token).status == 200
            assert is_taken == (token in {"uploader", "owner"})
