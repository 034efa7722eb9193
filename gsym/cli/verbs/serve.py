"""`gsym serve`: a symbolication server."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module

from gsym.cli.grammar import Command, UsageError, Values
from gsym.cli.options import STORE
from gsym.cli.program import EXIT_FAILED, EXIT_USAGE
from gsym.cli.terminal import describe, printable
from gsym.errors import GsymError, UnsupportedError
from gsym.lazy import logging

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gsym.server.service import Service
    from gsym.server.settings import Settings

# Options that may be given many times -> their settings.
_LISTS = {
    "--source": "sources",
    "--path-map": "path_map",
    "--source-map": "source_map",
    "--source-root": "source_roots",
    "--binary-dir": "binary_dirs",
    "--limit": "limits",
}
_SWITCHES = ("--enable-source", "--enable-asm")
_LIMITS = ("max_store", "max_unused", "min_free", "rate_limit")  # besides `limits`
_TEXTS = ("--host", "--port", "--workers", "--store", "--root-path")


@Command(
    "gsym serve",
    (
        """\
--host ADDRESS  address to listen on (default: 127.0.0.1)
-p, --port PORT  port to listen on (default: 8000; 0: any free port)
--workers N  worker processes (default: 1)""",
        STORE,
        """\
--source SOURCE...  source of modules that the store lacks: a folder, or the URL of a
  symbol server (default: the current folder)
--config FILE...  TOML file with settings
--path-map OLD=NEW...  prefix of source paths to replace in answers
--source-map OLD=TEMPLATE...  download location of source files: {path} in TEMPLATE is
  replaced by the part of the path after OLD
--root-path PATH  path prefix that a proxy removes
--enable-source  answer /source/v1: source files of --source-root
--source-root [OLD=]DIR...  folder whose source files may be read; OLD is its path in
  the debug information
--enable-asm  answer /asm/v1: code of the binaries of --binary-dir
--binary-dir DIR...  folder of binaries to disassemble, found by id or name
--limit NAME=VALUE...  set a limit of the server, such as max_body=16MiB
--set NAME=VALUE...  set any other setting
--check-config  check all settings and the files they name, and exit
--print-config  print the settings in effect as TOML, and exit""",
    ),
    """\
Each setting is also read from the environment, for example --port from GSYM_PORT; flags
override the environment, which overrides files. docs/server.md lists all settings.
This needs the extra `server`: pip install 'gsym[server]'.

To symbolize profiles with it: https://profiler.firefox.com/?symbolServer=URL""",
)
def serve(values: Values) -> int:
    """Serve until a signal stops the server."""
    flags = _flags(values)
    try:
        import_module("gsym.server.workers")  # needs all of them
        from gsym.server.logs import configure_logs, is_for_people
        from gsym.server.settings import SettingsError, toml_lines
    except ImportError as missing:
        raise UnsupportedError(
            f"gsym serve needs the package {missing.name}: pip install 'gsym[server]'"
        ) from None
    load = partial(load_again, flags, tuple(values.texts("--config")))
    try:
        settings = load()
        if values.flag("--print-config"):
            sys.stdout.writelines(toml_lines(settings))
            return 0
        try:
            return _start(load, settings, is_check=values.flag("--check-config"))
        except (GsymError, OSError, ValueError) as error:
            if values.flag("--check-config") or is_for_people(settings):
                raise
            is_usage = isinstance(error, (SettingsError, ValueError))
            configure_logs(settings)
            reason = describe(error)
            logging.getLogger("gsym.server").critical("cannot start: %s", reason)
            return EXIT_USAGE if is_usage else EXIT_FAILED
    except (SettingsError, ValueError) as error:
        raise UsageError(str(error)) from None


