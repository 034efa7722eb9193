"""A confined process: what it cannot do, and what becomes of one that tries."""

from __future__ import annotations

import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gsym.errors import FormatError, LimitError
from gsym.server.confined_process import (
    ConfinedError,
    confinement_report,
    run_confined,
)
from gsym.server.confinement import NUMBERS, ChildLimits, filter_program

pytestmark = [
    pytest.mark.long,
    pytest.mark.confined,
    pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's"),
]

ROOT = Path(__file__).resolve().parents[2]
HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}


@pytest.fixture(scope="module")
def holds(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("probe")
    return confinement_report(str(folder), ChildLimits())


def confined(
    code: str, folder: Path, **limits: int
) -> subprocess.CompletedProcess[str]:
    """Run *code* behind `confine`."""
    allowed = ChildLimits()._replace(**limits)
    script = (
        "import sys\n"
        f"sys.path[:0] = [{str(ROOT)!r}]\n"
        "import os, socket, json, ctypes, threading\n"
        "from gsym.server.confinement import ChildLimits, confine\n"
        f"confine(ChildLimits(*{tuple(allowed)!r}), 20, {allowed.memory}, "
        f"{str(folder)!r})\n"
        f"{code}\n"
    )
    return subprocess.run(
        [sys.executable, "-I", "-c", script],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )


def outcome_of(code: str, folder: Path, **limits: int) -> str:
    """ "done", or the name of the error that *code* ends with."""
    indented = "\n".join(f"    {line}" for line in code.splitlines())
    process = confined(
        f"try:\n{indented}\n    print('done')\n"
        "except (OSError, MemoryError) as error:\n"
        "    print(type(error).__name__)",
        folder,
        **limits,
    )
    return process.stdout.strip() or f"ended with {process.returncode}"


CONNECTIONS = {
    "TCP": "socket.create_connection(('127.0.0.1', 9), 1)",
    "UDP": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', "
    "('127.0.0.1', 9)); socket.create_connection(('127.0.0.1', 9), 1)",
    "IPv6": "socket.create_connection(('::1', 9), 1)",
}


@pytest.mark.parametrize("code", CONNECTIONS.values(), ids=CONNECTIONS)
def test_there_is_no_network(code: str, tmp_path: Path, holds: list[str]) -> None:
    if "no network" not in holds:
        pytest.skip("this system lets no process give the network up")
    assert outcome_of(code, tmp_path) in {
        "PermissionError",
        "OSError",
        "ConnectionRefusedError",
    }


REFUSED_CALLS = {
    "a program": "os.execv('/bin/true', ['true'])",
    "a child": "os.fork()",
    "a signal to the parent": "os.kill(os.getppid(), 0)",
    "a local socket": "socket.socket(socket.AF_UNIX)",
}


@pytest.mark.parametrize("code", REFUSED_CALLS.values(), ids=REFUSED_CALLS)
def test_dangerous_calls_are_refused(
    code: str, tmp_path: Path, holds: list[str]
) -> None:
    if "seccomp" not in holds:
        pytest.skip("there is no filter of system calls here")
    assert outcome_of(code, tmp_path) == "PermissionError"


def test_threads_can_still_be_started(tmp_path: Path) -> None:
    code = "t = threading.Thread(target=print, args=('',)); t.start(); t.join()"
    assert outcome_of(code, tmp_path) == "done"


def test_files_outside_the_folder_are_not_accessible(
    tmp_path: Path, holds: list[str]
) -> None:
    if not any(each.startswith("landlock") for each in holds):
        pytest.skip("the kernel restricts no files")
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "secret").write_text("x")
    (own / "mine").write_text("x")
    (own / "link").symlink_to(other / "secret")
    assert outcome_of("open('mine').read(); open('new', 'w')", own) == "done"
    for code in (
        f"open({str(other / 'secret')!r})",
        f"open({str(other / 'new')!r}, 'w')",
        f"os.unlink({str(other / 'secret')!r})",
        f"os.rename('mine', {str(other / 'mine')!r})",
        "open('link')",
        "open('/etc/passwd')",
    ):
        assert outcome_of(code, own) in {"PermissionError", "OSError"}, code
    assert [each.name for each in other.iterdir()] == ["secret"]


@pytest.mark.parametrize(
    ("code", "limits", "outcome"),
    [
        ("bytearray(300 << 20)", {"memory": 200 << 20}, "MemoryError"),
        ("bytearray(100 << 20)", {"memory": 200 << 20}, "done"),
        ("open('x', 'wb').write(bytes(4096))", {"output": 4096}, "done"),
        (
            "f = open('x', 'wb', 0); f.write(bytes(4096)); f.write(b'x')",
            {"output": 4096},
            "OSError",
        ),
        ("keep = [open('/dev/null') for _ in range(64)]", {}, "OSError"),
    ],
)
def test_a_limit_holds(
    code: str, limits: dict[str, int], outcome: str, tmp_path: Path
) -> None:
    assert outcome_of(code, tmp_path, **limits) == outcome


