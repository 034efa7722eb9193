"""The launcher beside the commands in Python: the same bytes, texts and exit status.

What the launcher leaves to Python runs `gsym-python`, in whose place the tests put a
script that only says that it was called, and with what.
"""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import REPOSITORY
from tests.freeze.damaged import mutants, records
from tests.freeze.inputs import write_made_files
from tests.freeze.transcripts import MAINS, masked, run, run_all, sections
from tools.fuzz_seeds import images
from tools.mutate.seeds import single

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = REPOSITORY / "build/launcher"
pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "gsym").exists(), reason="no launcher was built"
)
LEFT = 99  # exit status of what stands for the command in Python
DAMAGED_PROGRAMS = 100
NAMES = 600  # more than are missing in one block of text

# Command lines that the launcher answers itself.
ANSWERED = """
gsym lookup app.gsym 0x1008
gsym lookup app.gsym 4104
gsym lookup app.gsym 00001008 0000000000001000 100c
gsym lookup -C app.gsym 0x1008
gsym lookup app.gsym 0x1008 --no-demangle
gsym lookup --no-demangle --demangle app.gsym 0x1008
gsym lookup --oneline app.gsym 0x1008 0x1018 0x1080
gsym lookup app.gsym 0x1000 0x1000 0x1008 0x1000
gsym lookup ./app.gsym 0x100C
gsym lookup big.gsym 0x1008
gsym lookup two.gsym 0x1008
gsym lookup many.gsym {many}
gsym lookup --no-demangle many.gsym {many}
gsym lookup --oneline many.gsym {many}
gsym lookup no.lines 0x1000
gsymutil app.gsym --address=0x1008 --address=0x2000
gsymutil --address=4104 app.gsym
gsymutil --address=0 app.gsym
gsymutil app.gsym --address=0x1008 --merged-functions
gsymutil odd.gsym --address=0x1008
gsymutil --address=0x1008 cut.record
gsym-addr2line -e app.gsym 0x1008 0x2000
gsym-addr2line -e app.gsym 1008 100C FFFFFFFFFFFFFFFF
gsym-addr2line -eapp.gsym 1008
gsym-addr2line --exe=app.gsym -f 1008
gsym-addr2line -fie app.gsym 1008
gsym-addr2line 1008 -e app.gsym --functions --inlines --demangle --addresses
gsym-addr2line --pretty-print --basenames -f -e app.gsym 1008 1018 0
gsym-addr2line -fe odd.gsym 1008
gsym-addr2line -fe cut.record 1008
gsym-addr2line -fCe many.gsym {many}
gsym-symbolizer --obj=app.gsym 0x1008 0x2000
gsym-symbolizer -e app.gsym 4104
gsym-symbolizer --obj=app.gsym --verbose 0x1008
gsym-symbolizer --obj=app.gsym --output-style=GNU --pretty-print 0x1008
gsym-symbolizer --obj=app.gsym --output-style=GNU --no-inlines 0x1008
gsym-symbolizer --no-demangle --obj=odd.gsym 0x1008
gsym-symbolizer --obj=cut.record 0x1008
gsym-symbolizer --obj=many.gsym {many}
"""
# Command lines that it leaves to Python.
OTHERS = """
gsym
gsym lookup
gsym lookup app.gsym
gsym lookup app.gsym 0x2000
gsym lookup app.gsym 1008
gsym lookup 0x1008
gsym lookup app.gsym main+8
gsym lookup app.gsym 0b11
gsym lookup app.gsym 0X1008
gsym lookup app.gsym x
gsym lookup app.gsym ''
gsym lookup '' 0x1008
gsym lookup app.gsym 0x10000000000000000
gsym lookup app.gsym 18446744073709551616
gsym lookup --json app.gsym 0x1008
gsym lookup --strict app.gsym 0x1008
gsym lookup --frobnicate app.gsym 0x1008
gsym lookup -- app.gsym 0x1008
gsym lookup none.gsym 0x1008
gsym lookup cut.gsym 0x1008
gsym lookup cut.record 0x1008
gsym lookup odd.gsym 0x1008
gsym lookup swift.gsym 0x1008
gsym lookup program 0x1008
gsym lookup . 0x1008
gsym lookup https://127.0.0.1/app.gsym 0x1008
gsym stats app.gsym
gsym help lookup
gsymutil app.gsym
gsymutil --address=0x1008
gsymutil app.gsym app.gsym --address=0x1008
gsymutil --address=010 app.gsym
gsymutil --address=1008x app.gsym
gsymutil --address=-1 app.gsym
gsymutil --address= app.gsym
gsymutil --address 0x1008 app.gsym
gsymutil --address=0x1008 -
gsymutil --address=0x1008 --verbose app.gsym
gsymutil --address=0x1008 none.gsym
gsym-addr2line 1008
gsym-addr2line -e app.gsym
gsym-addr2line -e
gsym-addr2line -e app.gsym main
gsym-addr2line -e app.gsym -j .text 1008
gsym-addr2line -e app.gsym --func 1008
gsym-addr2line -e app.gsym --demangle=auto 1008
gsym-addr2line -e app.gsym @app.log
gsym-addr2line -e app.gsym -- 1008
gsym-addr2line -e app.gsym -- -1
gsym-addr2line -e app.gsym 0x 1008
gsym-addr2line -e app.gsym -fx 1008
gsym-addr2line -e none.gsym 1008
gsym-addr2line --help
gsym-symbolizer 0x1008
gsym-symbolizer 'app.gsym 0x1008'
gsym-symbolizer --obj=app.gsym
gsym-symbolizer --obj=app.gsym main
gsym-symbolizer --obj=app.gsym 'DATA 0x1000'
gsym-symbolizer --obj=app.gsym 1f
gsym-symbolizer --obj=app.gsym 010
gsym-symbolizer --obj=app.gsym --output-style=JSON 0x1008
gsym-symbolizer --obj=app.gsym -fi 0x1008
gsym-symbolizer --obj=app.gsym:x86_64 0x1008
gsym-symbolizer --obj=none.gsym 0x1008
gsym-symbolizer --version
"""
# Options of each program that go with each other.
OPTIONS = {
    "gsym lookup": "--oneline --no-demangle -C",
    "gsymutil": "--merged-functions",
    "gsym-addr2line": "-a -f -i -p -s -C",
    "gsym-symbolizer": "-a -s -p --verbose --no-inlines --inlining --no-demangle "
    "--output-style=GNU",
}
ASKED = {
    "gsym lookup": "app.gsym 0x1008 0x1080 0x103f",
    "gsymutil": "app.gsym --address=0x1008 --address=0x1080 --address=0x5000",
    "gsym-addr2line": "-e app.gsym 1008 1080 5000",
    "gsym-symbolizer": "--obj=app.gsym 0x1008 0x1080 0x5000",
}


