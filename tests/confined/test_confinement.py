"""A confined process: what it cannot do, and what becomes of one that tries."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from gsym.confined import process as confined_process
from gsym.confined.confinement import (
    NUMBERS,
    ChildLimits,
    filter_program,
    restrict_files,
)
from gsym.confined.forkserver import ForkServer
from gsym.confined.process import (
    ConfinedError,
    confinement_report,
    run_confined,
)
from gsym.errors import FormatError, LimitError
from gsym.server.modules import child_limits
from tests.confined.attacks import attacks
from tests.server.running import made_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        "from gsym.confined.confinement import ChildLimits, confine\n"
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


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What became of each attack; none has left a trace."""
    own, other = tmp_path_factory.mktemp("own"), tmp_path_factory.mktemp("other")
    secret = other / "secret"
    secret.write_text("x")

    def state() -> list[object]:
        status = secret.stat()
        return [
            (status.st_mode, status.st_uid, status.st_nlink, status.st_mtime_ns),
            os.listxattr(secret),
            secret.read_text(),
            [*other.iterdir()],
            resource.getrlimit(resource.RLIMIT_NOFILE),
            os.getpriority(os.PRIO_PROCESS, 0),
            os.sched_getaffinity(0),
        ]

    before = state()
    module = "tests.confined.attacks"
    command = [sys.executable, "-m", module, str(own), str(other)]
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    measures, found = json.loads(done.stdout)
    if "seccomp" not in measures or not any("landlock" in each for each in measures):
        pytest.skip("this kernel does not confine files and calls")
    assert state() == before
    return dict(found)


@pytest.mark.parametrize("name", attacks(""))
def test_an_attack_from_inside_fails(name: str, attacked: dict[str, str]) -> None:
    assert attacked[name] != "done"


def test_work_is_not_hindered(attacked: dict[str, str]) -> None:
    assert attacked["work"] == "done"


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


@pytest.fixture
def run_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    """Run a function of `confined_tasks` in a confined process."""

    def run(name: str, **limits: int) -> dict[str, Any]:
        task = ("tests.confined.tasks", name)
        monkeypatch.setitem(confined_process.TASKS, "probe", task)
        return run_confined("probe", {}, str(tmp_path), ChildLimits(**limits))

    return run


def test_a_process_is_killed_after_its_time_limit(
    run_task: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined_process, "_STARTING", 1)
    started = time.monotonic()
    with pytest.raises(ConfinedError, match="more than 0 seconds"):
        run_task("sleep", seconds=0)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crash", f"signal {signal.SIGSEGV:d}"),
        ("fail", "exit status 7"),
        ("end", "without an answer"),
        ("answer_half", "without an answer"),
        ("answer_number", "without an answer"),
        ("answer_too_much", "without"),
        ("answer_link", "without an answer"),
        ("answer_pipe", "without an answer"),
    ],
)
def test_a_process_that_crashes_gives_no_answer(
    name: str, reason: str, run_task: Callable[..., dict[str, Any]]
) -> None:
    with pytest.raises(ConfinedError, match=reason):
        run_task(name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("lack_memory", LimitError), ("write_too_much", LimitError)),
        *(("fill_the_disk", OSError), ("exceed_the_quota", OSError)),
        ("read_a_bad_disk", FormatError),
    ],
)
def test_a_system_error_is_not_an_error_of_the_input(
    name: str, kind: type[Exception], run_task: Callable[..., dict[str, Any]]
) -> None:
    with pytest.raises(kind) as caught:
        run_task(name)
    assert type(caught.value) is kind


def test_a_full_disk_is_not_an_error_of_the_input(
    run_task: Callable[..., dict[str, Any]],
) -> None:
    with pytest.raises(OSError, match="No space left"):
        run_task("fill_the_disk_with_the_answer")


FAILING_FORK = """
import errno, os
fork = os.fork
def fork_once_more():
    os.fork = fork
    raise BlockingIOError(errno.EAGAIN, "too many processes")
os.fork = fork_once_more
def run(order):
    pass
"""


@pytest.fixture
def fork_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServer]:
    """A server of its own, which starts with its first process."""
    server = ForkServer("gsym.confined.process:run_order", [])
    monkeypatch.setattr(confined_process, "FORKS", server)
    yield server
    server.close()


@pytest.mark.usefixtures("fork_server")
def test_only_named_variables_of_the_server_are_passed_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_task: Callable[..., dict[str, Any]],
) -> None:
    kept = {"LANG", "LC_ALL", "LD_LIBRARY_PATH", "LD_PRELOAD"}
    kept |= {f"{name}_OPTIONS" for name in ("ASAN", "LSAN", "UBSAN")}
    for name in kept:
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.setenv("SECRET_TOKEN", "x")
    answer = run_task("show_environment")
    assert answer.keys() >= kept
    assert "SECRET_TOKEN" not in answer
    assert answer["TMPDIR"] == str(tmp_path)