def test_a_process_is_killed_after_its_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsym.server.confined_process._STARTING", 0)
    monkeypatch.setattr(
        "gsym.server.confined_process._BOOTSTRAP", "import time; time.sleep(60)"
    )
    started = time.monotonic()
    with pytest.raises(ConfinedError, match="more than 0 seconds"):
        run_confined("probe", {}, str(tmp_path), ChildLimits(seconds=0))
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), 11)", f"signal {signal.SIGSEGV:d}"),
        ("import sys; sys.exit(7)", "exit status 7"),
        ("pass", "without an answer"),
        ("open('answer.json', 'w').write('{')", "without an answer"),
        ("open('answer.json', 'w').write('3')", "without an answer"),
        ("open('answer.json', 'w').write('{' + ' ' * 2**24 + '}')", "without"),
        ("import os; os.symlink('/etc/passwd', 'answer.json')", "without an answer"),
        ("import os; os.mkfifo('answer.json')", "without an answer"),
    ],
)
def test_a_process_that_crashes_gives_no_answer(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsym.server.confined_process._BOOTSTRAP", code)
    with pytest.raises(ConfinedError, match=reason):
        run_confined("probe", {}, str(tmp_path), ChildLimits())


def failing(function: str, number: str) -> str:
    """Code of a process in which a function that tasks use fails."""
    return (
        "import errno, json, sys\n"
        "order = json.load(sys.stdin.buffer)\n"
        "sys.path[:] = order['path']\n"
        "from gsym.server import confined_process\n"
        "def fail(*_):\n"
        f"    raise OSError(errno.{number}, 'failed')\n"
        f"confined_process.{function} = fail\n"
        "confined_process.run_order(order)\n"
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("ENOMEM", LimitError), ("EFBIG", LimitError)),
        *(("ENOSPC", OSError), ("EDQUOT", OSError)),
        ("EIO", FormatError),
    ],
)
def test_a_system_error_is_not_an_error_of_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: type[Exception]
) -> None:
    code = failing("probe", name)
    monkeypatch.setattr("gsym.server.confined_process._BOOTSTRAP", code)
    with pytest.raises(kind) as caught:
        run_confined("probe", {}, str(tmp_path), ChildLimits())
    assert type(caught.value) is kind


def test_a_full_disk_is_not_an_error_of_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = failing("json.dump", "ENOSPC")
    monkeypatch.setattr("gsym.server.confined_process._BOOTSTRAP", code)
    with pytest.raises(OSError, match="No space left"):
        run_confined("probe", {}, str(tmp_path), ChildLimits())


def test_credentials_of_the_server_are_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    code = "import json, os; json.dump(dict(os.environ), open('answer.json', 'w'))"
    monkeypatch.setattr("gsym.server.confined_process._BOOTSTRAP", code)
    answer = run_confined("probe", {}, str(tmp_path), ChildLimits())
    assert "SECRET_TOKEN" not in answer
    assert answer["TMPDIR"] == str(tmp_path)


def test_modules_are_not_loaded_from_the_folder(tmp_path: Path) -> None:
    for name in ("json.py", "gsym.py", "sitecustomize.py"):
        (tmp_path / name).write_text("raise SystemExit(9)")
    assert "limits" in confinement_report(str(tmp_path), ChildLimits())


def test_errors_do_not_contain_paths_of_the_server(tmp_path: Path) -> None:
    bad = tmp_path / "bad.gsym"
    bad.write_bytes(b"MYSG" + bytes(100))
    arguments = {
        "path": str(bad),
        "key": ["", "", "", ""],
        "identity": [],
        "store": str(tmp_path / "store"),
        "most_inflated": 1 << 20,
    }
    with pytest.raises(FormatError) as caught:
        run_confined("add", arguments, str(tmp_path), ChildLimits())
    assert str(tmp_path) not in str(caught.value)


# ---- the filter


@pytest.mark.parametrize(("column", "machine"), list(enumerate(HEADERS)))
def test_system_call_numbers_match_the_headers(column: int, machine: str) -> None:
    try:
        text = Path(HEADERS[machine]).read_text(encoding="ascii")
    except FileNotFoundError:
        pytest.skip("the headers of the system are not installed")
    known = dict(re.findall(r"#define __NR_(\w+)\s+(\d+)\b", text))
    assert known
    for name, both in NUMBERS.items():
        number = both[column]
        assert known.get(name) == (None if number is None else str(number)), name


@pytest.mark.parametrize("machine", HEADERS)
def test_every_jump_of_the_filter_is_in_range(machine: str) -> None:
    program = filter_program(machine)
    assert program is not None
    steps = list(struct.iter_unpack("HBBI", program))
    for at, (code, when, otherwise, _) in enumerate(steps):
        if code & 7 == 5:
            assert at + 1 + max(when, otherwise) < len(steps)
    assert steps[-1] == (6, 0, 0, 0x7FFF0000)


def test_there_is_no_filter_for_other_machines() -> None:
    assert filter_program("riscv64") is None
