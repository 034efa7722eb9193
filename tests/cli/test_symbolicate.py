"""`gsym symbolicate`: what it prints, and its exit codes."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.cli.main import main
from gsym.store.directory import Store
from tests.creations import create
from tests.http_server import Reply, Server
from tests.store_modules import identity, put

pytestmark = pytest.mark.long

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

ID = "0905AE80CEE75A33E3CAB61C274274DE0"
REQUEST = {
    "stacks": [[[0, 16], [0, 32]]],
    "memoryMap": [["a.so", ID], ["b.so", ID]],
}
RESULT = {
    "stacks": [
        [
            {
                "frame": 0,
                "module": "a.so",
                "module_offset": "0x10",
                "function": "outer()",
                "function_offset": "0x4",
                "file": "a.c",
                "line": 7,
                "inlines": [{"function": "in\x1bner()", "file": "b.h", "line": 3}],
            },
            {"frame": 1, "module": "a.so", "module_offset": "0x20"},
        ]
    ],
    "found_modules": {f"a.so/{ID}": True, f"b.so/{ID}": False},
}
GOOD = Reply(json.dumps({"results": [RESULT]}).encode())
TEXT = f"""\
job 0, stack 0
  0  a.so  in\\x1bner() at b.h:3 [inlined]
     a.so  outer() + 4 at a.c:7
  1  a.so  0x20
