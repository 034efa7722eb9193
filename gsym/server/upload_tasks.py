"""The tasks of confined processes for an upload: take it apart, convert it."""

from __future__ import annotations

import mmap
import os
from email.parser import BytesHeaderParser
from urllib.parse import parse_qs

from gsym.containers.recognition import recognise_file
from gsym.conversion.identity import ModuleIdentity
from gsym.errors import (
    ArchitectureError,
    EmptyError,
    FormatError,
    GsymError,
    MissingDebugInfoError,
    UnsupportedError,
)
from gsym.records import NamedTuple
from gsym.server.archive_members import ArchiveLimits, is_archive, unpack
from gsym.server.confined_modules import describe
from gsym.store.adding import add_file
from gsym.store.archives import bare_name, inflate_file
from gsym.store.directory import Store
from gsym.store.module_file import modules_in
from gsym.store.modules import ModuleKey, key_of_debug_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.store.modules import Entry


class FormPart(NamedTuple):
    """A field of a form.

    Attributes:
        name: Of the field.
        file: Name of the file that it holds; None where it is text.
        start: Where its contents begin in the form.
        end: Where they end.
    """

    name: str
    file: str | None
    start: int
    end: int


_MOST_PARTS = 100
_LARGEST_HEAD = 16 << 10
_LONGEST_BOUNDARY = 70  # characters, by its definition


def boundary_of(content_type: str) -> bytes | None:
    """What stands between the parts; None where the type is not that of a form.

    Raises:
        FormatError: It is, and names no boundary.
    """
    header = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    message = BytesHeaderParser().parsebytes(header)
    if message.get_content_type() != "multipart/form-data":
        return None
    boundary = message.get_boundary("")
    if not boundary or len(boundary) > _LONGEST_BOUNDARY:
        raise FormatError("the form names no boundary")
    return boundary.encode("latin-1", "replace")


def form_parts(data: mmap.mmap | bytes, boundary: bytes) -> Iterator[FormPart]:
    """The parts of a form, in order.

    Raises:
        FormatError: It is damaged, or has too many parts.
    """
    mark = b"--" + boundary
    at = data.find(mark, 0, _LARGEST_HEAD)
    if at < 0:
        raise FormatError("the form does not begin with its boundary")
    for _ in range(_MOST_PARTS + 1):
        at += len(mark)
        if data[at : at + 2] == b"--":
            return
        head_end = data.find(b"\r\n\r\n", at, at + _LARGEST_HEAD)
        if head_end < 0:
            raise FormatError("a part of the form has no head", offset=at)
        start = head_end + 4
        end = data.find(b"\r\n" + mark, start)
        if end < 0:
            raise FormatError("a part of the form has no end", offset=start)
        head = BytesHeaderParser().parsebytes(data[at + 2 : head_end + 2])
        name = head.get_param("name", "", "content-disposition")
        yield FormPart(str(name), head.get_filename(), start, end)
        at = end + 2
    raise FormatError(f"the form has more than {_MOST_PARTS} parts")


_COPIED_AT_ONCE = 1 << 26
_LONGEST_URL = 8192
_URL_FORM = "application/x-www-form-urlencoded"
_IN_BREAKPAD_TREE = 3  # parts of a path: NAME/ID/FILE
# What is passed over: it is sound, and no module with functions.
_PASSED_OVER = (UnsupportedError, EmptyError, MissingDebugInfoError, ArchitectureError)


def member_key(name: str) -> ModuleKey:
    """What the path of a file in an upload says of the module.

    In Breakpad's layout, NAME/ID/FILE, that is name and id.
    """
    parts = name.split("/")
    if len(parts) == _IN_BREAKPAD_TREE:
        try:
            return key_of_debug_id(parts[0], parts[1])
        except ValueError:
            pass
    file = bare_name(parts[-1])
    return ModuleKey(debug_file=file.removesuffix(".gsym"), code_file=file)


