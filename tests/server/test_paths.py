"""Names that would leave a folder, in every spelling: none reaches another file."""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pytest

from gsym.confined.uploads import unpack_upload
from gsym.errors import FormatError
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.store.directory import Store
from gsym.store.sources.settings import open_source
from tests.server.running import RunningServer
from tests.symbol_files import debug_id, symbols

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

HIDDEN = "hidden_function"
HIDDEN_ID = debug_id(7)


def words(text: str) -> list[str]:
    return text.split()


# As they stand in a URL. A folder `hidden` is beside the source and the store.
UPWARDS = words("""
.. %2e%2e .%2e %2E. %252e%252e %25252e%25252e ..%00 %00.. ..%20 %20.. ..; ... ....
..%09 %ef%bc%8e%ef%bc%8e %e2%80%a5 %c0%ae%c0%ae %u002e%u002e ..%ff %2e%2e%2e x/.. .
""")
SEPARATORS = words("""
/ %2f %5c %252f %255c // /./ %c0%af %e2%88%95 %ef%bc%8f %ef%bc%bc %3a ;/
""")
DEVICES = words("CON PRN AUX NUL CLOCK$ CONIN$ CONOUT$")
DEVICES += [f"{device}{number}" for device in ("COM", "LPT") for number in range(10)]
OTHERS = words("""
%00 hidden%00.sym %00hidden /hidden //hidden %2fhidden %5chidden %5c%5chost%5chidden
file:%2f%2f%2fhidden http:%2f%2f127.0.0.1%2fhidden C:%5chidden C:hidden c%3a%2fhidden
~ ~root ~%2fhidden $HOME %24%7bHOME%7d %25HOME%25 `hidden` $(hidden) |hidden ;hidden
%20 %20hidden hidden%20 hidden. .hidden hidden%2f hidden%2f. hidden:$DATA hidden::$DATA
%e2%80%ae %e2%80%8b %ef%bb%bfhidden %ed%a0%80 %ff %fe%ff%00s %00s%00e %c3%28
%f4%90%80%80 %0a %0d%0aSet-Cookie:x %1b[31m %7f * ? [a-z]* {a,b} ** -rf --help .git
.htaccess
""")
NAMES = [
    *(
        f"{up}{separator}hidden"
        for up, separator in itertools.product(UPWARDS, SEPARATORS)
    ),
    *(name + end for name in DEVICES for end in ("", ".sym", ".", ":x")),
    *OTHERS,
    *("a" * length for length in (255, 256, 4095, 5000)),
    *(f"%{code:02x}" for code in range(1, 32)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("paths")
    for parent, name, number in (("tree", "app", 1), (".", "hidden", 7)):
        inside = place / parent / name / debug_id(number)
        inside.mkdir(parents=True)
        text = symbols(number, name).replace(b"f7_0", HIDDEN.encode())
        (inside / f"{name}.sym").write_bytes(text)
        (inside.parent / f"{name}.sym").write_bytes(text)  # NAME/ID/../NAME.sym
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    store = Store(folder / "store")
    resolver = Resolver(store, [open_source(str(folder / "tree"))])
    with RunningServer(
        Symbolizer(resolver), store=store.path, fetch_downloads=True
    ) as running:
        yield running


def outside(folder: Path) -> set[Path]:
    """All files that are not in the store."""
    store = folder / "store"
    return {each for each in folder.rglob("*") if store not in (each, *each.parents)}


def test_there_are_more_than_300_names() -> None:
    assert len({*NAMES}) > 300


def test_a_module_of_the_source_is_found(server: RunningServer) -> None:
    assert server.ask("GET", f"/app/{debug_id(1)}/app.sym").status == 200


@pytest.mark.parametrize("part", range(4))
def test_a_download_has_no_file_of_another_folder(
    part: int, server: RunningServer, folder: Path
) -> None:
    before = outside(folder)
    for name in NAMES[part::4]:
        for path in (f"/{name}/{HIDDEN_ID}/{name}.sym", f"/buildid/{name}/gsym"):
            answer = server.ask("GET", quote(path, safe="/%:;?*[]{}$|`()~@,+&=!"))
            # `/` and `?` in a name may make it the path of the page.
            assert answer.status < 500, path
            assert HIDDEN.encode() not in answer.body
    assert outside(folder) == before


@pytest.mark.parametrize(
    "module_id", [HIDDEN_ID, "..%2fhidden", "..", HIDDEN_ID.lower() + "%2f..", "%00"]
)
@pytest.mark.parametrize("name", ["hidden", "..%2fhidden", "app"])
def test_an_id_is_no_path(module_id: str, server: RunningServer, name: str) -> None:
    answer = server.ask("GET", f"/{name}/{module_id}/{name}.sym")
    assert answer.status == 404
    assert HIDDEN.encode() not in answer.body


def test_a_module_of_a_request_has_no_file_of_another_folder(
    server: RunningServer, folder: Path
) -> None:
    before = outside(folder)
    for number, name in enumerate(NAMES):
        module = [unquote(name), HIDDEN_ID if number % 2 else name]
        body = {"memoryMap": [module], "stacks": [[[0, 0x1000]]]}
        answer = server.post(json.dumps(body).encode())
        assert answer.status in {200, 400}, name
        assert HIDDEN.encode() not in answer.body
    assert outside(folder) == before


def test_members_of_archives_are_written_by_number(tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    for number, name in enumerate(NAMES):
        target = tmp_path / "a/b" / str(number)
        target.mkdir(parents=True)
        text = io.BytesIO()
        with zipfile.ZipFile(text, "w") as archive:
            member = zipfile.ZipInfo("x")
            member.filename = unquote(name)
            archive.writestr(member, b"x")
        path.write_bytes(text.getvalue())
        with suppress(FormatError):
            unpack_upload(str(path), "", "upload", str(target), [10, 1000])
    files = {each.name for each in tmp_path.rglob("*") if each.is_file()}
    assert files == {"archive.zip", "0"}
