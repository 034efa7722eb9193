"""Tasks of confined processes: unpack an upload, convert its files."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from typing import Any
from urllib.parse import parse_qs

from gsym.confined.adding import Delivery, describe
from gsym.containers.recognition import recognise_file
from gsym.errors import (
    ArchitectureError,
    EmptyError,
    FormatError,
    GsymError,
    UnsupportedError,
)
from gsym.modules.key import ModuleKey, completed, key_of_debug_id
from gsym.records import NamedTuple
from gsym.store.adding import add_file
from gsym.store.archives import ArchiveLimits, bare_name, inflate_file, members
from gsym.store.binary_facts import storable_modules
from gsym.store.directory import Store
from gsym.store.entries import Entry


class FormPart(NamedTuple):
    """A field of a multipart form."""

    name: str  # name of the field
    file: str | None  # name of the file in it; None for text
    start: int  # offset of its contents in the form
    end: int  # offset of their end


_MAX_PARTS = 100
_MAX_HEADER = 16 << 10
_MAX_BOUNDARY = 70  # characters, by RFC 2046


def boundary_of(content_type: str) -> bytes | None:
    """The boundary between parts; None if the type is not `multipart/form-data`."""
    header = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    message = BytesHeaderParser().parsebytes(header)
    if message.get_content_type() != "multipart/form-data":
        return None
    boundary = message.get_boundary("")
    if not boundary or len(boundary) > _MAX_BOUNDARY:
        raise FormatError("the form has no valid boundary")
    return boundary.encode("latin-1", "replace")


def form_parts(data: mmap.mmap | bytes, boundary: bytes) -> Iterator[FormPart]:
    """The parts of a form, in order."""
    mark = b"--" + boundary
    at = data.find(mark, 0, _MAX_HEADER)
    if at < 0:
        raise FormatError("the form does not start with its boundary")
    for _ in range(_MAX_PARTS + 1):
        at += len(mark)
        if data[at : at + 2] == b"--":
            return
        header_end = data.find(b"\r\n\r\n", at, at + _MAX_HEADER)
        if header_end < 0:
            raise FormatError("a part of the form has no header", offset=at)
        start = header_end + 4
        end = data.find(b"\r\n" + mark, start)
        if end < 0:
            raise FormatError("a part of the form has no end", offset=start)
        header = BytesHeaderParser().parsebytes(data[at + 2 : header_end + 2])
        name = header.get_param("name", "", "content-disposition")
        yield FormPart(str(name), header.get_filename(), start, end)
        at = end + 2
    raise FormatError(f"the form has more than {_MAX_PARTS} parts")


_COPY_SIZE = 1 << 26
_MAX_URL = 8192
_URL_FORM = "application/x-www-form-urlencoded"
_FOLDERS = frozenset({".", ".."})
_IN_BREAKPAD_TREE = 3  # parts of a path: NAME/ID/FILE
# Files with these errors are skipped: they are valid, but not modules with functions.
_SKIPPED = (UnsupportedError, EmptyError, ArchitectureError)


def member_key(name: str) -> ModuleKey:
    """The module named by a path in an upload, with its id if that is NAME/ID/FILE."""
    parts = name.split("/")
    if len(parts) == _IN_BREAKPAD_TREE:
        try:
            return key_of_debug_id(parts[0], parts[1])
        except ValueError:
            pass
    file = bare_name(parts[-1])
    return ModuleKey(debug_file=file.removesuffix(".gsym"), code_file=file)


def unpack_upload(
    body: str, content_type: str, name: str, folder: str, limits: list[int]
) -> dict[str, Any]:
    """Write the files of an upload to a folder, named by number.

    Returns:
        `names`: of the files in order; `urls`: from a form without files.

    Raises:
        LimitError: It exceeds the limits.
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
        if recognise_file(path) != "zip archive":
            os.rename(path, os.path.join(folder, str(len(names))))
            names.append(file_name)
            continue
        left = ArchiveLimits(*limits)
        left = left._replace(members=left.members - len(names))
        for member in members(path, left):
            member_name = member.name.replace("\\", "/")
            if "\0" in member_name or _FOLDERS.intersection(member_name.split("/")):
                raise FormatError(f"'{member_name[:200]}' is not a path in an archive")
            member.write(os.path.join(folder, str(len(names))))
            names.append(member_name)
    return {"names": names, "urls": urls}


def _encoded_url(body: str, content_type: str) -> str:
    """The URL in a form that contains only that, else "".

    curl sends any body with the content type of such a form.
    """
    if content_type.partition(";")[0].strip() != _URL_FORM:
        return ""
    with open(body, "rb") as file:
        text = file.read(_MAX_URL)
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
                    text = data[part.start : min(part.end, part.start + _MAX_URL)]
                    urls += text.decode("utf-8", "replace").split()[:1]
    return files, urls


def _copy(source: int, start: int, end: int, path: str) -> None:
    with open(path, "xb") as target:
        while start < end:
            piece = os.pread(source, min(_COPY_SIZE, end - start), start)
            target.write(piece)
            start += len(piece)


def convert_members(  # noqa: PLR0913 - independent keywords
    names: list[str],
    folder: str,
    store: str,
    *,
    stated: list[str],
    keep_originals: bool,
    most_inflated: int,
) -> dict[str, Any]:
    """Convert the files of an upload for the server to publish.

    Args:
        names: Names of the files, which are in *folder* by number.
        folder: The folder of `unpack_upload`.
        store: Path of a folder for them, which is created.
        stated: What the upload says of its one module, a `ModuleKey`.
        keep_originals: Whether it keeps the files as well.
        most_inflated: Maximum inflated bytes of a compressed file.

    Returns:
        `modules`: as `describe` has them; `members`: the numbers of their files;
        `skipped`: number and reason of each file that is not a module.

    Raises:
        GsymError: A file is damaged, or not the module that its path or the upload
            names.
    """
    made, module = Delivery(store), ModuleKey(*stated)
    modules: list[dict[str, Any]] = []
    members: list[int] = []
    skipped: list[tuple[int, str]] = []
    for number, name in enumerate(names):
        path = os.path.join(folder, str(number))
        try:
            for entry in _convert(
                *(made, path, name, module),
                keep_original=keep_originals,
                most_inflated=most_inflated,
            ):
                modules.append(describe(entry))
                members.append(number)
        except _SKIPPED as error:
            skipped.append((number, error.reason))
        except GsymError as error:
            error.reason = f"'{name[:200]}': {error.reason}"
            raise
        os.unlink(path)
    return {"modules": modules, "members": members, "skipped": skipped}


def _convert(
    store: Store, path: str, name: str, stated: ModuleKey, **options: Any
) -> Iterator[Entry]:
    """The module of a file, or of a fat file one for each slice."""
    key = member_key(name)
    most_inflated = options["most_inflated"]
    with store.temporary_folder() as folder:
        file = inflate_file(path, folder, most_inflated)
        if not recognise_file(file):
            raise UnsupportedError("unrecognized file format")
        wanted = completed(stated, ModuleKey(debug_id=key.debug_id))
        found = storable_modules(file, wanted)
        if any(stated) and len(found) > 1:
            reason = "the parameters describe one module, the file has several"
            raise FormatError(reason)
        for module in found:
            more: dict[str, Any] = {"threads": 1}
            if len(found) > 1:
                more["architecture"] = module.architecture
            yield add_file(
                store,
                file,
                key=key if len(found) == 1 else key._replace(debug_id=""),
                identity=stated,
                **options,
                **more,
            ).entry
