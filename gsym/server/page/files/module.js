// One module: what it is, its functions by name, one address.

import { bytes, element, grouped } from "./elements.js";
import { ask } from "./server.js";

function facts(found) {
  const { module } = found;
  const list = [
    ["Debug file", module.debug_file], ["Debug id", module.debug_id],
    ["Binary", module.code_file], ["Code id", module.code_id],
    ["System", `${module.os} ${module.architecture}`.trim()],
    ["Functions", `${grouped(found.functions)}, with ${module.level}`],
    ["Incomplete", module.is_incomplete ? "files with debug information are missing: see gsym store info" : ""],
    ["Source files", grouped(found.files)],
    ["Size", `${bytes(found.file_size)} (GSYM version ${found.version})`],
    ["Image base", found.base_address], ["From", module.source],
    ["Downloads", found.downloads.map(({ kind, path }) => [element("a", { href: path, download: "" }, kind), " "]).flat()],
  ];
  return element("dl", { class: "facts" }, list.filter(([, value]) => value?.length).flatMap(([name, value]) =>
    [element("dt", {}, name), element("dd", { class: /id|base/.test(name) ? "code" : null }, value)]));
}

function callItem(call, isInlined) {
  const place = call.file ? ` ${call.file}${call.line ? `:${call.line}` : ""}` : "";
  return element("li", {},
    element("strong", { class: "code" }, call.function),
    element("span", { class: "code soft" }, `+${call.offset}${place}${isInlined ? " (inlined)" : ""}`));
}

function addressPart(debugId) {
  const results = element("ul", { class: "found", "aria-live": "polite" });
  const number = element("input", { id: "address", class: "search code", placeholder: "0x1234", autocomplete: "off", spellcheck: "false" });
  const base = element("select", { "aria-label": "The address counts from" },
    element("option", { value: "link" }, "link-time address"),
    element("option", { value: "image" }, "offset from the base"));
  const look = async () => {
    if (!number.value.trim()) return;
    try {
      const found = await ask("address", { id: debugId, address: number.value, base: base.value });
      results.replaceChildren(...(found.calls.length
        ? found.calls.map((call, at) => callItem(call, at < found.calls.length - 1))
        : [element("li", { class: "soft" }, `No function is known at ${found.address}.`)]));
    } catch (error) {
      results.replaceChildren(element("li", { class: "bad" }, error.message));
    }
  };
  const form = element("form", { onsubmit: (event) => { event.preventDefault(); look(); } },
    element("label", { for: "address" }, "Look one address up"), number,
    element("div", { class: "row" }, base, element("button", { type: "submit" }, "Look up")));
  return {
    part: element("div", {}, form, results),
    lookUp: (address) => {
      number.value = address;
      base.value = "link";
      look();
    },
  };
}

function functionsPart(debugId, lookUp) {
  const results = element("ul", { class: "found", "aria-live": "polite" });
  const name = element("input", { id: "search", type: "search", class: "search", placeholder: "part of a name", autocomplete: "off", spellcheck: "false" });
  let waiting = 0;
  let turn = 0;
  const look = async () => {
    const mine = ++turn;
    if (!name.value.trim()) {
      results.replaceChildren();
      return;
    }
    try {
      const found = await ask("functions", { id: debugId, query: name.value });
      if (mine !== turn) return;
      const items = found.functions.map((each) => element("li", {},
        element("button", { type: "button", class: "link code", onclick: () => lookUp(each.start) }, each.start),
        " ", element("span", { class: "code" }, each.name),
        element("span", { class: "soft note" }, `  ${bytes(each.size)}`)));
      if (found.functions.length === found.limit) items.push(element("li", { class: "note" }, `The first ${found.limit} are shown.`));
      results.replaceChildren(...(items.length ? items : [element("li", { class: "soft" }, "No function has that in its name.")]));
    } catch (error) {
      if (mine === turn) results.replaceChildren(element("li", { class: "bad" }, error.message));
    }
  };
  name.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(look, 200);
  });
  return element("form", { onsubmit: (event) => { event.preventDefault(); look(); } },
    element("label", { for: "search" }, "Find functions"), name, results);
}

export async function moduleView(place, debugId) {
  place.replaceChildren(element("p", { class: "soft" }, "Loading…"));
  try {
    const found = await ask("module", { id: debugId });
    const address = addressPart(debugId);
    place.replaceChildren(
      element("p", { class: "note" }, element("a", { href: "#/modules" }, "Modules")),
      element("h1", {}, found.module.debug_file || debugId),
      facts(found),
      element("div", { class: "two" }, functionsPart(debugId, address.lookUp), address.part));
    document.title = `${found.module.debug_file || debugId} · gsym`;
  } catch (error) {
    place.replaceChildren(element("h1", {}, "Module"),
      element("p", { class: "bad", role: "alert" }, error.message),
      element("p", {}, element("a", { href: "#/modules" }, "All modules")));
  }
}