def _file(*functions: gsym.FunctionInfo, **options: str | int) -> bytes:
    with gsym.Creator(**options) as creator:  # type: ignore[arg-type]
        for each in functions:
            creator.add(each)
        return creator.to_bytes()


def _function(name: str, path: str = "/src/app.cc") -> gsym.FunctionInfo:
    return gsym.FunctionInfo(0x1000, 0x40, name, (gsym.LineEntry(0x1000, path, 3),))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("files")
    write_made_files(place)
    plain = _function("_ZN1a5innerEv")
    names = (f"_ZN1a{len(str(i)) + 1}f{i}Ei" for i in range(NAMES))
    contents = {
        "cut.record": next(data for _, data in records()),
        "big.gsym": _file(plain, byteorder="big"),
        "two.gsym": _file(plain, version=2),
        "no.lines": _file(gsym.FunctionInfo(0x1000, 0, "main")),
        "odd.gsym": _file(_function("a\x1b\udcff\u00e9", "/\u00e9\n/x")),
        "swift.gsym": _file(_function("$s4main3fooyyF")),
        "many.gsym": _file(
            *(
                gsym.FunctionInfo(0x1000 + 16 * i, 16, name)
                for i, name in enumerate(names)
            )
        ),
    }
    for name, data in contents.items():
        (place / name).write_bytes(data)
    return place


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `gsym-python` that prints its words."""
    place = tmp_path_factory.mktemp("left")
    _script(place / "gsym-python", f'printf "%s\\0" "$@"; exit {LEFT}')
    return place


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a real one."""
    place = tmp_path_factory.mktemp("real")
    code = "from gsym.cli.commands import run; run()"
    command = f"{sys.executable} -c {shlex.quote(code)}"
    _script(
        place / "gsym-python",
        f'PYTHONPATH={shlex.quote(str(REPOSITORY))} exec {command} "$@"',
    )
    return place