no symbols: b.so/{ID}
"""


@pytest.fixture
def stacks(tmp_path: Path) -> str:
    path = tmp_path / "stacks.json"
    path.write_text(json.dumps(REQUEST))
    return str(path)


@pytest.mark.parametrize("suffix", ["gz", "zst", "xz"])
def test_a_report_may_be_compressed(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packs: dict[str, Any] = {
        "gz": gzip.compress,
        "zst": zstd.compress,
        "xz": lzma.compress,
    }
    text = "an error\n#3  0x55555555516d in ???\n"
    path = tmp_path / f"crash.txt.{suffix}"
    path.write_bytes(packs[suffix](text.encode()))
    assert main(["symbolicate", str(path), f"--store={tmp_path}"]) == 0
    assert capsys.readouterr().out == text
    assert str(gsym.symbolicate(path)) == text


def test_a_binary_is_no_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "app.gsym"
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 0x10, "f"))
        creator.save(str(made))
    (tmp_path / "libapp.a").write_bytes(b"!<arch>\n")
    (tmp_path / "app").write_bytes(b"\x7fELF\2\1\1" + bytes(9) + b"\3\0" + bytes(46))
    for name in ("app.gsym", "libapp.a", "app"):
        assert main(["symbolicate", str(tmp_path / name)]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert "a binary, and no report: 'gsym lookup FILE ADDRESS'" in said.err


def test_what_a_report_lacks_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "crash.txt"
    path.write_text("#3  0x55555555516d in ???\n")
    command = ["symbolicate", str(path), f"--store={tmp_path}"]
    placed = "use --maps FILE or --load-address MODULE=ADDRESS to say what was where"
    assert main(command) == 0
    assert placed in capsys.readouterr().err
    assert main([*command, "--load-address=app=0x555555554000"]) == 0
    assert placed not in capsys.readouterr().err
    path.write_text("0x55555555516d 0x555555555184\n")
    assert main(command) == 0
    assert "use --module NAME for addresses of one module" in capsys.readouterr().err


def test_stacks_come_in_through_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = io.TextIOWrapper(io.BytesIO(json.dumps(REQUEST).encode()))
    monkeypatch.setattr("sys.stdin", pipe)
    with Server(GOOD) as server:
        assert main(["symbolicate", "--server", server.url, "-"]) == 0
    assert capsys.readouterr().out == TEXT


def test_refused_job_is_reported_as_a_failure(
    stacks: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = json.dumps({"title": "job 0 is invalid"}).encode()
    with Server(Reply(refusal, 400)) as server:
        assert main(["symbolicate", "--json", "--server", server.url, stacks]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"results": [{"error": "job 0 is invalid"}]}
    assert printed.err == "gsym: job 0 refused: job 0 is invalid\n"


def test_a_wait_for_the_server_is_said_also_without_a_terminal(
    stacks: str, capsys: pytest.CaptureFixture[str]
) -> None:
    busy = Reply(b"", 503)
    with Server(busy, busy, GOOD) as server:
        assert main(["symbolicate", "--server", server.url, stacks]) == 0
    printed = capsys.readouterr()
    assert printed.out == TEXT
    path = f"{server.url}/symbolicate/v5"
    assert printed.err == f"gsym: {path}: HTTP status 503; again in 1 s\n"


def test_nobody_who_listens_is_told_at_once(
    stacks: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    assert main(["symbolicate", "--server", url, stacks]) == 1
    assert capsys.readouterr().err == (
        f"gsym: error: {url}/symbolicate/v5: [Errno 111] Connection refused "
        "(attempt 1)\n"
    )


def test_requests_name_the_package(stacks: str) -> None:
    with Server(GOOD) as server:
        assert main(["symbolicate", "--server", server.url, stacks]) == 0
    (asked,) = server.requests
    headers = asked.headers
    assert headers["user-agent"] == f"gsym/{gsym.__version__}"


def test_headers_come_from_the_command_line_and_from_a_file(
    stacks: str, tmp_path: Path
) -> None:
    file = tmp_path / "headers"
    file.write_text("\nAuthorization: Bearer secret\n")
    with Server(GOOD) as server:
        arguments = ["--header", f"@{file}", "--header", "X-Mine: 1", "--compress"]
        agent = ["--user-agent", "me/1", "--timeout", "5"]
        assert (
            main(["symbolicate", "--server", server.url, *arguments, *agent, stacks])
            == 0
        )
    (asked,) = server.requests
    headers = asked.headers
    assert headers["authorization"] == "Bearer secret"
    assert headers["x-mine"] == "1"
    assert headers["user-agent"] == "me/1"
    assert headers["content-encoding"] == "gzip"


def test_invalid_inputs_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text, reason in [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("#0 0x1189 in ?? (app+0x1189)", "--source gsym+URL"),
        ("3", "not a symbolication request"),
        ('{"jobs": 3}', "not a symbolication request"),
    ]:
        path = tmp_path / "x.json"
        path.write_text(text)
        with Server(GOOD) as server:
            assert main(["symbolicate", "--server", server.url, str(path)]) == 1
        assert reason in capsys.readouterr().err
        assert server.requests == []


def test_a_header_without_colon_is_a_wrong_command_line(stacks: str) -> None:
    command = ["symbolicate", "--server", "http://127.0.0.1:9", "--header", "x"]
    assert main([*command, stacks]) == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--load-address", "x"], "'--load-address': 'x' is not MODULE=ADDRESS"),
        (["--pid", "1", "--kernel"], "give one of '--pid', '--kernel', '--maps'"),
        (["--kernel-base", "x"], "option '--kernel-base': 'x' is not an address"),
        (["--kernel-base", f"{1 << 64}"], "option '--kernel-base': base: expected 0"),
    ],
)
def test_where_code_is_loaded_is_said_once_and_by_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], reason: str
) -> None:
    report = tmp_path / "crash.txt"
    report.write_text("[0x401136]\n")
    assert main(["symbolicate", *options, str(report)]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--server", "http://127.0.0.1:9", "--store", "x"],
        ["--server", "http://127.0.0.1:9", "--source", "x"],
    ],
    ids=repr,
)
def test_either_a_server_or_a_store_is_asked(stacks: str, options: list[str]) -> None:
    assert main(["symbolicate", *options, stacks]) == 2


def test_missing_store_is_reported_and_not_created(
    stacks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("msgspec", reason="the extra `server` is not installed")
    store = tmp_path / "none"
    assert main(["symbolicate", "--store", str(store), stacks]) == 1
    assert capsys.readouterr().err == f"gsym: error: {store}: not a store\n"
    assert not store.exists()


def test_without_a_choice_the_store_of_the_user_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("msgspec", reason="the extra `server` is not installed")
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "own"))
    job = {"memoryMap": [["lib1.so", identity(1).debug_id]], "stacks": [[[0, 0]]]}
    path = tmp_path / "stacks.json"
    path.write_text(json.dumps(job))
    assert main(["symbolicate", str(path)]) == 1
    assert "own: not a store" in capsys.readouterr().err
    put(Store(tmp_path / "own"), 1)
    assert main(["symbolicate", str(path)]) == 0
    assert capsys.readouterr().out == "job 0, stack 0\n  0  lib1.so  f1_1\n"


def test_stacks_are_answered_from_a_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("msgspec")
    store = tmp_path / "store"
    put(Store(store), 1)
    job = {
        "memoryMap": [["lib1.so", identity(1).debug_id], ["no.so", ID]],
        "stacks": [[[0, 0], [1, 5]]],
    }
    path = tmp_path / "stacks.json"
    path.write_text(json.dumps({"jobs": [{}, job]}))
    assert main(["symbolicate", "--store", str(store), str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == (
        f"job 1, stack 0\n  0  lib1.so  f1_1\n  1  no.so  0x5\nno symbols: no.so/{ID}\n"
    )
    refusal = "job 0 is invalid: no stacks specified"
    # The debug id in the request is a part of the build id.
    part = "only 16 of 20 bytes of its build id are known"
    assert printed.err == (
        f"gsym: job 0 refused: {refusal}\n"
        f"gsym symbolicate: warning: lib1.so: {part}: it may be another build\n"
    )


def test_what_to_do_about_addresses_without_an_answer_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "crash.txt"
    said = {
        "[0x401136]\n": "use --module NAME for addresses of one module",
        "/nowhere/app(+0x10) [0x401136]\n": "use --source to name folders or servers",
    }
    for text, hint in said.items():
        report.write_text(text)
        assert main(["symbolicate", str(report)]) == 0
        shown = capsys.readouterr()
        assert shown.out == text
        assert hint in shown.err


def test_what_was_tried_is_explained_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions = [gsym.FunctionInfo(0x10, 0x10, "found")]
    (tmp_path / "near.gsym").write_bytes(create(functions))
    report = tmp_path / "crash.txt"
    report.write_text("/nowhere/near(+0x14) [0x401014]\n/nowhere/app(+0x10) [0x1]\n")
    command = ["symbolicate", "--source", str(tmp_path), str(report)]
    for option, is_explained in (["--explain"], True), ([], False):
        assert main([*command, *option]) == 0
        explained = capsys.readouterr().err
        for line in (
            f"near: {tmp_path}/near.gsym: found",
            f"/nowhere/near(+0x14): near+0x4 in {tmp_path}/near.gsym",
            "app: /nowhere/app: No such file or directory",
            "/nowhere/app(+0x10): no symbols of app",
        ):
            assert (f"gsym symbolicate: warning: {line}" in explained) is is_explained


@pytest.mark.parametrize("value", ["0", "-1", "x", "1" + "0" * 20])
def test_a_wrong_number_of_a_process_is_a_wrong_use(
    value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["symbolicate", "--pid", value, "0x1"]) == 2
    assert "gsym symbolicate: error: option '--pid': " in capsys.readouterr().err
