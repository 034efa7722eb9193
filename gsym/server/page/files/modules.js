// The section with the modules of the store, and of folders that are sources.

import { bytes, element, grouped, plural, row, table } from "./elements.js";
import { ask } from "./server.js";

function day(seconds) {
  return seconds ? new Date(seconds * 1000).toISOString().slice(0, 10) : "";
}

function moduleRow(module) {
  const name = module.debug_file || module.code_file || module.debug_id;
  return row(
    element("div", {},
      element("a", { href: `#/module/${module.debug_id}` }, name),
      module.code_file && module.code_file !== name ? element("span", { class: "soft" }, ` ${module.code_file}`) : null,
      element("div", { class: "code" }, module.debug_id)),
    `${module.os} ${module.architecture}`,
    element("span", { class: "soft" }, module.level, module.is_incomplete ? element("span", { class: "warn" }, ", incomplete") : null),
    { number: module.functions ? grouped(module.functions) : "", unit: "functions" },
    { number: bytes(module.size), unit: "" },
    { number: day(module.added), unit: "" });
}

export async function modulesView(place, parameters) {
  const results = element("div", { class: "wide", "aria-live": "polite" });
  const search = element("input", {
    type: "search", class: "search", id: "search", autocomplete: "off", spellcheck: "false",
    placeholder: "part of a name, debug id or build id", value: parameters.get("query") || "",
  });
  place.replaceChildren(
    element("h1", {}, "Modules"),
    element("label", { class: "unseen", for: "search" }, "Search modules"),
    search, results);
  let turn = 0;
  const load = async (first) => {
    const mine = ++turn;
    try {
      const found = await ask("modules", { query: search.value, first });
      if (mine === turn) showModules(results, found, load, search.value);
    } catch (error) {
      results.replaceChildren(element("p", { class: "bad", role: "alert" }, error.message));
    }
  };
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const query = search.value ? `?${new URLSearchParams({ query: search.value })}` : "";
      history.replaceState(null, "", `#/modules${query}`);
      load(0);
    }, 150);
  });
  await load(0);
}

function showModules(results, found, load, query) {
  const { modules, matched, first } = found;
  if (!matched) {
    results.replaceChildren(element("p", { class: "soft" },
      query ? "No module has all these words in its names and ids."
        : "The store and the folders that are sources have no modules. Add files with gsym store add, or folders with gsym serve --source."));
    return;
  }
  const heads = ["Module", "System", "Known", { number: "Functions" }, { number: "Size" }, { number: "Added" }];
  const end = first + modules.length;
  const move = (label, to) => element("button", { type: "button", onclick: () => load(to) }, label);
  results.replaceChildren(
    table(`${first + 1}–${end} of ${plural(matched, "module")}`, heads, modules.map(moduleRow)),
    element("div", { class: "row" },
      first > 0 ? move("Previous", Math.max(0, first - modules.length)) : null,
      end < matched ? move("Next", end) : null));
}
