// The section with modules that were asked for and are not to be had.

import { element, grouped, row, table } from "./elements.js";
import { ask } from "./server.js";

function ago(seconds) {
  const minutes = Math.max(0, Math.round((Date.now() / 1000 - seconds) / 60));
  if (minutes < 1) return "just now";
  if (minutes < 120) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.round(hours / 24)} days ago`;
}

function missRow(miss) {
  const said = miss.attempts.map((attempt) => element("li", {},
    element("strong", { class: attempt.outcome === "missing" ? "soft" : "bad" }, attempt.outcome), " ",
    attempt.source, attempt.detail ? element("span", { class: "soft" }, `: ${attempt.detail}`) : ""));
  return row(
    element("div", {}, element("strong", {}, miss.name || "no name"),
      element("div", { class: "code" }, miss.debug_id || miss.code_id)),
    { number: grouped(miss.count), unit: "times" },
    { number: ago(miss.last), unit: "" },
    said.length ? element("ul", { class: "found" }, said) : element("span", { class: "soft" }, "no source was asked"));
}

export async function missesView(place) {
  place.replaceChildren(element("h1", {}, "Modules that were not found"), element("p", { class: "soft" }, "Loading…"));
  try {
    const { misses } = await ask("misses");
    place.replaceChildren(
      element("h1", {}, "Modules that were not found"),
      element("p", { class: "soft" }, misses.length
        ? "Modules that were asked for and not found, the ones most asked for first, with what each source said."
        : "No module was asked for in vain."),
      misses.length ? element("div", { class: "wide" }, table("", ["Module", { number: "Asked" }, { number: "Last" }, "Sources"],
        misses.map(missRow))) : "");
  } catch (error) {
    place.replaceChildren(element("h1", {}, "Modules that were not found"),
      element("p", { class: "bad", role: "alert" }, error.message));
  }
}
