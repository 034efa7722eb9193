"""A program that says where it was loaded and which addresses its stack had.

It stands for what a profiler gathers: the lines of /proc/self/maps, the address of an
instruction, and those that its callers return to.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

from gsym.profiles.model import Mapping, ProfileBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.profiles.model import Profile

SOURCE = """
#include <stdio.h>
static inline __attribute__((always_inline)) void *here(void) {
    void *place;
    __asm__ volatile("leaq 0(%%rip), %0\\n\\tnop" : "=r"(place));
    return place;
}
__attribute__((noinline)) int leaf(void) {
    void **frame = __builtin_frame_address(0);
    printf("%p\\n", here());
    for (int depth = 0; depth < 3; depth++, frame = *frame)
        printf("%p\\n", frame[1]);
    return 1;
}
__attribute__((noinline)) int middle(void) { return leaf() + 1; }
__attribute__((noinline)) int outer(void) { return middle() + 1; }
int main(void) {
    int sum = outer();
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        fputs(line, stdout);
    return sum != 3;
}
"""
CHAIN = (("here", "leaf"), ("middle",), ("outer",), ("main",))
"""The functions at each address, innermost first."""


class Seen(NamedTuple):
    """What the program said: addresses, innermost first, and its executable mapping."""

    addresses: tuple[int, ...]
    start: int
    limit: int
    file_offset: int


def build(folder: Path, compiler: str, *options: str) -> Path:
    """The program, compiled with a build id and frame pointers."""
    (folder / "chain.c").write_text(SOURCE)
    program = folder / "chain"
    command = [compiler, "-g", "-O1", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1"]
    subprocess.run(
        [*command, "-fno-optimize-sibling-calls", *options, "chain.c", "-o", program],
        cwd=folder,
        check=True,
    )
    return program


def run(program: Path) -> Seen:
    """Run the program and take what it says."""
    lines = subprocess.run(
        [program], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    count = len(CHAIN)
    for line in lines[count:]:
        place, mode, offset, _, _, *path = line.split(maxsplit=5)
        if mode == "r-xp" and path == [str(program)]:
            start, limit = (int(each, 16) for each in place.split("-"))
            found = tuple(int(each, 16) for each in lines[:count])
            return Seen(found, start, limit, int(offset, 16))
    raise AssertionError("the program has no code")


def profile_of(seen: Seen, path: str, build_id: str) -> Profile:
    """The profile that a profiler would have made of it."""
    builder = ProfileBuilder()
    mapping = builder.mapping(
        Mapping(seen.start, seen.limit, None, seen.file_offset, path, build_id)
    )
    stack = [
        builder.location(address, mapping, is_return=depth > 0)
        for depth, address in enumerate(seen.addresses)
    ]
    builder.sample(builder.stack(stack))
    return builder.profile


def frames(profile: Profile) -> tuple[tuple[str, ...], ...]:
    """The names of the functions at each location."""
    return tuple(
        tuple(frame.name for frame in location.frames) for location in profile.locations
    )
