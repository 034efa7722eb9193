"""`gsym symbfile push` as a user meets it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gsym.api.client.symbfile_client import UploadSettings
from gsym.cli.main import main
from gsym.cli.verbs import symbfile_push
from gsym.symbfile.file_id import FileId, kernel_id
from gsym.symbfile.format import decode
from tests.inputs import elf
from tests.symbfile.test_upload import (
    BUILD_ID,
    PAD,
    RANGE,
    write_debug_file,
    write_program,
    write_symbfile,
)
from tests.symbfile_receiver import SUCCESS, Receiver, failure, kind_of

pytestmark = pytest.mark.long

KEY = "SECRETKEYSECRETKEY=="


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `app` and `lib` are; nobody waits before another attempt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GSYM_API_KEY", raising=False)
    monkeypatch.setattr(
        symbfile_push, "UploadSettings", lambda: UploadSettings(backoff=0.0)
    )
    write_program("app")
    write_program("lib", "three", build_id=bytes(19) + b"\1")
    return tmp_path


def push(*words: object) -> int:
    return main(["symbfile", "push", *map(str, words)])


def functions(receiver: Receiver, path: str, kind: str) -> list[str]:
    """Names in what arrived of an executable."""
    file_id = FileId.of_file(path).base64
    bodies = [
        body
        for (of, of_kind, _), body in sorted(receiver.parts.items())
        if (of, of_kind) == (file_id, kind)
    ]
    records: list[Any] = [each for body in bodies for each in decode(body).records()]
    return [each.func if kind == "ranges" else each.entries[0].func for each in records]


def test_push_of_an_executable_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with Receiver() as receiver:
        assert push("-e", "app", "--url", receiver.url, "--api-key", KEY) == 0
    told = capsys.readouterr()
    assert told.err.startswith("app: warning: no debug information: tried ")
    first, ranges, pads = told.out.splitlines()
    assert first == f"app: FileID {FileId.of_file('app').base64}"
    assert ranges.startswith("  ranges: 1 of 1 arrived, ")
    assert pads.startswith("  returnpads: 1 of 1 arrived, ")
    assert functions(receiver, "app", "ranges") == ["one", "two"]
    assert functions(receiver, "app", "returnpads") == ["one", "two"]
    assert receiver.problems == []
    keys = {request.headers["Authorization"] for request in receiver.requests}
    assert keys == {f"APIKey {KEY}"}


def test_several_executables_take_their_debug_files_in_order() -> None:
    write_debug_file("app.debug")
    write_debug_file("lib.debug", bytes(19) + b"\1")
    with Receiver() as receiver:
        words = ["-e", "app", "-d", "app.debug", "-e", "lib", "-d", "lib.debug"]
        assert push(*words, "-u", receiver.url) == 0
    for name in ("app", "lib"):
        assert functions(receiver, name, "ranges") == ["main", "f"]


def test_parts_arrive_in_small_pieces() -> None:
    with Receiver(failure(503), SUCCESS._replace(fault="reset in request")) as receiver:
        assert push("-e", "app", "--part-size", 1, "-u", receiver.url) == 0
    assert len(receiver.parts) == 4
    assert functions(receiver, "app", "ranges") == ["one", "two"]


@pytest.mark.parametrize("way", ["variable", "file"])
def test_a_key_can_be_had_without_showing_it(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("key").write_text(f"{KEY}\n")
    words = ["--api-key-file", "key"] if way == "file" else []
    if way == "variable":
        monkeypatch.setenv("GSYM_API_KEY", KEY)
    with Receiver() as receiver:
        assert push("-e", "app", "--url", receiver.url, *words) == 0
    assert receiver.requests[0].headers["Authorization"] == f"APIKey {KEY}"


def test_key_on_the_command_line_has_precedence_over_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GSYM_API_KEY", "other")
    with Receiver() as receiver:
        push("-e", "app", "--url", receiver.url, "--api-key", KEY)
    assert receiver.requests[0].headers["Authorization"] == f"APIKey {KEY}"


def test_invalid_keys_are_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in [
        "two SECRETS",
        "SECRET\nSECRET",
        "SECRETÄ",
        "SECRET\x7f",
        "S" * 8193,
        " ",
        "\n",
    ]:
        Path("key").write_text(key, encoding="latin-1")
        words = ["-e", "app", "--url", "http://localhost:1"]
        assert push(*words, "--api-key", key) == 2
        assert push(*words, "--api-key-file", "key") == 2
        monkeypatch.setenv("GSYM_API_KEY", key)
        assert push(*words) == 2
        told = capsys.readouterr()
        assert "not an API key" in told.err
        assert "SECRET" not in told.err
        assert "SSSS" not in told.err


@pytest.mark.parametrize("key", ["S", "S" * 8192])
def test_keys_of_any_size_up_to_8192_are_sent(key: str) -> None:
    with Receiver() as receiver:
        assert push("-e", "app", "--url", receiver.url, "--api-key", key) == 0
    assert receiver.requests[0].headers["Authorization"] == f"APIKey {key}"


def test_failed_uploads_are_reported_with_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    replies = [SUCCESS, failure(413, f"too large, {KEY}\x1b")]
    with Receiver(*replies) as receiver:
        words = ["-e", "app", "-e", "lib", "--url", receiver.url]
        assert push(*words, "--api-key", KEY) == 1
    told = capsys.readouterr()
    assert "  ranges: 1 of 1 arrived" in told.out
    assert "  returnpads: 0 of 1 arrived, 0 bytes" in told.out
    _, first, _, last = told.err.splitlines()
    reason = "HTTP status 413: error 1000: too large, ***\\x1b"
    uuid = "f1ada52e-d705-423f-a1b0-fc054eb8900e"
    assert first == (
        f"gsym: error: app: returnpads, part 0: did not arrive: {reason} (uuid {uuid})"
    )
    assert last == "gsym: error: 1 of 4 parts did not arrive: push again to resume"
    assert functions(receiver, "lib", "ranges") == ["three"]


def test_refusal_of_a_server_stops_the_other_executables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Receiver(failure(401, "who are you")) as receiver:
        assert push("-e", "app", "-e", "lib", "--url", receiver.url) == 1
    assert len(receiver.requests) == 1
    told = capsys.readouterr().err
    assert "lib: not sent: HTTP status 401: error 1000: who are you" in told
    assert "nothing was sent for 1 of 2 executables" in told


def test_unreadable_executable_does_not_stop_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("text").write_text("hello")
    with Receiver() as receiver:
        words = ["-e", "gone", "-e", "text", "-e", "app"]
        assert push(*words, "--url", receiver.url) == 1
    assert functions(receiver, "app", "ranges") == ["one", "two"]
    told = capsys.readouterr().err
    assert "gsym: error: gone: No such file" in told
    assert "gsym: error: text: no machine code" in told
    assert "nothing was sent for 2 of 3 executables" in told


def test_the_same_executable_is_sent_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path("copy").write_bytes(Path("app").read_bytes())
    with Receiver() as receiver:
        assert push("-e", "app", "-e", "copy", "--url", receiver.url) == 1
    assert len(receiver.requests) == 2
    assert "copy: same FileID as app" in capsys.readouterr().err


def test_failed_executable_can_be_pushed_again() -> None:
    Path("copy").write_bytes(Path("app").read_bytes())
    write_debug_file("app.debug")
    with Receiver() as receiver:
        words = ["-e", "app", "-d", "gone", "-e", "copy", "-d", "app.debug"]
        assert push(*words, "--url", receiver.url) == 1
    assert functions(receiver, "copy", "ranges") == ["main", "f"]


def test_any_text_of_a_server_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Receiver(failure(400, "\ud800\udc80\x1b[2J\r\n")) as receiver:
        assert push("-e", "app", "--url", receiver.url) == 1
    (line,) = [each for each in capsys.readouterr().err.splitlines() if "400" in each]
    assert "\x1b" not in line


def test_results_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    replies = [failure(503), SUCCESS, failure(400)]
    with Receiver(*replies) as receiver:
        url = receiver.url.replace("//", "//me:pw@")
        assert push("-e", "app", "-e", "gone", "--json", "--url", url) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["arrived"], told["not_arrived"]) == (1, 1)
    assert told["url"] == f"{receiver.url}/"
    app, gone = told["executables"]
    file_id = FileId.of_file("app")
    assert app["file_id"] == {"hex": file_id.hex(), "base64": file_id.base64}
    sizes = [int(each.headers["Content-Length"]) for each in receiver.requests]
    assert app["parts"] == [
        {
            "kind": "ranges",
            "file_part": 0,
            "file_parts": 1,
            "size": sizes[0],
            "arrived": True,
            "attempts": 2,
            "status": 200,
            "reason": None,
            "uuid": None,
        },
        {
            "kind": "returnpads",
            "file_part": 0,
            "file_parts": 1,
            "size": sizes[-1],
            "arrived": False,
            "attempts": 1,
            "status": 400,
            "reason": "HTTP status 400: error 1000: Something went wrong on our side.",
            "uuid": "f1ada52e-d705-423f-a1b0-fc054eb8900e",
        },
    ]
    assert (app["error"], app["losses"]) == (None, {})
    assert app["notes"] == []
    assert app["conversion"]["functions_debug_info"] == 0
    assert (gone["file_id"], gone["parts"]) == (None, [])
    assert "No such file" in gone["error"]


def test_missing_return_pads_are_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_program("app", machine=elf.RISCV)
    with Receiver() as receiver:
        assert push("-e", "app", "--url", receiver.url) == 0
    assert len(receiver.requests) == 1
    told = capsys.readouterr().err
    assert "app: warning: return pads left out: " in told
    assert "riscv64" in told


def test_kernel_is_identified_by_its_build_id() -> None:
    with Receiver() as receiver:
        assert push("--kernel", "-e", "app", "--url", receiver.url) == 0
    file_ids = {file_id for file_id, _, _ in receiver.parts}
    assert file_ids == {kernel_id("app").base64} == {FileId.of_kernel(BUILD_ID).base64}


def test_ready_symbfiles_are_sent_as_they_are() -> None:
    paths = [write_symbfile("a", RANGE), write_symbfile("b", PAD)]
    with Receiver() as receiver:
        assert push("-e", "app", *paths, "--url", receiver.url) == 0
    file_id = FileId.of_file("app").base64
    assert receiver.parts == {
        (file_id, "ranges", 0): Path("a").read_bytes(),
        (file_id, "returnpads", 0): Path("b").read_bytes(),
    }


def test_a_dry_run_writes_what_would_be_sent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Receiver() as receiver:
        words = ["-e", "app", "--url", f"{receiver.url}/up", "--api-key", KEY]
        assert push(*words, "--dry-run", "dry") == 0
        assert receiver.requests == []
        assert push(*words) == 0
    name = FileId.of_file("app").hex()
    for request in receiver.requests:
        stem = f"dry/{name}.{kind_of(request)}-0"
        assert Path(f"{stem}.symbfile").read_bytes() == request.body
        lines = [request.first_line]
        lines += [f"{each}: {value}" for each, value in request.headers.items()]
        head = "\r\n".join([*lines, "", ""]).replace(KEY, "***")
        assert Path(f"{stem}.head").read_bytes() == head.encode()
    assert len(list(Path("dry").iterdir())) == 4
    assert f"  dry/{name}.ranges-0.head\n" in capsys.readouterr().out


def test_a_dry_run_needs_an_empty_folder_and_no_package_for_http(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = [name for name in sys.modules if name.startswith("gsym.net.conn")]
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpcore2", None)
    words = ["-e", "app", "--url", "https://me:pw@x.example/up"]
    assert push(*words) == 1
    assert "pip install 'gsym[net]'" in capsys.readouterr().err
    assert push(*words, "--dry-run", "dry") == 0
    heads = [path.read_text() for path in Path("dry").glob("*.head")]
    assert len(heads) == 2
    assert [head for head in heads if "\nAuthorization: Basic ***\n" not in head] == []
    assert push(*words, "--dry-run", "dry") == 1
    assert "dry: the folder is not empty" in capsys.readouterr().err


def test_a_bar_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("gsym.cli.terminal._SHOW_AFTER", 0.0)
    for terminal, is_shown in [(Terminal(), True), (io.StringIO(), False)]:
        monkeypatch.setattr(sys, "stderr", terminal)
        with Receiver() as receiver:
            assert push("-e", "app", "--url", receiver.url) == 0
        assert ("app: sending [####" in terminal.getvalue()) == is_shown
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Receiver() as receiver:
        assert push("-e", "app", "--quiet", "--url", receiver.url) == 0
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-e", "app"), "'--url' is required"),
        (("-u", "http://x"), "'--executable' is required"),
        (("-e", "app", "-u", "http://x", "--kind", "pads"), "choose ranges or"),
        (("-e", "app", "-u", "http://x", "--names", "x"), "choose symblib or"),
        (("-e", "app", "-u", "http://x", "--part-size", "0"), "less than 1"),
        (("-e", "app", "-u", "http://x", "--attempts", "0"), "less than 1"),
        (("-e", "app", "-u", "http://x", "--timeout", "0"), "invalid time"),
        (("-e", "app", "-e", "b", "-d", "c", "-u", "http://x"), "one '--debug-file'"),
        (
            ("-e", "app", "-e", "b", "-u", "http://x", "c"),
            "needs exactly one '--executable'",
        ),
        (("-e", "app", "-u", "http://x", "c", "-d", "b"), "sent unchanged"),
        (("-e", "app", "-u", "http://x", "c", "--part-size=9"), "sent unchanged"),
        (
            ("-e", "app", "-u", "http://x", "--api-key=a", "--api-key-file=b"),
            "excludes",
        ),
    ],
    ids=repr,
)
def test_wrong_command_lines_of_push_are_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reason: str
) -> None:
    assert push(*words) == 2
    assert reason in capsys.readouterr().err