def _start(load: Callable[[], Settings], settings: Settings, *, is_check: bool) -> int:
    from gsym.confined.process import FORKS
    from gsym.server.application import reloading_app
    from gsym.server.modules import store_path
    from gsym.server.workers import bind, check_grpc_port, check_host, check_tls, serve
    from gsym.store.layout import check_place

    check_tls(settings)
    check_place(store_path(settings))
    app = reloading_app(load)
    warnings = _warnings(settings, app.serving.service)
    if is_check:
        app.serving.retire()
        check_host(settings)
        _say(settings, warnings, logging.WARNING)
        if warnings:
            return EXIT_FAILED
        print("the configuration is valid")
        return 0
    # What the server stores is for its user and group.
    os.umask(os.umask(0) | stat.S_IRWXO)
    check_grpc_port(settings)
    with bind(settings) as listener:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        scheme = "https" if settings.tls_certificate else "http"
        url = f"{scheme}://{shown}:{port}{settings.root_path}"
        lines = _greeting(url, app.serving.service)
        app.serving.retire()
        FORKS.close()  # of this check; workers have their own

        def greet() -> None:
            _say(settings, lines)
            _say(settings, warnings, logging.WARNING)

        serve(load, settings, listener, greet)
    return 0


def load_again(flags: Mapping[str, object], files: tuple[str, ...]) -> Settings:
    """The current settings."""
    from gsym.server.settings import load_settings

    return load_settings(flags, os.environ, files)


def _flags(values: Values) -> dict[str, object]:
    flags: dict[str, object] = {}
    for option in (*_TEXTS, *_SWITCHES):
        given = True if option in _SWITCHES else values.text(option)
        if values.flag(option):
            flags[option[2:].replace("-", "_")] = given
    for option, name in _LISTS.items():
        if values.texts(option):
            flags[name] = values.texts(option)
    for setting in values.texts("--set"):
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"option '--set': expected NAME=VALUE, got '{setting}'")
        flags[name.replace("-", "_")] = value
    return flags


def _greeting(url: str, service: Service) -> list[str]:
    """Lines with the address of the server, its store, its sources and its users."""
    from gsym.server.modules import source_names, store_path
    from gsym.server.tokens import READ, UPLOAD

    settings, tokens = service.settings, service.tokens
    needs_token = tokens.is_needed_to_read()
    readers = ", ".join(tokens.names(READ)) if needs_token else "anybody"
    profiler = f"https://profiler.firefox.com/from-url/...?symbolServer={url}"
    lines = [
        f"serving at {url}",
        f"for the Firefox Profiler: {profiler}",
        f"store: {store_path(settings)}",
        *(f"source: {name}" for name in source_names(service.symbolizer)),
        f"limits: {_limits(settings)}",
        f"readers: {readers}",
        f"uploaders: {', '.join(tokens.names(UPLOAD)) or 'nobody'}",
        f"web pages that may use it: {', '.join(settings.allowed_origins) or 'none'}",
    ]
    lines += service.notes
    if measures := service.facts.get("confinement"):
        confined = ", ".join(measures)
        lines.append(f"processes that read uploads are confined by: {confined}")
    return lines


def _warnings(settings: Settings, service: Service) -> list[str]:
    """Lines about settings that are valid, and perhaps not intended."""
    from gsym.server.admission import is_loopback
    from gsym.server.modules import store_path

    lines = []
    # Whether files can be made in a folder, or the folder itself
    folder = store_path(settings)
    while not os.path.exists(folder):
        folder = os.path.dirname(os.path.abspath(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        lines.append("the store cannot be written to")
    if not service.tokens.is_needed_to_read() and not is_loopback(settings.host):
        lines.append(f"anybody who can reach {settings.host} may read")
    return lines


def _limits(settings: Settings) -> str:
    """The limits that differ from their defaults."""
    from gsym.server.settings import Settings as Defaults

    usual = Defaults()
    pairs: list[tuple[Any, Any, tuple[str, ...]]] = [
        (settings, usual, _LIMITS),
        (settings.limits, usual.limits, settings.limits.__struct_fields__),
    ]
    chosen = [
        f"{name}={getattr(here, name)}"
        for here, there, names in pairs
        for name in names
        if getattr(here, name) != getattr(there, name)
    ]
    return ", ".join(chosen) or "the usual ones, which --print-config prints"


def _say(settings: Settings, lines: list[str], level: int = logging.INFO) -> None:
    """Write lines to standard error, in the format of the log."""
    from gsym.server.logs import is_for_people

    for line in lines:
        if is_for_people(settings):
            text = line if level == logging.INFO else f"warning: {line}"
            with suppress(OSError):  # nobody reads it
                print(printable(text), file=sys.stderr, flush=True)
        else:
            logging.getLogger("gsym.server").log(level, "%s", line)
