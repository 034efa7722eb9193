"""A store for the page: modules of each kind of id, and names that mean harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gsym import Creator, FunctionInfo, InlineInfo, LineEntry, Range
from gsym.modules.key import Attempt, ModuleKey, elf_debug_id
from gsym.store.directory import Store
from gsym.store.entries import Quality, Resolution

if TYPE_CHECKING:
    from pathlib import Path


BUILD_ID = "80ae0509e7ce335ae3cab61c274274de96049b64"  # of libfoo.so
FOO_ID = elf_debug_id(bytes.fromhex(BUILD_ID), "little")
OLD_BUILD_ID = "90ae0509e7ce335ae3cab61c274274de96049b64"  # of another libfoo.so
OLD_FOO_ID = elf_debug_id(bytes.fromhex(OLD_BUILD_ID), "little")
UUID = "41068F5C-74E3-3C98-9256-6A18364FB5BA"  # of Example
XUL_ID = "44E4EC8C2F41492B9369D6B9A059577C2"
EVIL_BUILD_ID = "ab" * 20
EVIL_ID = elf_debug_id(bytes.fromhex(EVIL_BUILD_ID), "little")
MISSING_BUILD_ID = "ba489d4985c0cf173209da67405662f9"
EVIL = "<script>document.title='harmed'</script>"
EVIL_IMAGE = "<img src=x onerror=\"document.title='harmed'\">"
FOO_BASE = 0x400000
EXAMPLE_BASE = 0x100000000


class Miss:
    """As the misses of a resolver are."""

    def __init__(self, key: ModuleKey, attempts: tuple[Attempt, ...]) -> None:
        self.key = key
        self.attempts = attempts
        self.asked = 1
        self.last_asked = 1_800_000_000.0


class StoredModules:
    """Finds what is in a store, and remembers what is not."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.missed: dict[ModuleKey, Miss] = {}
        self.misses = self

    def resolve(self, key: ModuleKey) -> Resolution:
        entry = self.store.get(key)
        if entry is not None:
            return Resolution(entry, (), is_cached=True)
        attempts = (
            Attempt("folder", "missing", "no such file"),
            Attempt("https://symbols.example", "failed", f"timeout {EVIL}", 5.0),
        )
        if key in self.missed:
            self.missed[key].asked += 1
        else:
            self.missed[key] = Miss(key, attempts)
        return Resolution(None, attempts)

    def most_missed(self, most: int) -> list[Miss]:
        return sorted(self.missed.values(), key=lambda miss: -miss.asked)[:most]


def make_page_store(folder: Path) -> Store:
    """All of the above in a store in *folder*."""
    store = Store(folder / "store")
    linux = ModuleKey(os="Linux", architecture="x86_64")
    for build_id, debug_id in ((OLD_BUILD_ID, OLD_FOO_ID), (BUILD_ID, FOO_ID)):
        identity = linux._replace(
            debug_id=debug_id, code_id=build_id.upper(), debug_file="libfoo.so"
        )
        _put(
            store, identity, FOO_BASE, foo_functions(FOO_BASE), bytes.fromhex(build_id)
        )
    evil = linux._replace(
        debug_id=EVIL_ID, code_id=EVIL_BUILD_ID.upper(), debug_file="libevil.so"
    )
    functions = [_function(0x1000, EVIL, f"/{EVIL_IMAGE}/x.c")]
    _put(store, evil, 0, functions, bytes.fromhex(EVIL_BUILD_ID))
    digits = UUID.replace("-", "")
    example = ModuleKey(
        os="mac",
        architecture="arm64",
        debug_id=digits + "0",
        code_id=digits,
        debug_file="Example",
    )
    functions = [_function(EXAMPLE_BASE + 0x1A00, "-[Example run:]", "/app/Example.m")]
    _put(store, example, EXAMPLE_BASE, functions, bytes.fromhex(digits))
    xul = ModuleKey(
        os="windows",
        architecture="x86_64",
        debug_id=XUL_ID.upper(),
        code_id="5E8F310E69D0000",
        debug_file="xul.pdb",
        code_file="xul.dll",
    )
    functions = [
        _function(0x180001000, "XRE_main", "/gecko/toolkit/xre/nsAppRunner.cpp")
    ]
    _put(store, xul, 0x180000000, functions, b"")
    return store


def _put(
    store: Store,
    identity: ModuleKey,
    base: int,
    functions: list[FunctionInfo],
    uuid: bytes,
) -> None:
    with store.temporary_folder() as folder:
        path = f"{folder}/new.gsym"
        with Creator(uuid=uuid, base_address=base) as creator:
            for function in functions:
                creator.add(function)
            creator.save(path)
        store.publish(
            path,
            identity,
            uuid=uuid,
            quality=Quality(2, len(functions)),
            source="a test",
        )


def _function(start: int, name: str, path: str, size: int = 0x100) -> FunctionInfo:
    return FunctionInfo(start, size, name, line_table=(LineEntry(start, path, 10),))


def foo_functions(base: int) -> list[FunctionInfo]:
    """Functions in some folders; the first with calls inlined at 0x1010."""
    start = base + 0x1000
    inner = InlineInfo(
        "foo::leaf()", "/src/lib/b.h", 30, (Range(start + 20, start + 24),)
    )
    middle = InlineInfo(
        "_ZN3foo3midEi",
        "/src/lib/a.cpp",
        12,
        (Range(start + 16, start + 32),),
        (inner,),
    )
    first = FunctionInfo(
        start,
        0x100,
        "_ZN3foo3barEi",
        line_table=(
            LineEntry(start, "/src/lib/a.cpp", 10),
            LineEntry(start + 16, "/src/lib/b.h", 31),
            LineEntry(start + 20, "/src/lib/c.h", 7),
            LineEntry(start + 32, "/src/lib/a.cpp", 14),
        ),
        inline=InlineInfo(
            "_ZN3foo3barEi", "", 0, (Range(start, start + 0x100),), (middle,)
        ),
    )
    others = [
        _function(base + 0x2000 + 0x200 * at, f"_ZN4core4stepEi_{at}", path, 0x100 + at)
        for at, path in enumerate(
            ["/src/core/net/x.c", "/src/core/gfx/y.c", "/usr/include/z.h", "main.c"]
        )
    ]
    return [first, *others, FunctionInfo(base + 0x9000, 0x10, "no_line")]
