"""The page as a person uses it, in a browser."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from gsym.modules.symbolizer import Symbolizer
from tests.report_examples import CRASH_REPORT, TOMBSTONE
from tests.server.page_browser import Visit, open_browser
from tests.server.page_store import (
    BUILD_ID,
    EVIL_ID,
    FOO_ID,
    OLD_FOO_ID,
    XUL_ID,
    StoredModules,
    make_page_store,
)
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

PHONE = {"width": 360, "height": 740}
FRAME = "libfoo.so+0x1016"  # in two inlined calls
BACKTRACE = TOMBSTONE.replace("0000000000012345", "0000000000401016")
MARKUP = f"""\
{{{{{{module:0:libfoo.so:elf:{BUILD_ID}}}}}}}
{{{{{{mmap:0x1000:0x9000:load:0:rx:0x401000}}}}}}
{{{{{{bt:0:0x1016:pc}}}}}}
"""
# What is there once a section has what it shows.
SECTIONS = {
    "": "#input",
    "#/modules": "#other table",
    f"#/module/{FOO_ID}": ".facts",
    "#/misses": "#other p:not(:has-text('Loading'))",
    "#/figures": ".tiles li",
}
DROP = """(text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "crash.txt"));
    dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}));
}"""
BUSY = "#paste [aria-busy]"
REQUEST = json.dumps({"memoryMap": [["xul.pdb", XUL_ID]], "stacks": [[[0, 0x1004]]]})


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from open_browser()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = make_page_store(tmp_path_factory.mktemp("site"))
    with RunningServer(Symbolizer(StoredModules(store))) as running:
        yield running.url


@pytest.fixture(scope="module")
def visitor(browser: Any, site: str) -> Iterator[Visit]:
    visit = Visit(browser, site)
    yield visit
    visit.close()


@pytest.fixture
def visit(visitor: Visit, site: str) -> Iterator[Visit]:
    """A visit in which nothing may go wrong, and no other site be asked."""
    visit = visitor
    visit.renew()
    visit.open()
    yield visit
    assert visit.faults == []
    assert [url for url in visit.asked if not url.startswith(site)] == []


# ---- stacks

SHOW = """async (calls) => {
    const place = new URL("page/files/answer.js", document.baseURI);
    const {reportElement} = await import(place);
    const frames = calls.map((each) => ({
        module: 0, offset: "0x10", text: "0x10", reason: "", calls: each,
    }));
    const parts = frames.flatMap((_, index) => [index, "\\n"]);
    const state = calls.some((each) => each.length) ? "found" : "missing";
    const modules = [{name: "app", state}];
    const answer = {parts, frames, modules, threads: [{frames}], serves_sources: false};
    document.getElementById("answer").replaceChildren(reportElement(answer));
}"""


def call(function: str, file: str = "/src/app.cc") -> dict[str, Any]:
    return {"function": function, "file": file, "line": 1}


def test_calls_into_headers_of_the_system_are_dimmed_and_their_callers_not(
    visit: Visit,
) -> None:
    header = call("std::move", "/usr/include/c++/12/bits/move.h")
    visit.page.evaluate(
        SHOW, [[header, call("mine")], [header], [call("also mine", "./app.cc")]]
    )
    assert visit.page.locator(".call.system").count() == 2
    assert visit.page.locator(".line.system").count() == 1
    assert visit.texts(".line:not(.system) .call:not(.system) .function") == [
        "mine",
        "also mine",
    ]


STRING = (
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("f(int)", "f(int)"),
        (f"f({STRING} const&)", "f(std::string const&)"),
        (f"std::vector<{STRING}, std::allocator<{STRING} > >::at", None),
        ("std::set<int, std::less<int>, std::allocator<int> >::end", None),
        ("x" * 200, "x" * 160 + "…"),
    ],
)
def test_long_names_are_short_until_they_are_wanted(
    visit: Visit, name: str, short: str | None
) -> None:
    visit.page.evaluate(SHOW, [[call(name)]])
    (shown,) = visit.texts(".function")
    assert shown == short or (short is None and "allocator" not in shown)
    if short != name:
        visit.page.click("button[aria-label='Full name']")
        assert visit.texts(".function") == [name]
        visit.page.click("button[aria-label='Full name']")
        assert visit.texts(".function") == [shown]


def test_a_missing_module_has_one_note(visit: Visit) -> None:
    visit.page.evaluate(SHOW, [[], [], []])
    assert visit.page.locator(".line").count() == 3
    assert visit.texts(".reason") == ["no symbols of app"]


def test_what_else_a_frame_may_be_is_beside_its_calls(visit: Visit) -> None:
    frame = {"reason": "ambiguous: or app at 0x1035", "folded": "one of f, g"}
    visit.page.evaluate(SHOW, [[call("f")], [call("f")]])
    assert visit.texts(".reason") == []
    visit.page.evaluate(SHOW.replace('reason: ""', f"...{frame}"), [[call("f")]])
    assert visit.texts(".reason") == ["ambiguous: or app at 0x1035; one of f, g"]


def test_marks_that_turn_text_around_are_shown_as_such(visit: Visit) -> None:
    visit.page.evaluate(SHOW, [[call("f", "/src/\u202ecc.exe")]])
    assert visit.texts(".place") == ["/src/\ufffdcc.exe:1"]


@pytest.mark.parametrize(
    ("paste", "heading", "function"),
    [
        (BACKTRACE, "signal 11 (SIGSEGV)", "foo::bar(int)"),
        (CRASH_REPORT, "EXC_BAD_ACCESS (SIGSEGV)", "-[Example run:]"),
        (MARKUP, "Symbolizer markup", "foo::bar(int)"),
        (REQUEST, "Symbolication request", "XRE_main"),
    ],
)
def test_each_format_is_shown_symbolized(
    visit: Visit, paste: str, heading: str, function: str
) -> None:
    visit.symbolize(paste)
    (shown_heading,) = visit.texts("#answer h2")
    assert shown_heading.startswith(heading)
    shown = visit.texts(".line")
    assert any(function in line for line in shown), shown


def test_the_innermost_call_is_first_and_what_it_is_inlined_into_follows(
    visit: Visit,
) -> None:
    visit.symbolize(FRAME)
    assert visit.texts(".innermost .function") == ["foo::leaf()"]
    assert visit.texts(".innermost .place") == ["/src/lib/c.h:7"]
    assert visit.texts(".chain .function") == ["foo::mid(int)", "foo::bar(int)"]
    assert visit.texts(".chain .place") == ["/src/lib/b.h:30", "/src/lib/a.cpp:12"]
    visit.page.click("text=Inlined calls")
    assert not visit.page.locator(".chain").first.is_visible()
    visit.page.click("text=Inlined calls")
    assert visit.page.locator(".chain").first.is_visible()


def test_the_report_folds_away_after_it_is_submitted(visit: Visit) -> None:
    visit.symbolize(f"one\n{FRAME}\n")
    assert not visit.page.locator("#text").is_visible()
    visit.page.click("text=Report of 2 lines")
    assert visit.page.input_value("#text") == f"one\n{FRAME}\n"


THREADS = f"""\
==7==ERROR: AddressSanitizer: heap-use-after-free
READ of size 4 at 0x602000000010 thread T0
    #0 0x1 (/opt/libfoo.so+0x1016) (BuildId: {BUILD_ID})
    #1 0x2 (/usr/lib/libc.so.6+0x26d09)