def _script(path: Path, body: str, interpreter: str = "/bin/sh") -> None:
    path.write_text(f"#!{interpreter}\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def _environment(place: Path, **variables: str) -> dict[str, str]:
    kept = {
        name: os.environ[name]
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_PRELOAD")
        if name in os.environ
    }
    return {"PATH": f"{place}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"} | kept | variables


def launched(
    words: list[str], folder: Path, place: Path, **variables: str
) -> tuple[bytes, bytes, int]:
    """Standard output, standard error and exit status of a program of the launcher."""
    done = subprocess.run(
        [PROGRAMS / words[0], *words[1:]],
        cwd=folder,
        env=_environment(place, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode


def words_of(line: str) -> list[str]:
    many = [hex(0x1000 + 16 * i + i % 16) for i in range(NAMES)]
    return [
        word
        for each in shlex.split(line)
        for word in (many if each == "{many}" else [each])
    ]


def lines_of(table: str) -> list[str]:
    return table.strip().splitlines()


def all_options() -> Iterator[str]:
    for program, options in OPTIONS.items():
        given = options.split()
        for count in range(1, len(given) + 1):
            for chosen in combinations(given, count):
                yield f"{program} {' '.join(chosen)} {ASKED[program]}"


def test_answers_are_those_of_the_commands_in_python(folder: Path, left: Path) -> None:
    commands = [words_of(line) for line in (*lines_of(ANSWERED), *all_options())]
    for words, expected in zip(commands, run_all(commands, folder), strict=True):
        assert launched(words, folder, left) == expected, words


def test_other_command_lines_are_left_to_python_unchanged(
    folder: Path, left: Path
) -> None:
    for line in lines_of(OTHERS):
        words = words_of(line)
        out, err, status = launched(words, folder, left)
        assert (err, status) == (b"", LEFT), line
        assert out.split(b"\0")[:-1] == [word.encode() for word in words], line


def test_all_recorded_command_lines_have_the_same_end(folder: Path, left: Path) -> None:
    lines = [each for part in sections("made.txt").values() for each in part]
    count = 0
    for line in lines:
        words = shlex.split(line.partition(" < ")[0])
        if words[0] not in MAINS or "serve" in words:
            continue
        found = launched(words, folder, left)
        if found[2] != LEFT:
            count += 1
            assert found == run(words, b"", folder), line
    assert count


def test_a_variable_that_changes_python_or_a_command_leaves_it_to_them(
    folder: Path, left: Path
) -> None:
    changing = {
        "gsym lookup app.gsym 0x1008": {"PYTHONPATH": "/", "PYTHONVERBOSE": "1"},
        "gsymutil --address=0x1008 app.gsym": {"PYTHONINSPECT": ""},
        "gsym-addr2line -e app.gsym 1008": {"POSIXLY_CORRECT": ""},
        "gsym-symbolizer -e app.gsym 0x1008": {"LLVM_SYMBOLIZER_OPTS": "-a"},
    }
    for line, variables in changing.items():
        words = line.split()
        for name, value in variables.items():
            assert launched(words, folder, left, **{name: value})[2] == LEFT, name
        harmless = {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        harmless |= {"DEBUGINFOD_URLS": "http://127.0.0.1", "HOME": "/none"}
        assert launched(words, folder, left, **harmless)[2] == 0


@pytest.mark.parametrize("program", ASKED)
@pytest.mark.parametrize(
    "streams",
    [
        *(">&-", "2>&-", "<&-", ">/dev/full", "1</dev/null", "| true", ">same"),
        ">same 3>limit",
    ],
)
def test_streams_end_a_command_as_in_python(
    folder: Path, real: Path, program: str, streams: str
) -> None:
    """Closed streams, a full disk, one that is open for reading, a closed pipe.

    And a file that may not grow.
    """
    words = f"{program} {ASKED[program].replace('5000', '1000')}"
    name, _, rest = words.partition(" ")

    def outcome(command: str) -> tuple[int, bytes, bytes]:
        (folder / "same").unlink(missing_ok=True)
        line = f"{command} {rest} {streams}"
        if "|" in streams:  # the other end closes first
            line = f"{{ sleep 0.2; {command} {rest}; echo $? >same; }} {streams}"
        if "limit" in streams:
            line = f"ulimit -f 0; {line}"
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=_environment(real),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        same = folder / "same"
        made = same.read_bytes() if same.exists() else b""
        return done.returncode, done.stderr, done.stdout + made

    ours = outcome(shlex.quote(str(PROGRAMS / name)))
    assert ours == outcome(f"{shlex.quote(str(real))}/gsym-python {name}")


@pytest.mark.parametrize("name", ["app.gsym", "odd.gsym"])
def test_a_terminal_gets_what_python_writes_to_it(
    folder: Path, real: Path, name: str
) -> None:
    for program, rest in ASKED.items():
        command, *words = f"{program} {rest}".replace("app.gsym", name).split()
        given = [word.replace("5000", "1000").replace("1080", "1010") for word in words]
        outputs = []
        for start in ([PROGRAMS / command], [real / "gsym-python", Path(command)]):
            ours, theirs = pty.openpty()
            with os.fdopen(ours, "rb", buffering=0) as terminal:
                subprocess.run(
                    [*start, *given],
                    cwd=folder,
                    env=_environment(real),
                    stdout=theirs,
                    check=True,
                )
                fcntl.fcntl(terminal, fcntl.F_SETFL, os.O_NONBLOCK)
                outputs.append(terminal.read(1 << 16))
                os.close(theirs)
        assert outputs[0] == outputs[1]
        assert outputs[0]


def test_a_named_pipe_is_left_to_python_unopened(folder: Path, tmp_path: Path) -> None:
    """What is written to it is for the first that opens it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    _script(tmp_path / "gsym-python", 'exec cat "$3"')
    data = (folder / "app.gsym").read_bytes()
    with subprocess.Popen(
        ["bash", "-c", 'exec cat "$0" >"$1"', folder / "app.gsym", pipe]
    ) as writer:
        done = subprocess.run(
            [PROGRAMS / "gsym", "lookup", pipe, "0x1008"],
            env=_environment(tmp_path),
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.stdout, writer.wait()) == (data, 0)


def test_python_is_found_beside_the_program(folder: Path, tmp_path: Path) -> None:
    """By the script; by the interpreter beside it if that of the script is gone.

    And in a virtual environment, where a shell may be that of the script.
    """
    place = tmp_path / "bin with blanks"
    place.mkdir()
    link = tmp_path / "addr2line"
    link.symlink_to(place / "gsym-addr2line")
    shutil.copy(PROGRAMS / "gsym-addr2line", place)

    def output() -> str:
        done = subprocess.run(
            [link, "-e", "none", "-f"],
            cwd=folder,
            env=_environment(tmp_path),
            capture_output=True,
            check=False,
            text=True,
        )
        return str(done.stdout or done.stderr)

    beside = place / "gsym-python"
    assert output().startswith("gsym-addr2line: error: cannot run gsym-python: ")
    _script(beside, 'echo script "$@"')
    assert output() == "script gsym-addr2line -e none -f\n"
    _script(beside, "", interpreter="/none/python3")
    _script(place / "python3", 'echo moved "$@"')
    moved = f"moved {beside} gsym-addr2line -e none -f\n"
    assert output() == moved
    _script(beside, "exec /none/python3")
    (tmp_path / "pyvenv.cfg").touch()
    assert output() == moved


@pytest.mark.hostile
def test_damaged_files_are_answered_as_in_python_or_left_to_it(
    left: Path, tmp_path: Path
) -> None:
    for name, data in images():
        choice = Random(name)  # noqa: S311 - no secret
        with gsym.Reader(data) as reader:
            starts = [each.start for each in reader.functions()][:4]
        asked = [hex(each + choice.randrange(16)) for each in starts]
        addresses = " ".join(f"--address={each}" for each in asked)
        answered = []
        for number, (damage, damaged) in enumerate(
            mutants(single(f"launcher-{name}", "gsym", data))
        ):
            (tmp_path / f"x{number}").write_bytes(damaged)
            lines = (
                f"gsym lookup x{number} {' '.join(asked)}",
                f"gsymutil --merged-functions x{number} {addresses}",
                f"gsym-addr2line -afiCe x{number} {' '.join(asked)}",
                f"gsym-symbolizer --obj=x{number} {' '.join(asked)}",
            )
            words = lines[number % len(lines)].split()
            found = launched(words, tmp_path, left)
            assert (found[1], found[2] in {0, LEFT}) == (b"", True), (damage, words)
            if found[2] == 0:
                answered.append((damage, words, found))
        expected = run_all([words for _, words, _ in answered], tmp_path)
        for (damage, words, found), each in zip(answered, expected, strict=True):
            assert found == each, (damage, words)


# ---- conversions

SOURCE = """
struct shape { int sides; int area() const; };
static inline int twice(int value) { return 2 * value + value % 3; }
int shape::area() const { return twice(sides) * sides; }
template <class T> T most(T one, T other) { return one < other ? other : one; }
int main(int count, char **) {
    shape found{count};
    return most<long>(found.area(), twice(count));
}
"""
# Programs that the launcher converts, by the options of the compiler.
CONVERTED = """
-g
-g -O2
-g -O2 -no-pie
-g1 -O2
-g -O2 -gdwarf-4
-g -O2 -gdwarf-5 -fdebug-types-section
-g -O2 -ffunction-sections -Wl,--gc-sections
-g -O2 -shared -fPIC
-g -O2 -flto
"""
# Those that it leaves to Python: of a different form, or without a build id.
OTHER_PROGRAMS = """
-O2
-g -O2 -s
-g -O2 -c
-g -O2 -gz
-g -O2 -gsplit-dwarf
"""
WITHOUT_ID = """
-g -O2 -Wl,--build-id=none
-g -O2 -Wl,--build-id=md5
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("not installed: g++")
    (tmp_path / "app.cc").write_text(SOURCE)
    return tmp_path


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def _compile(folder: Path, options: str) -> None:
    command = ["g++", *options.split(), "app.cc", "-o", "app"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _outcome(
    found: tuple[bytes, bytes, int], output: Path, folder: Path
) -> tuple[bytes, bytes, int, bytes]:
    data = output.read_bytes()
    output.unlink()
    return (masked(found[0], folder), *found[1:], data)


@pytest.mark.parametrize("options", lines_of(CONVERTED))
def test_conversions_are_those_of_the_command_in_python(
    source: Path, left: Path, options: str
) -> None:
    _compile(source, options)
    for line, name in (
        ("gsym convert app", "app.gsym"),
        ("gsym convert ./app -o other", "other"),
        ("gsym convert --output other app", "other"),
        ("gsym convert -q app", "app.gsym"),
        ("gsym convert app --quiet --no-index -j 1", "app.gsym"),
        ("gsym convert --threads 256 app --threads=2", "app.gsym"),
    ):
        words, output = line.split(), source / name
        ours = _outcome(launched(words, source, left), output, source)
        assert ours == _outcome(run(words, b"", source), output, source), line
        assert names_in(source) == {"app", "app.cc"}


@pytest.mark.parametrize("options", [*lines_of(OTHER_PROGRAMS), *lines_of(WITHOUT_ID)])
def test_other_conversions_are_left_to_python(
    source: Path, left: Path, options: str
) -> None:
    _compile(source, options)
    before = names_in(source)
    words = ["gsym", "convert", "app"]
    assert launched(words, source, left)[2] == LEFT
    assert names_in(source) == before


def test_a_conversion_is_left_to_python_where_it_would_say_more(
    source: Path, left: Path
) -> None:
    _compile(source, "-g -O0")
    (source / "pipe").mkdir()
    (source / "empty").write_bytes(b"")
    os.link(source / "app", source / "same")
    (source / "nowhere").symlink_to("unmade")
    for line in (
        "gsym convert",
        "gsym convert app app",
        "gsym convert app -qv",
        "gsym convert app -j",
        "gsym convert app -j 0",
        "gsym convert app -j 257",
        "gsym convert app -j 02",
        "gsym convert app --threads=",
        "gsym convert app --threads=+1",
        "gsym convert app --threads=99999999999999999999",
        "gsym convert app --output=other",
        "gsym convert app -o -",
        "gsym convert app -o ''",
        "gsym convert app -o",
        "gsym convert app -o same",
        "gsym convert app -o pipe",
        "gsym convert app -o nowhere",
        "gsym convert app -o none/app.gsym",
        "gsym convert none",
        "gsym convert empty",
        "gsym convert .",
        "gsym convert app.cc",
        "gsym convert @app",
        "gsym convert -- app",
    ):
        before = names_in(source)
        assert launched(shlex.split(line), source, left)[2] == LEFT, line
        assert names_in(source) == before
    # Without inlined calls, a file that has them may be better.
    assert launched(["gsym", "convert", "app"], source, left)[2] == 0
    assert launched(["gsym", "convert", "app"], source, left)[2] == LEFT


def _commands_with(addresses: list[str]) -> Iterator[list[str]]:
    for command in ("gsym lookup app", "gsym lookup --oneline --no-demangle app"):
        yield [*command.split(), *addresses]
    for command in ("-fie app", "-apsCe app"):
        yield ["gsym-addr2line", *command.split(), *addresses, "0"]
    for command in ("--obj=app", "--verbose --no-demangle -e app"):
        yield ["gsym-symbolizer", *command.split(), *addresses, "0"]


@pytest.mark.parametrize("options", [*lines_of(CONVERTED), *lines_of(WITHOUT_ID)])
def test_lookups_in_a_program_are_those_of_the_command_in_python(
    source: Path, left: Path, options: str
) -> None:
    _compile(source, options)
    gsym.convert(source / "app", source / "app.gsym")
    with gsym.open(source / "app.gsym") as reader:
        starts = [each.start for each in reader.functions() if each.line_table]
    (source / "app.gsym").unlink()
    commands = [*_commands_with([hex(each + 1) for each in starts])]
    for words, expected in zip(commands, run_all(commands, source), strict=True):
        assert launched(words, source, left, HOME=str(source)) == expected, words


def test_lookups_in_other_programs_are_left_to_python(source: Path, left: Path) -> None:
    words = ["gsym-addr2line", "-e", "app", "0"]
    for options in lines_of(OTHER_PROGRAMS):
        _compile(source, options)
        assert launched(words, source, left, HOME=str(source))[2] == LEFT, options


def test_a_lookup_in_a_program_is_left_to_python_where_another_file_may_be_used(
    source: Path, left: Path
) -> None:
    _compile(source, "-g")
    words = ["gsym-addr2line", "-e", "app", "0"]
    for folder in ("old", "data/gsym/store", "home/.local/share/gsym/store"):
        (source / folder).mkdir(parents=True)
    home = {"HOME": str(source)}

    def is_left(**variables: str) -> bool:
        return launched(words, source, left, **variables)[2] == LEFT

    assert not is_left(**home)
    assert not is_left(**home, GSYM_STORE="none", XDG_DATA_HOME="data")
    assert is_left()
    assert is_left(HOME=f"{source}/home")
    assert is_left(**home, XDG_DATA_HOME="data")
    assert is_left(**home, GSYM_STORE="old")
    assert is_left(HOME="x" * 4096)
    (source / "link").symlink_to("app")
    assert launched(["gsym", "lookup", "link", "0"], source, left, **home)[2] == LEFT
    for name in ("app.gsym", "app.gsym.x86_64", "app.gsym.arm64"):
        (source / name).write_bytes(b"")
        assert is_left(**home), name
        (source / name).unlink()


def test_an_output_replaces_the_file_that_a_link_names(
    source: Path, left: Path
) -> None:
    _compile(source, "-g -O2")
    (source / "old").write_bytes(b"old")
    (source / "link").symlink_to("old")
    assert launched(["gsym", "convert", "app", "-o", "link"], source, left)[2] == 0
    assert (source / "link").is_symlink()
    with gsym.open(source / "old") as reader:
        assert reader.find("main")


def test_an_output_that_may_not_grow_is_left_to_python(
    source: Path, left: Path
) -> None:
    _compile(source, "-g -O2")
    before = names_in(source)
    words = ["sh", "-c", 'ulimit -f 1; exec "$0" convert app', str(PROGRAMS / "gsym")]
    done = subprocess.run(words, cwd=source, env=_environment(left), check=False)
    assert done.returncode == LEFT
    assert names_in(source) == before


def _damage(source: Path) -> Iterator[int]:
    """Make a program, and damage it in one way after the other."""
    _compile(source, "-g -O2")
    whole = (source / "app").read_bytes()
    choice = Random(0)  # noqa: S311 - no secret
    for number in range(DAMAGED_PROGRAMS):
        data = bytearray(whole)
        for _ in range(number % 3 + 1):
            data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
        (source / "app").write_bytes(data)
        yield number


@pytest.mark.hostile
def test_damaged_programs_are_converted_and_read_as_by_python_or_left_to_it(
    source: Path, left: Path
) -> None:
    warned, converted, read = 0, [], []
    for number in _damage(source):
        words = ["gsym", "convert", f"app{number}"]
        (source / "app").rename(source / words[-1])
        found, output = launched(words, source, left), source / f"{words[-1]}.gsym"
        assert found[2] in {0, LEFT}, number
        assert found[2] == 0 or not found[1], number
        warned += b": warning: " in found[1]
        if found[2] == 0:
            converted.append((words, output, _outcome(found, output, source)))
        assert not output.exists()
        words = ["gsym-addr2line", "-afie", words[-1], *map(hex, range(4096, 4896, 8))]
        found = launched(words, source, left, HOME=str(source))
        if found[2] != LEFT:
            read.append((words, found))
    expected = run_all([words for words, _ in read], source)
    assert [each for _, each in read] == expected
    assert len(read) > DAMAGED_PROGRAMS // 2
    expected = run_all([words for words, *_ in converted], source)
    for (words, output, ours), each in zip(converted, expected, strict=True):
        assert ours == _outcome(each, output, source), words
    assert warned > 0


def test_warnings_that_cannot_be_printed_are_a_failure_as_in_python(
    source: Path, left: Path, real: Path
) -> None:
    words = ["gsym", "convert", "-q", "app"]
    assert any(
        b": warning: " in launched(words, source, left)[1] for _ in _damage(source)
    )

    def status(command: str, streams: str) -> int:
        line = ["bash", "-c", f"{command} convert -q app {streams}"]
        return subprocess.run(
            line, cwd=source, env=_environment(left), check=False
        ).returncode

    python = f"{shlex.quote(str(real))}/gsym-python gsym"
    for streams in ("2>/dev/full", "2</dev/null"):
        assert status(shlex.quote(str(PROGRAMS / "gsym")), streams) == 1
        assert status(python, streams) in {1, 120}  # 120: as it exits
