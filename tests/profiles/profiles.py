"""Small profiles to write in every form, and a strategy for any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from gsym.profiles.model import (
    Frame,
    Mapping,
    Profile,
    ProfileBuilder,
    Thread,
    ValueType,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

TYPES = (ValueType("samples", "count"), ValueType("cpu", "nanoseconds"))
MODULE = Mapping(0x7000, 0x9000, 0x1000, 0x1000, "/opt/lib/a.so", "ab" * 20)
MAIN = Frame("main", "main", "/src/main.c", 30)
OUTER = Frame("outer(int)", "_Z5outeri", "/src/a.cc", 12)
INNER = Frame("inner()", "_Z5innerv", "/src/a.h", 3)


def small_profile() -> Profile:
    """Two threads; a stack that comes twice in one of them; an unknown address."""
    builder = ProfileBuilder(TYPES)
    profile = builder.profile
    module = builder.mapping(MODULE)
    leaf = builder.location(0x7010, module)
    root = builder.location(0x7050, module, is_return=True)
    unknown = builder.location(0x7FFF, module)
    for index, frames in ((leaf, (INNER, OUTER)), (root, (MAIN,))):
        profile.locations[index] = profile.locations[index]._replace(frames=frames)
    deep = builder.stack([leaf, root])
    flat = builder.stack([unknown, root])
    first = builder.thread(Thread(1, 10, "app", "main"))
    second = builder.thread(Thread(1, 11, "app"))
    builder.sample(deep, (1, 100), thread=first, time=2000)
    builder.sample(flat, (1, 50), thread=first, time=1000)
    builder.sample(deep, (2, 200), thread=first, time=3000)
    builder.sample(deep, (4, 400), thread=second, time=1500)
    return profile


_NAMES = st.text(max_size=8)
_FRAMES = st.builds(Frame, _NAMES, _NAMES, _NAMES, st.integers(0, 1 << 31))


@st.composite
def profiles(draw: DrawFn) -> Profile:
    """Any profile that a builder can make."""
    builder = ProfileBuilder(TYPES)
    profile = builder.profile
    mappings = [
        builder.mapping(MODULE._replace(start=start, limit=start + 0x1000))
        for start in draw(st.sets(st.integers(0, 15).map(lambda n: n << 16)))
    ]
    indexes = [
        builder.location(address, mapping, is_return=is_return)
        for address, mapping, is_return in draw(
            st.lists(
                st.tuples(
                    st.integers(0, (1 << 64) - 1),
                    st.sampled_from([None, *mappings]),
                    st.booleans(),
                ),
                min_size=1,
            )
        )
    ]
    for index in set(indexes):
        frames = tuple(draw(st.lists(_FRAMES, max_size=3)))
        profile.locations[index] = profile.locations[index]._replace(frames=frames)
    stacks = st.lists(st.sampled_from(indexes), max_size=6).map(builder.stack)
    threads = st.builds(Thread, st.integers(0, 3), st.integers(0, 3), _NAMES, _NAMES)
    for stack, thread, time, values in draw(
        st.lists(
            st.tuples(
                stacks,
                st.none() | threads.map(builder.thread),
                st.none() | st.integers(0, 1 << 60),
                st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 40)),
            )
        )
    ):
        builder.sample(stack, values, thread=thread, time=time)
    return profile