0x602000000010 is located here
freed by thread T1 here:
    #0 0x1 (/opt/libfoo.so+0x1000) (BuildId: {BUILD_ID})
"""


def test_each_thread_has_a_tab(visit: Visit) -> None:
    visit.symbolize(THREADS)
    assert visit.texts("#answer h2") == ["ERROR: AddressSanitizer: heap-use-after-free"]
    whole, read, freed = visit.texts("[role=tab]")
    assert whole == "Whole report"
    assert freed.startswith("freed by thread T1")
    assert visit.texts("[role=tab][aria-selected=true]") == [read]  # it crashed
    assert len(visit.texts(".line")) == 2
    visit.page.click("[role=tab]:has-text('Whole report')")
    assert len(visit.texts(".line")) == 3
    visit.page.click(f"[role=tab]:has-text('{freed[:20]}')")
    assert visit.texts(".said") == [
        "0x602000000010 is located here",
        "freed by thread T1 here:",
    ]
    assert visit.texts(".innermost .function") == ["foo::bar(int)"]
    visit.page.keyboard.press("ArrowLeft")
    assert visit.page.locator("[role=tab][aria-selected=true]").inner_text() == read


def test_the_frame_that_crashed_and_system_code_are_marked(visit: Visit) -> None:
    visit.symbolize(THREADS)
    crashed = visit.page.locator(".line.crashed")
    assert crashed.count() == 1
    assert "foo::leaf()" in crashed.inner_text()
    assert "libc.so.6" in visit.texts(".line.system")[0]


def test_lines_far_below_are_made_when_they_come_near(visit: Visit) -> None:
    visit.page.evaluate(
        "text => { document.getElementById('text').value = text; }",
        f"{FRAME}\n" * 5000 + "last\n",
    )
    visit.page.click("#paste button")
    visit.page.wait_for_selector(".line")
    made = visit.page.locator(".line").count()
    assert 0 < made < 2500
    visit.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    visit.page.wait_for_selector(".said:has-text('last')")


def test_a_long_log_is_read_from_its_file(visit: Visit) -> None:
    told = "a line that says nothing of an address\n"
    visit.page.evaluate(DROP, told * 100_000 + FRAME + "\nend")
    visit.page.wait_for_selector(".chunk")
    assert visit.texts("#answer .summary p") == ["1 frame, all symbolicated"]
    assert visit.texts(".said")[:1] == [told.strip()]
    visit.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    visit.page.wait_for_selector(".innermost .function:has-text('foo::leaf()')")


def test_source_lines_unfold_where_sources_are_served(
    browser: Any, tmp_path: Path
) -> None:
    (tmp_path / "src/lib").mkdir(parents=True)
    lines = "".join(f"line {number};\n" for number in range(1, 40))
    (tmp_path / "src/lib/c.h").write_text(lines, encoding="utf-8")
    modules = StoredModules(make_page_store(tmp_path))
    settings: dict[str, Any] = {
        "enable_source": True,
        "source_roots": [f"/src={tmp_path}/src"],
    }
    with RunningServer(Symbolizer(modules), **settings) as running:
        visit = Visit(browser, running.url)
        visit.open()
        visit.symbolize(FRAME)
        visit.page.click("button.place:has-text('c.h:7')")
        visit.page.wait_for_selector(".source .this")
        assert visit.texts(".source .this") == ["7 line 7;"]
        assert visit.texts(".source span")[0] == "3 line 3;"
        visit.page.click("button.place:has-text('c.h:7')")
        assert not visit.page.locator(".source").count()
        visit.page.click("button.place:has-text('b.h:30')")
        visit.page.wait_for_selector(".source:has-text('no source file')")
        visit.close()


def test_an_example_can_be_tried(visit: Visit) -> None:
    visit.page.click("text=Try an example")
    visit.page.wait_for_selector(".innermost .function")
    assert visit.page.locator(".line.crashed").count() == 1


def test_the_answer_is_copied_as_text(visit: Visit) -> None:
    visit.symbolize(f"Crashed:\n  #0 {FRAME}\n\nend")
    visit.page.click("text=Copy text")
    visit.page.wait_for_selector("text=Text copied")
    assert visit.copied() == (
        "Crashed:\n"
        "  #0 foo::leaf() at /src/lib/c.h:7 [inlined]\n"
        "     foo::mid(int) at /src/lib/b.h:30 [inlined]\n"
        "     foo::bar(int) at /src/lib/a.cpp:12 (libfoo.so+0x1016)\n"
        "\nend"
    )


def test_a_link_brings_the_stack_back(visit: Visit) -> None:
    visit.symbolize(FRAME + " é")
    visit.page.click("text=Copy link")
    visit.page.wait_for_selector("text=Link copied")
    link = visit.copied()
    assert link.startswith(f"{visit.url}/#/stack/")
    visit.page.goto("about:blank")
    visit.page.goto(link)
    visit.page.wait_for_selector(".line")
    assert visit.page.input_value("#text") == FRAME + " é"
    assert "foo::bar(int)" in visit.texts(".line")[0]


@pytest.mark.parametrize("letters", ["", "AAAA"])
def test_an_invalid_link_is_reported(visit: Visit, letters: str) -> None:
    visit.open(f"#/stack/{letters}")
    if letters:
        visit.page.wait_for_selector("text=The link holds no stack.")
    assert not visit.page.locator(".line").count()


def test_a_guess_by_name_can_be_changed(visit: Visit) -> None:
    visit.symbolize(FRAME)
    visit.page.click(".named > summary")
    choice = visit.page.locator(".named select")
    assert choice.input_value() == FOO_ID.upper()
    choice.select_option(OLD_FOO_ID.upper())
    visit.page.wait_for_selector(
        f'.named a[href="#/module/{OLD_FOO_ID.upper()}"]', state="attached"
    )


def test_addresses_alone_are_looked_up_in_the_module_named(visit: Visit) -> None:
    visit.symbolize("0x401000 0x999999")
    assert visit.page.locator(".line").count() == 0
    visit.page.fill("#module", f"libfoo.so/{FOO_ID}")
    visit.page.click("#paste button")
    visit.page.wait_for_selector(".line")
    first, second = visit.texts(".line")
    assert "foo::bar(int)" in first
    assert "no function covers this address" in second


def test_a_missing_module_lists_its_sources(visit: Visit) -> None:
    visit.symbolize(BACKTRACE)
    assert "2 not found" in visit.texts(".named > summary")[0]
    visit.page.click(".named > summary")
    told = " ".join(visit.texts(".named td"))
    assert "folder: no such file" in told
    assert "https://symbols.example: timeout" in told


def test_a_dropped_file_is_read(visit: Visit) -> None:
    visit.page.evaluate(DROP, BACKTRACE)
    visit.page.wait_for_selector(".line")
    assert visit.page.input_value("#text") == BACKTRACE
    visit.page.evaluate(DROP, "\x7fELF\0\0")
    visit.page.wait_for_selector("text=This server takes no uploads.")


@pytest.mark.parametrize("lines", [1, 100_000])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_the_button_is_busy_until_the_answer_to_a_file_comes_or_another_is_dropped(
    lines: int, visit: Visit, *, is_replaced: bool
) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    visit.page.route("**/symbolicate/report?*", hold)
    with visit.page.expect_request("**/symbolicate/report?*"):
        visit.page.evaluate(DROP, "a line that says nothing\n" * lines + FRAME)
    assert visit.page.locator(BUSY).count() == 1
    if is_replaced:
        visit.page.evaluate(DROP, "\x7fELF\0\0")
        visit.page.wait_for_selector("text=This server takes no uploads.")
        visit.page.wait_for_selector(BUSY, state="detached")
    held[0].continue_()
    visit.page.wait_for_selector(BUSY, state="detached")


def test_a_dropped_debug_file_is_uploaded_with_a_token(
    browser: Any, tmp_path: Path
) -> None:
    modules = StoredModules(make_page_store(tmp_path))
    settings: dict[str, Any] = {"store": modules.store.path}
    settings["tokens"] = {"secret": "upload"}
    with RunningServer(Symbolizer(modules), **settings) as running:
        visit = Visit(browser, running.url)
        visit.open()
        sym = f"MODULE Linux x86_64 {'9' * 32}0 libnew.so\nFUNC 10 10 0 brand_new\n"
        visit.page.evaluate(DROP, sym)
        visit.page.fill("#upload-token", "wrong")
        visit.page.click("text=Upload >> nth=-1")
        visit.page.wait_for_selector("text=unknown token")
        visit.page.fill("#upload-token", "secret")
        visit.page.click("text=Upload >> nth=-1")
        visit.page.wait_for_selector("text=libnew.so is in the store")
        visit.symbolize(f"libnew.so/{'9' * 32}0+0x14")
        assert "brand_new" in visit.texts(".line")[0]
        visit.close()


def test_a_token_is_requested_if_needed(browser: Any, tmp_path: Path) -> None:
    modules = StoredModules(make_page_store(tmp_path))
    with RunningServer(Symbolizer(modules), tokens={"secret": "read"}) as running:
        visit = Visit(browser, running.url)
        visit.open("#/modules")
        visit.page.fill("#token-text", "wrong")
        visit.page.press("#token-text", "Enter")
        visit.page.wait_for_function(
            "document.getElementById('token-text').value === ''"
        )
        visit.page.wait_for_selector("#token-wrong:visible")
        visit.page.fill("#token-text", "secret")
        visit.page.press("#token-text", "Enter")
        visit.page.wait_for_selector("#other table")
        visit.page.click("nav >> text=Symbolicate")
        visit.symbolize(FRAME)
        visit.close()


def test_markup_in_names_is_escaped(visit: Visit) -> None:
    visit.symbolize(
        f"<b>bold</b>\nlibevil.so/{EVIL_ID}+0x1000\n<script>x</script>.so+0x1"
    )
    assert "<script>document.title='harmed'</script>" in visit.texts(".line")[0]
    assert "<b>bold</b>" in visit.texts(".said")[0]
    assert visit.page.locator("#view script, #view img, #view b").count() == 0
    visit.open(f"#/module/{EVIL_ID}")
    visit.page.fill("#search", "document")
    visit.page.wait_for_selector(".found li button")
    visit.page.click(".found li button")
    visit.page.wait_for_selector(".found li strong")
    job = {"memoryMap": [["<i>x.so", "E" * 33]], "stacks": [[[0, 1]]]}
    visit.page.request.post(f"{visit.url}/symbolicate/v5", data=job)
    visit.open("#/misses")
    visit.page.wait_for_selector("#other table :text('<i>x.so')")
    assert visit.page.locator("#view script, #view img, #view b, #view i").count() == 0
    assert "harmed" not in visit.page.title()


def test_the_policy_stops_scripts_within_the_page(browser: Any, site: str) -> None:
    visit = Visit(browser, site)
    visit.open()
    visit.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "document.title = 'harmed'";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<p style='color:red'>x</p>");
        }"""
    )
    assert visit.page.title() != "harmed"
    assert sum("Content Security Policy" in fault for fault in visit.faults) == 2
    visit.close()


