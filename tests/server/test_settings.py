"""Settings: flags before environment before files."""

from __future__ import annotations

import inspect
import linecache
import re
from typing import TYPE_CHECKING, Any

import pytest

from gsym.errors import FormatError
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.server.application import create_app
from gsym.server.settings import (
    Limits,
    Settings,
    SettingsError,
    load_settings,
    setting_rows,
    toml_lines,
)
from gsym.store.directory import Store
from tests.conftest import REPOSITORY
from tests.server.running import made_settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine


def test_by_default_the_store_keeps_everything() -> None:
    settings = Settings()
    kept = (settings.max_store, settings.max_unused, settings.min_free)
    assert kept == (0, 0, 0)


def test_options_override_the_environment_and_files(tmp_path: Path) -> None:
    first, second = tmp_path / "1.toml", tmp_path / "2.toml"
    first.write_text('port = 1\nworkers = 1\nthreads = 1\nsources = ["a", "b"]\n')
    second.write_text("port = 2\nworkers = 2\n")
    settings = load_settings(
        {"port": "4"},
        {"GSYM_PORT": "3", "GSYM_WORKERS": "3", "PORT": "9"},
        [str(first), str(second)],
    )
    assert (settings.port, settings.workers, settings.threads) == (4, 3, 1)
    assert settings.sources == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("port", "0", 0),
        ("sources", "a, b,,c", ["a", "b", "c"]),
        ("sources", "", []),
        ("wide_names", "true", True),
        ("wide_names", "0", False),
        ("rate_limit", "2.5", 2.5),
        ("log_format", "json", "json"),
    ],
)
def test_values_of_the_environment_are_parsed(
    name: str, text: str, value: object
) -> None:
    settings = load_settings({}, {f"GSYM_{name.upper()}": text})
    assert getattr(settings, name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "x"),
        ("port", "65536"),
        ("port", "-1"),
        ("port", ""),
        ("workers", "0"),
        ("wide_names", "maybe"),
        ("log_format", "xml"),
        ("nonsense", "1"),
        ("sources", 3),
        ("token_files", [1]),
        ("limits", 3),
    ],
)
def test_an_invalid_value_is_refused_with_its_name(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"the command line: .*'{name}'"):
        load_settings({name: value}, {})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"grpc_port": 4317}, "setting 'grpc_port': there is no forward_profiles"),
        ({"forward_profiles": "ftp://a"}, "setting 'forward_profiles': "),
        ({"forward_profiles": "grpc://a"}, "expected grpc://HOST:PORT"),
    ],
)
def test_where_profiles_go_is_checked_at_the_start(
    settings: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    symbolizer = Symbolizer(Resolver(Store(tmp_path)))
    with pytest.raises(ValueError, match=reason):
        create_app(made_settings(**settings), symbolizer)


def test_limits_are_merged_from_all_sources(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('[limits]\nmax_jobs = 1\nmax_body = "2KiB"\nmax_open = 3\n')
    limits = load_settings(
        {"limits": ["max_jobs=5", "body_timeout=1.5min"]},
        {"GSYM_LIMITS": "max_jobs=4, max_upload=1.5G"},
        [str(file)],
    ).limits
    assert (limits.max_jobs, limits.max_body, limits.max_open) == (5, 2048, 3)
    assert (limits.body_timeout, limits.max_upload) == (90.0, 1_500_000_000)
    assert limits.max_paste == Settings().limits.max_paste


@pytest.mark.parametrize(
    "limit",
    [
        *("max_body=1e9999", "max_body=0", "max_body=1i", "max_body", "max_body=1GG"),
        *("body_timeout=0", "body_timeout=1 year", "max_jobs=1K", "nonsense=1"),
    ],
)
def test_an_invalid_limit_is_refused_with_its_name(limit: str) -> None:
    name = limit.partition("=")[0]
    with pytest.raises(SettingsError, match=rf"the command line: .*'{name}'"):
        load_settings({"limits": [limit]}, {})


def test_a_file_is_read_strictly(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('port = "8000"\n[more]\nx = 1\n')
    with pytest.raises(SettingsError, match="'port'"):
        load_settings({}, {"GSYM_HOST": "x"}, [str(file)])
    file.write_text("prot = 1\n")
    with pytest.raises(SettingsError, match="'prot'"):
        load_settings({}, {}, [str(file)])
    file.write_text("port == 1\n")
    with pytest.raises(FormatError, match="invalid TOML"):
        load_settings({}, {}, [str(file)])
    with pytest.raises(FileNotFoundError):
        load_settings({}, {}, [str(tmp_path / "none")])


@pytest.mark.parametrize("kind", [Settings, Limits])
def test_the_help_of_a_class_says_what_each_setting_means(
    kind: type[Settings | Limits],
) -> None:
    meanings = {name: meaning for name, _, meaning in setting_rows(kind)}
    assert list(meanings) == list(kind.__struct_fields__)
    text = " ".join(str(inspect.getdoc(kind)).split())
    for name, meaning in meanings.items():
        assert meaning
        assert f"{name}: {meaning}" in text


def test_settings_are_printed_where_there_is_no_source_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = [*toml_lines(Settings())]
    monkeypatch.setattr(linecache, "getlines", lambda *_: [])
    assert [*toml_lines(Settings())] == whole
    assert "# worker processes\n" in whole


def test_the_manual_names_the_settings_that_only_a_start_reads() -> None:
    manual = (REPOSITORY / "docs" / "server.md").read_text(encoding="utf-8")
    told = re.search(
        r"stay\s+open\.\s(.*?)\stake\s+effect at the next\s+start", manual, re.DOTALL
    )
    assert told
    read = {
        name
        for module in ("workers",)
        for name in re.findall(
            r"settings\.(?:limits\.)?(\w+)",
            (REPOSITORY / "gsym" / "server" / f"{module}.py").read_text("utf-8"),
        )
    }
    assert set(re.findall(r"`(\w+)`", told[1])) == read
