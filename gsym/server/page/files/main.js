// Sections by what stands behind the `#`, and the keys that hold everywhere.

import { element } from "./elements.js";
import { figuresView } from "./figures.js";
import { missesView } from "./misses.js";
import { moduleView } from "./module.js";
import { modulesView } from "./modules.js";
import * as paste from "./paste.js";

const stack = document.getElementById("stack");
const other = document.getElementById("other");
const view = document.getElementById("view");
const shortcuts = document.getElementById("shortcuts");

let leave = null;
let shownLink = "";

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [section = "", argument = ""] = path.split("/");
  return { section: section || "stack", argument, parameters: new URLSearchParams(query || "") };
}

async function show() {
  const { section, argument, parameters } = route();
  leave?.();
  leave = null;
  // What a section that was left still writes goes to a place that nobody sees.
  const place = element("div");
  other.replaceChildren(place);
  const isStack = !["modules", "module", "misses", "figures"].includes(section);
  stack.hidden = !isStack;
  other.hidden = isStack;
  const current = section === "module" ? "modules" : isStack ? "stack" : section;
  for (const link of document.querySelectorAll("nav [data-section]")) {
    if (link.dataset.section === current) {
      link.setAttribute("aria-current", "page");
      document.title = `${link.textContent} · gsym`;
    } else {
      link.removeAttribute("aria-current");
    }
  }
  if (isStack) {
    if (argument && argument !== shownLink) {
      shownLink = argument;
      await paste.openLink(argument);
    }
  } else if (section === "modules") await modulesView(place, parameters);
  else if (section === "module") await moduleView(place, decodeURIComponent(argument));
  else if (section === "misses") await missesView(place);
  else leave = figuresView(place);
}

function searchField() {
  if (stack.hidden) return document.getElementById("search");
  document.getElementById("input").open = true;
  return document.getElementById("text");
}

const SECTIONS = ["#/", "#/modules", "#/misses", "#/figures"];
const KEYS = {
  "/": () => searchField()?.focus(),
  "?": () => shortcuts.showModal(),
  j: () => paste.step(true),
  k: () => paste.step(false),
  i: paste.foldAll,
  c: paste.copyText,
  l: paste.copyLink,
};

addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog[open]");
  if (typing && event.key === "Escape" && !shortcuts.open) {
    event.target.blur();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const section = SECTIONS[Number(event.key) - 1];
  const onlyStack = "jkicl".includes(event.key) && stack.hidden;
  const action = section ? () => { location.hash = section; } : KEYS[event.key];
  if (!action || onlyStack) return;
  event.preventDefault();
  action();
});

const help = document.getElementById("help");
help.hidden = false;
help.addEventListener("click", () => shortcuts.showModal());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  view.focus();
});
addEventListener("hashchange", show);
paste.start();
show();