def test_an_unreachable_server_is_reported(browser: Any, site: str) -> None:
    visit = Visit(browser, site)
    visit.open()
    visit.page.route("**/symbolicate/report?*", lambda route: route.abort())
    visit.page.fill("#text", FRAME)
    visit.page.press("#text", "Control+Enter")
    visit.page.wait_for_selector("text=The server cannot be reached.")
    visit.close()


# ---- the store


def test_a_module_is_found_and_opened(visit: Visit) -> None:
    visit.page.click("nav >> text=Modules")
    visit.page.wait_for_selector("#other table")
    assert visit.texts("caption") == ["1\u20135 of 5 modules"]
    visit.page.fill("#search", "foo 80ae")
    visit.page.wait_for_selector("caption:has-text('of 1 module')")
    visit.page.click("#other table a")
    visit.page.wait_for_selector(".facts")
    assert visit.texts("h1:visible") == ["libfoo.so"]


def test_functions_and_addresses_are_looked_up(visit: Visit) -> None:
    visit.open(f"#/module/{FOO_ID}")
    visit.page.fill("#search", "bar")
    visit.page.click(".found li button")
    visit.page.wait_for_selector(".found strong")
    assert visit.page.input_value("#address") == "0x401000"
    visit.page.fill("#address", "0x1016")
    visit.page.select_option("[aria-label='The address counts from']", "image")
    visit.page.click("text=Look up")
    visit.page.wait_for_selector(".found strong:has-text('foo::leaf()')")


