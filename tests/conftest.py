"""What all tests share: the folder of real files, the peers, and how hard to try.

Environment:
    GSYM_FIXTURES: folder of real files, default `../shared/fixtures` beside the
        repository. Tests that read it have the marker `fixtures`; without the folder
        they are skipped. CONTRIBUTING says what is in it and what then is not tested.
    GSYM_CORPUS: folder of large real binaries, with subfolders `big` and `v`; tests of
        them are skipped without it.
    GSYM_CI_STAGE: stage of .ci/run. The run fails if a test is skipped for a reason
        that tools/qa/skips.tsv does not list for that stage.
    GSYM_TEST_PROFILE: hypothesis profile, `quick` (default; with sanitizers
        `sanitized`) or `thorough`.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from gsym.store.directory import Store
from tests.rows import rows
from tests.sanitizer import drop_refused_flag, has_address_sanitizer
from tests.symbolizer_runs import LLVM_SYMBOLIZER

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

REPOSITORY = Path(__file__).resolve().parent.parent
FIXTURES = Path(os.environ.get("GSYM_FIXTURES", REPOSITORY / "../shared/fixtures"))

# A sanitizer build is ten times slower and CI machines pause, so no deadline.
_PATIENT = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile(
    "quick",
    max_examples=30,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=_PATIENT,
)
# Its runs look for errors of memory, which few examples show as well as many.
settings.register_profile("sanitized", settings.get_profile("quick"), max_examples=6)
settings.register_profile(
    "thorough",
    max_examples=5_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=_PATIENT,
)
_DEFAULT_PROFILE = "sanitized" if has_address_sanitizer() else "quick"
settings.load_profile(os.environ.get("GSYM_TEST_PROFILE", _DEFAULT_PROFILE))
drop_refused_flag()


OUTCOMES = ("passed", "failed", "error", "xfailed", "xpassed")
SKIPS = REPOSITORY / "tools/qa/skips.tsv"
_SKIPPED = "gsym/skipped"  # in pytest's cache: what the run before skipped


def _has_cache(config: pytest.Config) -> bool:
    return config.pluginmanager.has_plugin("cacheprovider")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import a part of the tests first, another one in each worker of pytest-xdist.

    All workers import all tests in the same order. On a new clone, where no byte code
    is cached, each would rewrite the assertions of all files.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker or session.config.args != ["tests"]:
        return
    workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    files = sorted((REPOSITORY / "tests").rglob("test_*.py"))
    for path in files[int(worker.removeprefix("gw")) :: workers]:
        parts = path.relative_to(REPOSITORY).with_suffix("").parts
        with suppress(Exception, pytest.skip.Exception):  # which collection reports
            import_module(".".join(parts))


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the markers
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    skipped = {*config.cache.get(_SKIPPED, [])} if _has_cache(config) else set()
    for item in items:
        if "fixtures" in getattr(item, "fixturenames", ()):
            item.add_marker("fixtures")
        is_quick = item.get_closest_marker("quick") is not None
        if "differential" in item.path.parts and not is_quick:
            item.add_marker("slow")
        if not skipped.isdisjoint({item.nodeid, item.nodeid.partition("::")[0]}):
            item.add_marker("skipped")


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what thousands of tests consist of."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say at which row a loop of a test failed."""
    report = yield
    if report.failed and call.excinfo is not None:
        row = "\n".join(rows(call.excinfo.tb))
        if row:
            report.sections.append(("row", row))
    return report


def skips_of(reporter: pytest.TerminalReporter) -> dict[str, list[str]]:
    """The skipped tests, or modules, by reason."""
    found: dict[str, list[str]] = {}
    for report in reporter.stats.get("skipped", ()):
        reason = report.longrepr[2].removeprefix("Skipped: ").partition("\n")[0]
        found.setdefault(reason, []).append(report.nodeid)
    return found


