// The section with the paste and its answer.

import { modulesElement, stackElement, stackText, summaryText } from "./answer.js";
import { element, say } from "./elements.js";
import { packed, unpacked } from "./link.js";
import { ask, symbolize } from "./server.js";
import { offerUpload } from "./uploading.js";

const MOST = 1 << 20; // characters of a paste
const SNIFFED = 4096; // bytes of a file that tell text from debug files

const form = document.getElementById("paste");
const text = document.getElementById("text");
const module = document.getElementById("module");
const place = document.getElementById("answer");

let answer = null;
let choices = {};
let asked = 0;

async function run({ keepsChoices = false } = {}) {
  if (!text.value.trim()) return;
  const button = form.querySelector("button");
  const turn = ++asked;
  if (!keepsChoices) choices = {};
  button.setAttribute("aria-busy", "true");
  try {
    const found = await symbolize(text.value, module.value, choices);
    if (turn === asked) show(found);
  } catch (error) {
    if (turn === asked) fail(error.message);
  } finally {
    if (turn === asked) button.removeAttribute("aria-busy");
  }
}

function fail(message) {
  answer = null;
  place.replaceChildren(element("p", { class: "bad", role: "alert" }, message));
}

function show(found) {
  answer = found;
  const tool = (label, key, action) =>
    element("button", { type: "button", onclick: action, title: `${label} (${key})`, "aria-keyshortcuts": key }, label);
  const hasInlined = found.frames.some((frame) => frame.calls.length > 1);
  place.replaceChildren(
    element("div", { class: "summary" },
      element("h2", { tabindex: "-1" }, found.form[0].toUpperCase() + found.form.slice(1)),
      element("span", { class: "soft" }, summaryText(found)),
      found.frames.length ? element("span", { class: "tools" },
        hasInlined ? tool("Inlined calls", "i", foldAll) : null,
        tool("Copy text", "c", copyText),
        tool("Copy link", "l", copyLink)) : null),
    ...found.notes.map((note) => element("p", { class: "note warn" }, note)),
    modulesElement(found, choose) || "",
    found.frames.length ? stackElement(found) : emptyAdvice());
  say(`${found.form}: ${summaryText(found)}`);
}

function emptyAdvice() {
  return element("p", { class: "soft" },
    "No line says in which module an address is. If all addresses are in one module, name it above.");
}

function choose(index, debugId) {
  choices[index] = debugId;
  run({ keepsChoices: true });
}

export function foldAll() {
  const all = [...place.querySelectorAll(".stack details")];
  const opens = all.some((each) => !each.open);
  for (const each of all) each.open = opens;
}

async function copy(content, what) {
  try {
    await navigator.clipboard.writeText(content);
    say(`${what} copied`);
    flash(`${what} copied`);
  } catch {
    flash("The browser does not let the page copy.");
  }
}

function flash(message) {
  const tools = place.querySelector(".tools");
  if (!tools) return;
  tools.querySelector(".note")?.remove();
  const note = element("span", { class: "note" }, message);
  tools.prepend(note);
  setTimeout(() => note.remove(), 2500);
}

export function copyText() {
  if (answer) copy(stackText(answer), "Text");
}

export async function copyLink() {
  if (!answer) return;
  const state = { text: text.value, module: module.value, choices };
  const letters = await packed(state);
  if (letters === null) {
    flash("The paste is too long for a link.");
    return;
  }
  history.replaceState(null, "", `#/stack/${letters}`);
  copy(location.href, "Link");
}

export async function openLink(letters) {
  const state = await unpacked(letters);
  if (!state || typeof state.text !== "string") {
    fail("The link holds no stack.");
    return;
  }
  text.value = state.text;
  module.value = typeof state.module === "string" ? state.module : "";
  choices = state.choices && typeof state.choices === "object" ? state.choices : {};
  await run({ keepsChoices: true });
}

export function step(forwards) {
  const lines = [...place.querySelectorAll(".line")];
  const at = lines.findIndex((line) => line.contains(document.activeElement));
  const next = lines[at < 0 ? (forwards ? 0 : lines.length - 1) : at + (forwards ? 1 : -1)];
  (next?.querySelector("summary") ?? next)?.focus();
}

async function readFile(file) {
  const start = await file.slice(0, SNIFFED).text();
  if (start.includes("\0") || /^MODULE \w+ \w+ [0-9A-Fa-f]{33}/.test(start)) {
    asked += 1;
    answer = null;
    await offerUpload(file, place).catch((error) => fail(error.message));
    return;
  }
  if (file.size > 4 * MOST) {
    fail(`${file.name} is larger than a paste may be.`);
    return;
  }
  const content = await file.text();
  text.value = content;
  await run();
}

function acceptDrops() {
  let depth = 0;
  const hasFile = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (change) => {
    depth = Math.max(0, depth + change);
    document.body.classList.toggle("dropping", depth > 0);
  };
  addEventListener("dragenter", (event) => hasFile(event) && mark(1));
  addEventListener("dragleave", (event) => hasFile(event) && mark(-1));
  addEventListener("dragover", (event) => hasFile(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    mark(-depth);
    location.hash = "#/";
    if (event.dataTransfer.files.length) readFile(event.dataTransfer.files[0]);
  });
}

async function suggestModules() {
  try {
    const { modules } = await ask("modules", { query: module.value });
    document.getElementById("module-names").replaceChildren(...modules.slice(0, 20).map((each) =>
      element("option", { value: `${each.debug_file}/${each.debug_id}` }, each.debug_file)));
  } catch {
    // Only suggestions.
  }
}

export function start() {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
  let waiting = 0;
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(suggestModules, 200);
  };
  module.addEventListener("focus", later, { once: true });
  module.addEventListener("input", later);
  document.getElementById("drop-hint").hidden = false;
  acceptDrops();
}