def take_apart(
    body: str, content_type: str, name: str, folder: str, limits: list[int]
) -> dict[str, Any]:
    """Write the files of an upload out, by number.

    Args:
        body: Path of what came.
        content_type: As the request has it.
        name: What a file is called that came by itself.
        folder: Where they go.
        limits: Of archives, as `ArchiveLimits` has them.

    Returns:
        `names`: of the files in order; `urls`: of a form that has them instead.

    Raises:
        FormatError: It is damaged, or made to mislead.
        LimitError: It holds too much.
    """
    files: list[tuple[str, str]] = [(name, body)]
    urls: list[str] = []
    boundary = boundary_of(content_type)
    if boundary is not None:
        files, urls = _form_files(body, boundary, folder)
    elif url := _encoded_url(body, content_type):
        files, urls = [], [url]
    names: list[str] = []
    for file_name, path in files:
        if not os.path.getsize(path):
            raise FormatError(f"'{file_name[:200]}' is empty")
        if not is_archive(path):
            os.rename(path, os.path.join(folder, str(len(names))))
            names.append(file_name)
            continue
        place = os.path.join(folder, "archive")
        os.mkdir(place)
        left = ArchiveLimits(*limits)
        left = left._replace(members=left.members - len(names))
        for member, unpacked in unpack(path, place, left):
            os.rename(unpacked, os.path.join(folder, str(len(names))))
            names.append(member)
        os.rmdir(place)
    return {"names": names, "urls": urls}


def _encoded_url(body: str, content_type: str) -> str:
    """The URL in a form that is no more than that; "" where it is another thing.

    curl calls any body that.
    """
    if content_type.partition(";")[0].strip() != _URL_FORM:
        return ""
    with open(body, "rb") as file:
        text = file.read(_LONGEST_URL)
    found = parse_qs(text.decode("latin-1")) if text.startswith(b"url=") else {}
    return found.get("url", [""])[0]


def _form_files(
    body: str, boundary: bytes, folder: str
) -> tuple[list[tuple[str, str]], list[str]]:
    """Names and paths of the files in a form, and the URLs in it."""
    files: list[tuple[str, str]] = []
    urls: list[str] = []
    with open(body, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise FormatError("the form is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for part in form_parts(data, boundary):
                if part.file:
                    path = os.path.join(folder, f"part{len(files)}")
                    _copy(file.fileno(), part.start, part.end, path)
                    files.append((part.file.replace("\\", "/").split("/")[-1], path))
                elif part.name == "url":
                    text = data[part.start : min(part.end, part.start + _LONGEST_URL)]
                    urls += text.decode("utf-8", "replace").split()[:1]
    return files, urls


def _copy(source: int, start: int, end: int, path: str) -> None:
    with open(path, "xb") as target:
        while start < end:
            piece = os.pread(source, min(_COPIED_AT_ONCE, end - start), start)
            target.write(piece)
            start += len(piece)


def convert_members(
    names: list[str],
    folder: str,
    store: str,
    *,
    keep_originals: bool,
    most_inflated: int,
) -> dict[str, Any]:
    """Convert the files of an upload into a store of their own.

    Args:
        names: Of the files, which lie in *folder* by number.
        folder: That of `take_apart`.
        store: Path of the store, which is made.
        keep_originals: Whether it keeps the files as well.
        most_inflated: Bytes that a compressed one may hold.

    Returns:
        `modules`: what the store has, each with the number of its file; `skipped`:
        number and reason of each file that is no module.

    Raises:
        GsymError: One is damaged, or another module than its path says.
    """
    made = Store(store)
    modules: list[dict[str, Any]] = []
    skipped: list[tuple[int, str]] = []
    for number, name in enumerate(names):
        path = os.path.join(folder, str(number))
        try:
            modules += [
                describe(entry, number)
                for entry in _convert(made, path, name, keep_originals, most_inflated)
            ]
        except _PASSED_OVER as error:
            skipped.append((number, error.reason))
        except GsymError as error:
            error.reason = f"'{name[:200]}': {error.reason}"
            raise
        os.unlink(path)
    return {"modules": modules, "skipped": skipped}


def _convert(
    store: Store, path: str, name: str, keep_originals: bool, most_inflated: int
) -> Iterator[Entry]:
    """The modules of a file: one, or of a fat file one for each slice."""
    key = member_key(name)
    with store.temporary_folder() as folder:
        file = inflate_file(path, folder, most_inflated)
        if not recognise_file(file):
            raise UnsupportedError("nothing that is known begins like that")
        found = modules_in(file, ModuleIdentity(debug_id=key.debug_id))
        for module in found:
            options: dict[str, Any] = {"threads": 1}
            if len(found) > 1:
                options["architecture"] = module.architecture
            yield add_file(
                store,
                file,
                key=key if len(found) == 1 else key._replace(debug_id=""),
                keep_original=keep_originals,
                **options,
            ).entry
