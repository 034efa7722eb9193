"""Names without scope and parameters."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.engine.demangling import demangle
from gsym.markup.short_names import short_name

NAMES = {
    "main": "main",
    "geo::area": "area",
    "first()": "first",
    "geo::Box::area(int, char) const": "area",
    "(anonymous namespace)::hidden(int)": "hidden",
    "a::(anonymous namespace)::hidden()": "hidden",
    "int max<int>(int, int)": "max<int>",
    "std::pair<int, a::b> a::make<std::pair<int, a::b> >(int)": (
        "make<std::pair<int, a::b> >"
    ),
    "std::function<void (int)>::operator()(int) const": "operator()",
    "a::operator<<(int)": "operator<<",
    "bool a::operator< <int>(a::B<int> const&)": "operator< <int>",
    "a::operator->()": "operator->",
    "A::operator bool() const": "operator bool",
    "A::operator std::vector<int>() const": "operator std::vector<int>",
    "operator new[](unsigned long)": "operator new[]",
    'a::operator"" _km(long double)': 'operator"" _km',
    "foo(int)::{lambda(int)#1}::operator()(int) const": "operator()",
    "a::B::f(int) const::{lambda()#1}::operator()() const": "operator()",
    "a::f(void (*)(int))": "f",
    "f(int) [clone .cold]": "f",
    "core::ptr::drop_in_place::<alloc::string::String>": (
        "drop_in_place<alloc::string::String>"
    ),
    "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt": "fmt",
    "a::main::{closure#0}": "{closure#0}",
    "operators(int)": "operators",
    "f(std::function<int (a->b)>)": "f",
    "": "",
    "a::": "a::",
    "(": "(",
    "::": "::",
}


def test_short_names() -> None:
    shown = {name: short_name(name.encode()).decode() for name in NAMES}
    assert shown == NAMES


def test_the_linkers_names_become_those_of_debug_information() -> None:
    name = demangle("_ZN3geo4areaIiEET_S1_S1_")
    if name.startswith("_Z"):
        pytest.skip("there is no C++ runtime")
    assert short_name(name.encode()) == b"area<int>"


@given(st.text(alphabet="<>()[]{}:ab -=&,", max_size=60).map(str.encode))
def test_any_text_has_a_short_name_that_is_a_part_of_it(text: bytes) -> None:
    found = short_name(text)
    assert found == text or found in text.replace(b"::<", b"<")