def unexpected(reasons: Iterable[str], stage: str, table: str) -> list[str]:
    """The reasons that a table of skips does not list for a stage."""
    rows = [line.split("\t") for line in table.splitlines()[1:]]
    allowed = [reason for stages, reason, _ in rows if stage in stages.split()]
    return [
        reason
        for reason in reasons
        if not any(re.fullmatch(each, reason) for each in allowed)
    ]


def _not_allowed(reporter: pytest.TerminalReporter) -> list[str]:
    stage = os.environ.get("GSYM_CI_STAGE")
    if not stage:
        return []
    return unexpected(skips_of(reporter), stage, SKIPS.read_text("utf-8"))


@pytest.hookimpl(tryfirst=True)  # before the exit status is printed
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remember what was skipped, and fail if that is not allowed here."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    if _has_cache(session.config):
        names = sorted(chain.from_iterable(skips_of(reporter).values()))
        session.config.cache.set(_SKIPPED, names)
    if _not_allowed(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of skipped tests by reason, instead of a line for each test."""
    skipped = skips_of(terminalreporter)
    if not skipped:
        return
    count = sum(map(len, skipped.values()))
    ran = sum(len(terminalreporter.stats.get(outcome, ())) for outcome in OUTCOMES)
    share = count / (ran + count)
    terminalreporter.section(f"{count} skipped, {share:.1%} of the tests")
    for reason, names in sorted(skipped.items(), key=lambda each: -len(each[1])):
        terminalreporter.line(f"{len(names):6} {reason}")
    for reason in _not_allowed(terminalreporter):
        name = skipped[reason][0]
        terminalreporter.line(f"{name}: not in {SKIPS.name}: {reason}", red=True)


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of real files."""
    if not FIXTURES.is_dir():
        pytest.skip("no real files: CONTRIBUTING says what GSYM_FIXTURES is for")
    return FIXTURES.resolve()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty symbol store."""
    return Store(tmp_path / "store")


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    """A certificate for symbols.example, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    paths = str(tmp_path / "certificate"), str(tmp_path / "key")
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=symbols.example", "-out", paths[0], "-keyout", paths[1]]
    command += ["-addext", "subjectAltName=DNS:symbols.example"]
    subprocess.run(command, check=True, capture_output=True)
    return paths


@pytest.fixture(scope="session")
def gsym_fixtures(fixtures: Path) -> Path:
    """GSYM files made by llvm-gsymutil 22 and 24, with what version 24 prints."""
    return fixtures / "gsym"


def find_peer(*names: str) -> str:
    """Path of the first program that is installed; skips the test if none is."""
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.skip(f"not installed: {' or '.join(names)}")


@pytest.fixture(scope="session")
def llvm_gsymutil() -> str:
    return find_peer("llvm-gsymutil-22")


@pytest.fixture(scope="session")
def llvm_symbolizer() -> None:
    """That it is here; `tests/symbolizer_runs.py` runs it."""
    find_peer(LLVM_SYMBOLIZER)


@pytest.fixture(scope="session")
def llvm_dwarfdump() -> str:
    return find_peer("llvm-dwarfdump-22")


@pytest.fixture(scope="session")
def yaml2obj() -> str:
    return find_peer("yaml2obj-22")


@pytest.fixture(scope="session")
def objcopy() -> str:
    return find_peer("objcopy")


@pytest.fixture(scope="session")
def compiler() -> str:
    """A C compiler that writes DWARF."""
    return find_peer("gcc", "clang", "clang-19")


@pytest.fixture(scope="session")
def cxx_compiler() -> str:
    """A C++ compiler that writes DWARF."""
    return find_peer("g++", "clang++", "clang++-19")


@pytest.fixture(scope="session")
def clang() -> str:
    """For flags that only clang has, such as -gsimple-template-names."""
    return find_peer("clang-19", "clang")


@pytest.fixture(scope="session")
def markup_fixtures(fixtures: Path) -> Path:
    """Logs with symbolizer markup, and what llvm-symbolizer 19 prints for them."""
    return fixtures / "markup"