def test_a_late_response_does_not_change_another_section(visit: Visit) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    visit.page.route("**/page/misses?*", hold)
    visit.open("#/misses")
    visit.page.wait_for_selector("text=Loading…")
    visit.open("#/figures")
    visit.page.wait_for_selector("h1:visible:has-text('Status')")
    with visit.page.expect_response("**/page/misses?*"):
        held[0].continue_()
    visit.page.wait_for_selector(".tiles li")
    assert visit.texts("h1:visible") == ["Status"]


# ---- for everybody


def test_shortcuts_work_as_listed(visit: Visit) -> None:
    visit.page.keyboard.press("?")
    assert visit.page.locator("#shortcuts").is_visible()
    visit.page.keyboard.press("Escape")
    visit.page.wait_for_selector("#shortcuts", state="hidden")
    visit.page.keyboard.press("/")
    assert visit.page.evaluate("document.activeElement.id") == "text"
    visit.symbolize(f"{FRAME}\nlibfoo.so+0x2000")
    visit.page.keyboard.press("Escape")
    for _press in range(2):
        visit.page.keyboard.press("j")
    visit.page.keyboard.press("k")
    assert visit.page.locator(".line").first.evaluate(
        "line => line === document.activeElement"
    )
    visit.page.keyboard.press("i")
    assert not visit.page.locator(".chain").is_visible()
    visit.page.keyboard.press("c")
    visit.page.wait_for_selector("text=Text copied")
    for key, section in (
        ("2", "Modules"),
        ("3", "Modules that were not found"),
        ("4", "Status"),
    ):
        visit.page.keyboard.press(key)
        visit.page.wait_for_selector(f"h1:visible:has-text('{section}')")
    visit.page.keyboard.press("1")
    visit.page.wait_for_selector("#input")


