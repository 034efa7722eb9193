"""What an operator can choose: one declaration for flags, environment and files.

A setting NAME is `--set NAME=VALUE` on the command line (the usual ones have a flag of
their own), `GSYM_NAME` in the environment, and `name` in a TOML file, in this order of
precedence; of several files the last one counts. In the environment the parts of a list
are separated by commas.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from gsym.errors import FormatError, GsymError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_PREFIX = "GSYM_"


class SettingsError(GsymError):
    """A setting has no such value, or there is no such setting."""


def _said(text: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=text, **limits)


Count = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Token = Annotated[str, msgspec.Meta(min_length=1)]  # none at all is no token


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a server; the descriptions are those of docs/server.md."""

    host: Annotated[str, _said("address to listen on")] = "127.0.0.1"
    port: Annotated[
        int, _said("port to listen on; 0: any that is free", ge=0, le=65535)
    ] = 8000
    workers: Annotated[Count, _said("worker processes")] = 1
    store: Annotated[str, _said('folder of the store; "": that of the user')] = ""
    sources: Annotated[
        list[str], _said("where modules come from that the store lacks, in order")
    ] = []
    allow_private: Annotated[
        bool, _said("let redirects of sources lead to private addresses")
    ] = False
    fetch_timeout: Annotated[
        Seconds, _said("seconds for a file from a source, with all attempts")
    ] = 300.0
    max_fetch: Annotated[Count, _said("bytes of such a file, as it is sent")] = 4 << 30
    max_fetch_inflated: Annotated[Count, _said("bytes of it when it is inflated")] = (
        8 << 30
    )
    missing_time: Annotated[
        Seconds, _said("seconds for which a source is known not to have a module")
    ] = 3600.0
    failed_time: Annotated[
        Seconds, _said("seconds after which a source that failed is asked again")
    ] = 60.0
    refused_time: Annotated[
        Seconds,
        _said("most seconds for which a file that is of no use is not asked for"),
    ] = 86400.0
    max_conversions: Annotated[
        int, _said("files that a worker converts at a time; 0: one per core", ge=0)
    ] = 0
    root_path: Annotated[
        str, _said("path in front of all paths, where a proxy takes it away")
    ] = ""
    allowed_hosts: Annotated[
        list[str],
        _said(
            "accepted hosts of requests, besides `localhost`, `127.0.0.1` and `[::1]`; "
            "`*`: any. None: any, except on a server that listens on loopback"
        ),
    ] = []
    trusted_proxies: Annotated[
        list[str],
        _said("addresses and networks whose forwarded headers are believed"),
    ] = []
    read_tokens: Annotated[
        list[Token],
        _said("tokens one of which a client has to show; none: anybody reads"),
    ] = []
    path_map: Annotated[
        list[str], _said("OLD=NEW: prefixes of source paths in answers")
    ] = []
    source_map: Annotated[
        list[str],
        _said("OLD=TEMPLATE: source paths as `hg:`, `git:` or `s3:` with `{path}`"),
    ] = []
    wide_names: Annotated[
        bool, _said("take `[`, `]` and `:` in names of modules, as samply does")
    ] = False
    module_errors: Annotated[
        bool, _said("tell clients which sources lacked a module, and why")
    ] = True
    max_body: Annotated[
        Count, _said("bytes of the body of a request, also after inflation")
    ] = 8 << 20
    max_jobs: Annotated[Count, _said("jobs of a request")] = 10
    max_frames: Annotated[
        Count,
        _said(
            "frames of a request; each takes some 14 bytes of it and 200 to 400 of the "
            "answer, for which `max_body` and `max_answer` hold as well"
        ),
    ] = 1_000_000
    max_modules: Annotated[Count, _said("modules of a request")] = 10_000
    max_paste: Annotated[Count, _said("characters of a paste on the page")] = 1 << 20
    max_answer: Annotated[Count, _said("bytes of the frames of an answer, about")] = (
        256 << 20
    )
    max_held_answers: Annotated[
        Count,
        _said(
            "bytes of all large answers that a worker holds until clients have taken "
            "them; to more it answers 503, and 413 where one has more"
        ),
    ] = 1 << 30
    max_in_flight: Annotated[
        Count, _said("requests that a worker has begun; to more it answers 503")
    ] = 200
    max_waiting_bytes: Annotated[
        Count,
        _said(
            "bytes of all bodies that a worker holds; to more it answers 503, and 413 "
            "where one has more"
        ),
    ] = 256 << 20
    rate_limit: Annotated[
        float,
        _said(
            "requests a second of one client, in each worker; 0: any. A client is an "
            "IPv4 address, or an IPv6 network of 64 bits",
            ge=0,
        ),
    ] = 0.0
    rate_burst: Annotated[Count, _said("requests that a client may send at once")] = 50
    body_timeout: Annotated[
        Seconds, _said("seconds in which the body of a request has to come")
    ] = 30.0
    max_head: Annotated[
        Count, _said("bytes of the head of a request: its line and its headers")
    ] = 1 << 16
    head_timeout: Annotated[
        Seconds, _said("seconds in which the head of a request has to come")
    ] = 10.0
    write_timeout: Annotated[
        Seconds, _said("seconds in which a client has to take some of its answer")
    ] = 60.0
    connection_time: Annotated[
        Seconds,
        _said("seconds after which a connection ends with its next answer"),
    ] = 30.0
    linger_time: Annotated[
        Seconds,
        _said("seconds for which a client may send on that was refused, to read why"),
    ] = 10.0
    linger_size: Annotated[Count, _said("bytes that are thrown away meanwhile")] = (
        64 << 20
    )
    request_timeout: Annotated[
        Seconds, _said("seconds for an answer; what is fetched goes on behind a 503")
    ] = 60.0
    stop_timeout: Annotated[
        Count, _said("seconds for requests that are under way when the server stops")
    ] = 30
    threads: Annotated[Count, _said("threads of a worker that answer")] = 4
    fetch_threads: Annotated[
        Count, _said("modules that a worker fetches or converts at a time")
    ] = 16
    max_open: Annotated[Count, _said("modules that a worker keeps open")] = 256
    max_mapped: Annotated[Count, _said("bytes of their files")] = 64 << 30
    index_memory: Annotated[
        int, _said("bytes of memory for indexes of each open module", ge=0)
    ] = 16 << 20
    kept_memory: Annotated[
        int,
        _said(
            "bytes of memory for names, paths and lists of functions of all open "
            "modules, kept for further answers",
            ge=0,
        ),
    ] = 256 << 20
    min_compressed: Annotated[
        int, _said("bytes from which answers are compressed, where the client says so")
    ] = 1024
    enable_source: Annotated[bool, _said("answer `/source/v1`")] = False
    source_roots: Annotated[
        list[str],
        _said(
            "DIR or OLD=DIR: folders whose source files may be read, and what in "
            "debug information stands for them"
        ),
    ] = []
    max_source: Annotated[Count, _said("bytes of a source file")] = 8 << 20
    enable_asm: Annotated[bool, _said("answer `/asm/v1` (extra `asm`)")] = False
    binary_dirs: Annotated[
        list[str], _said("folders of binaries to disassemble, by name or by build id")
    ] = []
    max_code: Annotated[Count, _said("bytes of code to disassemble at a time")] = (
        256 << 10
    )
    enable_downloads: Annotated[
        bool, _said("give files of the store to who asks by a name and id, or build id")
    ] = True
    fetch_downloads: Annotated[
        bool, _said("fetch what the store lacks for them from the sources")
    ] = False
    upload_tokens: Annotated[
        list[Token], _said("tokens that allow to upload; none: nobody uploads")
    ] = []
    upload_hosts: Annotated[
        list[str], _said("servers that `url=` of an upload may name")
    ] = []
    upload_private: Annotated[
        bool, _said("let them have addresses that only this network sees")
    ] = False
    keep_originals: Annotated[
        bool, _said("keep uploaded files as they came, for downloads")
    ] = True
    max_upload: Annotated[Count, _said("bytes of an upload")] = 2 << 30
    max_members: Annotated[Count, _said("files of an uploaded archive")] = 10_000
    max_inflated: Annotated[Count, _said("bytes of all of them, inflated")] = 8 << 30
    max_uploads: Annotated[
        Count, _said("uploads that a worker takes at a time; to more it answers 503")
    ] = 2
    upload_timeout: Annotated[
        Seconds, _said("seconds in which the body of an upload has to come")
    ] = 600.0
    symbfile_keys: Annotated[
        list[Token], _said("API keys that allow to push symbfiles; none: nobody does")
    ] = []
    max_symbfile_part: Annotated[Count, _said("bytes of a part of a symbfile")] = (
        256 << 20
    )
    max_symbfile_parts: Annotated[Count, _said("parts of a symbfile")] = 1000
    max_symbfile: Annotated[
        Count, _said("bytes of all parts of a symbfile, also inflated")
    ] = 4 << 30
    max_pending_of_key: Annotated[
        Count, _said("unfinished symbfiles of one API key; to more it answers 429")
    ] = 200
    max_pending_symbfiles: Annotated[
        Count, _said("unfinished symbfiles of all keys; to more it answers 503")
    ] = 1000
    symbfile_time: Annotated[
        Seconds,
        _said("seconds after which a symbfile is forgotten that no part comes for"),
    ] = 3600.0
    confine_fetched: Annotated[
        bool, _said("convert what sources give in confined processes, as uploads")
    ] = True
    child_memory: Annotated[
        Count,
        _said("bytes of memory of such a process, and 6 for each byte of input"),
    ] = 2 << 30
    child_seconds: Annotated[
        Count, _said("seconds for it, and 20 more for each 100 MiB of input")
    ] = 60
    log_format: Annotated[
        str,
        _said(
            "`json`, `text`, or `auto`: text on a terminal",
            pattern="^(auto|json|text)$",
        ),
    ] = "auto"
    log_level: Annotated[
        str,
        _said(
            "least level: debug, info, warning, error",
            pattern="^(debug|info|warning|error)$",
        ),
    ] = "info"


_FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}


def load_settings(
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    files: Sequence[str] = (),
) -> Settings:
    """The settings that hold.

    Args:
        flags: By name; text is read as in the environment.
        environment: As `os.environ`.
        files: TOML files.

    Raises:
        SettingsError: One has no such value, or a file names an unknown one.
        OSError: A file cannot be read.
    """
    settings = Settings()
    for path in files:
        settings = _replaced(settings, _read_file(path), path, _of_file)
    chosen = {
        name: environment[_PREFIX + name.upper()]
        for name in _FIELDS
        if _PREFIX + name.upper() in environment
    }
    settings = _replaced(settings, chosen, "the environment", _of_text)
    return _replaced(settings, flags, "the command line", _of_text)


def _read_file(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        text = file.read()
    try:
        found = msgspec.toml.decode(text, type=dict[str, Any])
    except ImportError:
        raise UnsupportedError("TOML needs the package tomli", path=path) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise FormatError(f"this is no TOML: {error}", path=path) from None
    return found


def _replaced(
    settings: Settings,
    chosen: Mapping[str, Any],
    where: str,
    convert: Callable[[Any, Any, object], Any],
) -> Settings:
    values = msgspec.structs.asdict(settings)
    for name, value in chosen.items():
        field = _FIELDS.get(name)
        if field is None:
            raise SettingsError(f"{where}: there is no setting '{name}'")
        try:
            values[name] = convert(value, field.type, values[name])
        except msgspec.ValidationError as error:
            raise SettingsError(f"{where}: setting '{name}': {error}") from None
    return Settings(**values)


def _of_file(value: Any, kind: Any, _old: object) -> Any:
    return msgspec.convert(value, kind)


def _of_text(value: Any, kind: Any, old: object) -> Any:
    if not isinstance(value, str):
        return msgspec.convert(value, kind)
    if isinstance(old, list):
        parts = [part.strip() for part in value.split(",")]
        return msgspec.convert([part for part in parts if part], kind)
    return msgspec.convert(value, kind, strict=False)


def setting_rows() -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of each setting, for the manual."""
    for name, field in _FIELDS.items():
        default = field.default
        if default is msgspec.NODEFAULT:
            default = field.default_factory()
        yield name, _default_text(default), _description(field.type)


def _default_text(default: object) -> str:
    if default in ("", []):
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return str(default)


def _description(kind: Any) -> str:
    return str(kind.__metadata__[-1].description)