def test_a_process_has_no_descriptors_but_its_own(
    run_task: Callable[..., dict[str, Any]],
) -> None:
    assert run_task("list_descriptors")["open"] == [0, 1, 2]


def test_processes_run_side_by_side_and_by_one_server(
    fork_server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = ("tests.confined.tasks", "wait_for_the_other")
    monkeypatch.setitem(confined_process.TASKS, "probe", task)

    def run(number: int) -> dict[str, Any]:
        folder = tmp_path / f"{number}"
        folder.mkdir()
        shared = [str(tmp_path / "0"), str(tmp_path / "1")]
        return run_confined(
            *("probe", {"number": number}, str(folder), ChildLimits()), readable=shared
        )

    with ThreadPoolExecutor() as pool:
        first, second = pool.map(run, range(2))
    assert first["parent"] == second["parent"] == fork_server.pid


def test_the_server_is_replaced_after_a_fault_and_when_it_was_killed(
    fork_server: ForkServer, run_task: Callable[..., dict[str, Any]]
) -> None:
    servers = [run_task("show_parent")["parent"]]
    with pytest.raises(ConfinedError):
        run_task("crash")
    servers.append(run_task("show_parent")["parent"])
    assert fork_server.pid is not None
    os.kill(fork_server.pid, signal.SIGKILL)
    with suppress(ChildProcessError):  # it may die after it got the order
        run_task("show_parent")
    servers.append(run_task("show_parent")["parent"])
    assert len(set(servers)) == 3


def test_a_process_lost_with_its_server_is_not_an_error_of_the_input(
    fork_server: ForkServer, run_task: Callable[..., dict[str, Any]]
) -> None:
    running: list[int] = []
    fork_server.show = running.append
    run_task("show_parent")
    assert fork_server.pid is not None
    os.kill(fork_server.pid, signal.SIGSTOP)
    with ThreadPoolExecutor() as pool:
        lost = pool.submit(run_task, "show_parent")
        while len(running) < 3:  # until it has begun
            time.sleep(0.001)
        time.sleep(0.1)
        os.kill(fork_server.pid, signal.SIGKILL)
        with pytest.raises(ChildProcessError):
            lost.result()


def test_processes_that_end_at_their_time_limit_do_not_end_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import time\ndef run(order): time.sleep(0.02)\n"
    (tmp_path / "short_sleep.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    server = ForkServer("short_sleep:run", ["short_sleep"])
    try:
        order = {"folder": str(tmp_path)}
        server.run(order, 10)
        first = server.pid
        limits = [0.02 + 0.0002 * (number % 40) for number in range(400)]
        with ThreadPoolExecutor(8) as pool:
            found = {*pool.map(server.run, [order] * len(limits), limits)}
        assert found <= {0, None}
        assert server.pid == first
    finally:
        server.close()


def test_a_fork_that_fails_is_the_error_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_fork.py").write_text(FAILING_FORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    server = ForkServer("failing_fork:run", ["failing_fork"])
    try:
        order = {"folder": str(tmp_path)}
        with pytest.raises(ChildProcessError):
            server.run(order, 10)
        first = server.pid
        assert server.run(order, 10) == 0
        assert server.pid == first
    finally:
        server.close()


def test_the_server_is_replaced_after_many_processes(
    fork_server: ForkServer,
    run_task: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del fork_server
    monkeypatch.setattr("gsym.confined.forkserver._MOST_FORKS", 2)
    parents = [run_task("show_parent")["parent"] for _ in range(5)]
    assert [parents.count(each) for each in dict.fromkeys(parents)] == [2, 2, 1]


def test_a_process_does_not_sync_its_temporary_files(
    run_task: Callable[..., dict[str, Any]], holds: list[str]
) -> None:
    if "seccomp" not in holds:
        pytest.skip("there is no filter of system calls here")
    # No file is open with this number: a sync that is tried fails.
    assert run_task("sync_nothing")["failed"] is False


def test_the_limits_of_a_process_are_those_of_the_settings() -> None:
    usual = ChildLimits()
    assert child_limits(made_settings(), usual.output) == usual


@pytest.mark.parametrize(
    ("version", "words"), [(1, 1), (3, 1), (4, 2), (5, 2), (6, 3), (7, 3)]
)
def test_each_version_of_landlock_is_given_what_it_knows(
    version: int, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Networks since version 4, scopes since 6: landlock_create_ruleset(2)."""
    asked: list[tuple[Any, ...]] = []

    def syscall(*given: object) -> int:
        asked.append(given)
        return version if len(asked) == 1 else -1

    library = SimpleNamespace(syscall=syscall)
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: library)
    assert restrict_files([], []) == 0
    (_, (_, attributes, size, _)) = asked
    assert len(attributes) == size == 8 * words


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
    newest = max(map(int, known.values()))
    for name, both in NUMBERS.items():
        number = both[column]
        if number is None or number <= newest:
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