def test_a_phone_shows_all_without_scrolling_sideways(browser: Any, site: str) -> None:
    visit = Visit(browser, site, viewport=PHONE, has_touch=True, is_mobile=True)
    widths = {}
    for fragment, sign in SECTIONS.items():
        visit.open(fragment)
        if not fragment:
            visit.symbolize(BACKTRACE + "a" * 300)
        visit.page.wait_for_selector(sign)
        widths[fragment] = visit.width()
    assert widths == dict.fromkeys(SECTIONS, PHONE["width"])
    assert visit.faults == []
    visit.close()


CONTRAST = """(selectors) => {
    const canvas = document.createElement("canvas").getContext("2d");
    const rgba = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (rgb) => {
        const [r, g, b] = rgb.slice(0, 3).map((each) => each / 255).map((each) =>
            each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const color = rgba(getComputedStyle(at).backgroundColor);
            if (color[3] === 255) return color;
        }
        return [255, 255, 255, 255];
    };
    const found = {};
    for (const element of document.querySelectorAll("#view *, header *")) {
        const own = [...element.childNodes].some(
            (node) => node.nodeType === 3 && node.data.trim());
        if (!own || !element.checkVisibility()) continue;
        const a = light(rgba(getComputedStyle(element).color));
        const b = light(behind(element));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const name = element.tagName + "." + element.className;
        found[name] = Math.min(found[name] ?? 99, ratio);
    }
    return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(
    browser: Any,
    site: str,
    scheme: str,
) -> None:
    visit = Visit(browser, site, color_scheme=scheme)
    visit.open()
    visit.symbolize(BACKTRACE)
    visit.page.keyboard.press("Escape")
    visit.page.keyboard.press("i")
    visit.page.click(".named > summary")
    ratios = visit.page.evaluate(CONTRAST)
    background = visit.page.evaluate(
        "getComputedStyle(document.documentElement).backgroundColor"
    )
    for fragment in list(SECTIONS)[1:]:
        visit.open(fragment)
        visit.page.wait_for_selector(SECTIONS[fragment])
        ratios |= visit.page.evaluate(CONTRAST)
    visit.close()
    assert len(ratios) > 30
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
    brightness = sum(map(int, re.findall(r"\d+", background)[:3]))
    assert (brightness > 600) == (scheme == "light")


NAMELESS = """() => [...document.querySelectorAll(
        "a, button, input, select, textarea, summary, svg")]
    .filter((each) => each.checkVisibility() && !each.textContent.trim()
        && !each.getAttribute("aria-label") && !(each.labels && each.labels.length))
    .map((each) => each.outerHTML.slice(0, 80))"""


def test_every_control_has_a_name_and_every_section_one_heading(visit: Visit) -> None:
    for fragment, sign in SECTIONS.items():
        visit.open(fragment)
        visit.page.wait_for_selector(sign)
        assert visit.page.evaluate(NAMELESS) == []
        assert visit.page.locator("h1").locator("visible=true").count() == 1
        assert visit.page.get_attribute("html", "lang") == "en"
        assert visit.page.locator("nav [aria-current=page]").count() == 1
