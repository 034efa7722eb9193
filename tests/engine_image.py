"""The engine called directly, for what the Python API does not offer."""

from __future__ import annotations

import gsym
from gsym.engine.native import check, ffi, lib, new_error
from tests.views import text

MOST = 64  # frames and patterns that are asked for; no test makes more


class Image:
    """A GSYM file in memory, asked under the engine's own flags."""

    def __init__(self, data: bytes, index_limit: int | None = None) -> None:
        self._data = ffi.from_buffer(data)
        self._error = new_error()
        image = ffi.new("gsym_image **")
        check(
            lib.gsym_image_open(self._data, len(data), image, self._error), self._error
        )
        self._image = ffi.gc(image[0], lib.gsym_image_close)
        if index_limit is not None:
            lib.gsym_image_limit_indexes(self._image, index_limit)

    @property
    def indexed_functions(self) -> int:
        """Functions that have an index in the file."""
        header = ffi.new("gsym_header *")
        lib.gsym_image_header(self._image, header)
        return int(header.indexed_functions)

    def make_index(self) -> bytes:
        """The index that the file should have."""
        made, size = ffi.new("gsym_index **"), ffi.new("size_t *")
        check(lib.gsym_index_create(self._image, made, self._error), self._error)
        index = ffi.gc(made[0], lib.gsym_index_destroy)
        return bytes(ffi.buffer(lib.gsym_index_bytes(index, size), size[0]))

    def entries(self, address: int) -> range:
        """The entries of the address table that a lookup considers."""
        first = ffi.new("uint32_t *")
        count = lib.gsym_image_entries(self._image, address, first)
        return range(first[0], first[0] + count)

    @property
    def index_size(self) -> int:
        """Bytes of memory that indexes take."""
        return int(lib.gsym_image_indexes_size(self._image))

    def _string(self, strp: int) -> str:
        size = ffi.new("size_t *")
        raw = lib.gsym_image_string(self._image, strp, size)
        return text(bytes(ffi.buffer(raw, size[0])))

    def _file(self, index: int) -> tuple[str, str]:
        if index == 0:
            return "", ""
        entry = ffi.new("uint64_t[2]")
        status = lib.gsym_image_file(self._image, index, entry, entry + 1, self._error)
        check(status, self._error)
        return self._string(entry[0]), self._string(entry[1])

    def frames(self, address: int, count: int) -> tuple[int, list[object]]:
        """How many frames there are, and the innermost *count* of them."""
        answer, frames = ffi.new("gsym_answer *"), ffi.new("gsym_frame[]", count)
        room = ffi.new("gsym_lookup_room *", [frames, count, ffi.NULL, 0])
        asked = self._image, address, 0, 0
        check(lib.gsym_image_lookup(*asked, room, answer, self._error), self._error)
        fields: list[object] = [
            (frame.name, frame.offset, frame.file, frame.line, frame.inlined)
            for frame in frames[0 : min(count, answer.frame_count)]
        ]
        return int(answer.frame_count), fields

    def lookup(self, address: int, flags: int, child: int = 0) -> gsym.Lookup | None:
        """The function at *address*, or the *child*-th that is merged into it."""
        answer = ffi.new("gsym_answer *")
        frames = ffi.new("gsym_frame[]", MOST)
        regexes = ffi.new("uint64_t[]", MOST)
        room = ffi.new("gsym_lookup_room *", [frames, MOST, regexes, MOST])
        asked = self._image, address, child, flags
        status = lib.gsym_image_lookup(*asked, room, answer, self._error)
        check(status, self._error)
        if not answer.found:
            return None
        function = gsym.FunctionRange(
            self._string(answer.function_name),
            answer.function_address,
            answer.function_size,
        )
        return gsym.Lookup(
            address,
            function,
            tuple(
                gsym.Frame(
                    *(self._string(frame.name), *self._file(frame.file)),
                    *(frame.line, frame.offset, bool(frame.inlined)),
                )
                for frame in frames[0 : answer.frame_count]
            ),
            tuple(self._string(regexes[at]) for at in range(answer.regex_count)),
        )


def outcome(image: Image, address: int, flags: int) -> object:
    """The answer, or what the error says."""
    try:
        return image.lookup(address, flags)
    except gsym.GsymError as error:
        return str(error)
