"""Any JSON that looks like a profile or a minidump's report is read without loss."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from gsym.memory.stack_parts import StackFrame
from gsym.reports.stacks.recognition import parse_report
from tests.reports.recorded import IPS, RECORDED
from tests.reports.test_prefixes import PREFIXES

KEYS = (
    *("name", "debugName", "breakpadId", "stringArray", "frameTable", "funcTable"),
    *("resourceTable", "resource", "lib", "address", "func", "shared", "filename"),
    *("debug_file", "debug_id", "frames", "module", "module_offset", "offset"),
    *("function", "crash_info", "type", "crashing_thread", "thread_name"),
)
TEXTS = ("0x10", "0x1f", "app", "", "0x", "\u00e9", '"')
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-2, 20), st.sampled_from(TEXTS), st.text()
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner)
    ),
    max_leaves=30,
)
lists = st.lists(values, max_size=4)


@given(
    st.dictionaries(st.sampled_from(KEYS), values),
    lists,
    lists,
    st.sampled_from([None, 1]),
)
def test_any_profile_keeps_its_text(
    rest: dict[str, object], libs: list[object], threads: list[object], indent: int
) -> None:
    profile = {**rest, "meta": {}, "libs": libs, "threads": threads}
    text = json.dumps(profile, indent=indent)
    stack = parse_report(text)
    assert stack.form == "Firefox profile"
    parts = (
        part.text if isinstance(part, StackFrame) else part for part in stack.parts
    )
    assert "".join(parts) == text


@given(st.dictionaries(st.sampled_from(KEYS), values), lists, lists)
def test_any_minidump_report_is_read(
    rest: dict[str, object], modules: list[object], threads: list[object]
) -> None:
    report = {**rest, "modules": modules, "threads": threads}
    for text in (json.dumps(report), json.dumps({"json_dump": report})):
        stack = parse_report(text)
        assert (stack.form, stack.is_verbatim) == ("minidump-stackwalk JSON", False)
        for part in stack.parts:
            if isinstance(part, StackFrame):
                assert -1 <= part.module < len(stack.modules)


MINIDUMP = next(case.text for case in RECORDED if case.name == "minidump-json")
TEXTS_OF_JSON = {
    "one line": MINIDUMP,
    "indented": json.dumps(json.loads(MINIDUMP), indent=2),
    "two texts": IPS,
    "list": json.dumps([json.loads(MINIDUMP)], indent=2),
}


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("name", TEXTS_OF_JSON)
def test_a_document_is_the_same_behind_the_prefix_of_a_log(
    name: str, prefix: str
) -> None:
    alone = parse_report(TEXTS_OF_JSON[name])
    lines = TEXTS_OF_JSON[name].splitlines(keepends=True)
    behind = parse_report("".join(f"{prefix}{each}" for each in lines))
    assert any(isinstance(part, StackFrame) for part in alone.parts)
    assert behind.parts == alone.parts
    assert behind._replace(lines=alone.lines) == alone


_XML = """<?xml version="1.0" encoding="iso-8859-1"?>
<crash tool="a &amp; b">
  <image name="/opt/app" base="0x5500000000" size="0x5000"/>
  <image name="/opt/lib.so" base="0x7f00000000" size="0x5000"/>
  <thread id="1">
    <frame><pc>0x7f00001130</pc><file>caf\u00e9.c</file></frame>
    <frame><pc>0x5500001140</pc></frame>
  </thread>
</crash>
"""


@pytest.mark.parametrize("end", ["</crash>\n", "</frame>\n  </thread>", "<pc>0x55"])
def test_xml_is_read_by_its_structure_also_if_it_was_cut(end: str) -> None:
    stack = parse_report(_XML[: _XML.rindex(end) + len(end)])
    frames = [each for each in stack.parts if isinstance(each, StackFrame)]
    found = [(stack.modules[each.module].path, each.address) for each in frames]
    assert stack.form == "JSON or XML with addresses"
    expected = [("/opt/lib.so", 0x1130), ("/opt/app", 0x1140)]
    assert found == expected[: 1 + (end != "<pc>0x55")]


_VALGRIND_XML = """<?xml version="1.0"?>
<valgrindoutput><error><what>bad</what><stack>
  <frame><ip>0x109000</ip><obj>/opt/%s</obj></frame>
</stack></error></valgrindoutput>
"""


def test_documents_of_several_processes_have_the_stacks_of_all() -> None:
    stack = parse_report("\ufeff\n" + _VALGRIND_XML % "app" + _VALGRIND_XML % "child")
    frames = [each for each in stack.parts if isinstance(each, StackFrame)]
    found = [(stack.modules[each.module].path, each.address) for each in frames]
    assert stack.form == "valgrind XML"
    assert found == [("/opt/app", 0x1000), ("/opt/child", 0x1000)]


def test_the_number_of_an_element_is_no_id_of_a_module() -> None:
    frame = '<frame id="2" addr="0x401130"/>'
    image = '<binary id="3" path="/opt/app" load-addr="0x400000"/>'
    stack = parse_report(f'<?xml version="1.0"?><a>{frame}{image}</a>')
    (found,) = (each for each in stack.parts if isinstance(each, StackFrame))
    module = stack.modules[found.module]
    assert (module.path, module.has_id, found.address) == ("/opt/app", False, 0x1130)


@pytest.mark.parametrize("text", ["#0 0x1130 (/opt/app+0x1130)", "text"])
def test_xml_without_elements_of_addresses_is_read_as_lines(text: str) -> None:
    text = f'<?xml version="1.0"?>\n<failure type="SIGSEGV">\n{text}\n</failure>\n'
    stack = parse_report(text)
    parts = [each if isinstance(each, str) else each.text for each in stack.parts]
    assert "".join(parts) == text
    assert (len(parts) > 1) == ("#0" in text)


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "0x1">]><a><pc>&b;</pc></a>',
        '<?xml version="1.0"?>\udcff<a/>',
        '<?xml version="1.0"?>',
        "<?xml no=1?><a>",
        '<?xml version="1.0"?><ip></ip> Killed',
        '<?xml version="1.0"?><a><pc>0x1</pc> & <pc>0x2</pc></a>',
    ],
)
def test_other_xml_is_text(text: str) -> None:
    stack = parse_report(text)
    assert (*stack.parts, stack.form) == (text, "text without frames")


@given(
    st.text("<>/ab &;'=", max_size=60),
    st.sampled_from(["", "</frame></stack></error></valgrindoutput>"]),
)
def test_any_xml_is_read(text: str, end: str) -> None:
    begin = "<?xml version='1.0'?><valgrindoutput><error><stack><frame><ip>"
    stack = parse_report(f"{begin}{text}</ip>{end}")
    assert stack.form in {"valgrind XML", "text without frames", "addresses"}
