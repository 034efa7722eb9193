// The section with the report and its answer.

import { modulesElement, reportElement, reportText, summaryText } from "./answer.js";
import { exampleReport } from "./example.js";
import { bytes, element, plural, say } from "./elements.js";
import { packed, unpacked } from "./link.js";
import { ask, symbolize } from "./server.js";
import { offerUpload } from "./uploading.js";

const MOST = 1 << 20; // characters of a report that the field shows
// Lines that may have an address, a module, a thread or a reason.
const MAY_MATTER = /0x|[0-9a-f]{8}|\+\d|\{\{\{|#\d|[Tt]hread|goroutine|[Ss]ignal|[Rr]eason|ERROR|WARNING|panic|\[.{0,200}\]:|:\d+\)?$|^\s+\S| calls with /;
const LONGEST = 4096; // characters of a line that the server reads
const SNIFFED = 4096; // bytes of a file that tell text from debug files

const form = document.getElementById("paste");
const text = document.getElementById("text");
const module = document.getElementById("module");
const place = document.getElementById("answer");
const input = document.getElementById("input");

let answer = null;
let dump = null; // the file that the answer is to, where that is no text
let choices = {};
let asked = 0;

// What the page asked for last takes the place of the answer; what it asked for before is dropped.
async function latest(asking, then) {
  const button = form.querySelector("button");
  const turn = ++asked;
  button.setAttribute("aria-busy", "true");
  try {
    const found = await asking;
    if (turn === asked) then(found);
  } catch (error) {
    if (turn === asked) fail(error.message);
  } finally {
    if (turn === asked) button.removeAttribute("aria-busy");
  }
}

async function run({ keepsChoices = false } = {}) {
  if (text.value.trim()) dump = null;
  else if (!dump) return;
  if (!keepsChoices) choices = {};
  await latest(symbolize(dump ?? text.value, module.value, choices), show);
}

async function runDump(file) {
  text.value = "";
  dump = file;
  place.replaceChildren(element("p", { class: "soft" }, `Reading ${file.name} (${bytes(file.size)})…`));
  await run();
}

// A log that is too long for the field. Only lines that may have an address or a module
// are sent; the others are empty there, and come back in their places.
async function runLog(name, content) {
  const lines = content.split("\n");
  const isSent = lines.map((line) => line.length <= LONGEST && MAY_MATTER.test(line));
  place.replaceChildren(element("p", { class: "soft" }, `Reading ${name}…`));
  const sent = lines.map((line, at) => (isSent[at] ? line : "")).join("\n");
  await latest(symbolize(sent, module.value, {}), (found) => {
    let at = 0;
    const restored = (part) => part.split("\n").map((text, index) => {
      if (index) at += 1;
      return isSent[at] || (!index && at) ? text : lines[at];
    }).join("\n");
    if (found.verbatim) found.parts = found.parts.map((part) => typeof part === "string" ? restored(part) : part);
    text.value = "";
    show(found);
  });
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
  const crashed = found.threads.find((thread) => thread.crashed);
  place.replaceChildren(
    element("div", { class: "summary" },
      element("div", { class: "headline" },
        element("h2", { tabindex: "-1" }, found.reason || capital(found.form)),
        element("p", { class: "soft" },
          [found.reason ? capital(found.form) : "", crashed?.name, summaryText(found)].filter(Boolean).join(" · "))),
      found.frames.length ? element("span", { class: "tools" },
        hasInlined ? tool("Inlined calls", "i", foldAll) : null,
        tool("Copy text", "c", copyText),
        dump ? null : tool("Copy link", "l", copyLink)) : null),
    ...found.notes.map((note) => element("p", { class: "note warn" }, note)),
    modulesElement(found, choose) || "",
    found.frames.length ? reportElement(found) : emptyAdvice());
  if (found.frames.length) fold();
  say(`${found.reason || found.form}: ${summaryText(found)}`);
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

// The answer comes first: the report folds away, and its summary says what is in it.
function fold() {
  const count = text.value.trimEnd().split("\n").length;
  input.querySelector("summary").textContent = text.value
    ? `Report of ${plural(count, "line")}: edit, or paste another` : "Paste another report";
  // The focus does not stay in what is hidden.
  if (input.contains(document.activeElement)) place.querySelector("h2").focus({ preventScroll: true });
  input.open = false;
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
  place.classList.toggle("compact");
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
  if (answer) copy(reportText(answer), "Text");
}

export async function copyLink() {
  if (!answer || dump) return;
  const state = { text: text.value, module: module.value, choices };
  const letters = await packed(state);
  if (letters === null) {
    flash("The report is too long for a link.");
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
  dump = null;
  text.value = state.text;
  module.value = typeof state.module === "string" ? state.module : "";
  choices = state.choices && typeof state.choices === "object" ? state.choices : {};
  await run({ keepsChoices: true });
}

export function step(forwards) {
  const lines = [...place.querySelectorAll(".line")];
  const at = lines.findIndex((line) => line.contains(document.activeElement));
  const next = lines[at < 0 ? (forwards ? 0 : lines.length - 1) : at + (forwards ? 1 : -1)];
  next?.focus();
}

// Whether bytes begin a minidump, a core file, or what may be one that is compressed.
function isDump(start) {
  const magic = [...start.slice(0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (magic === "7f454c46") return (start[5] === 2 ? start[17] : start[16]) === 4;
  return magic === "4d444d50" || magic === "28b52ffd" || magic === "fd377a58" || magic.startsWith("1f8b");
}

async function readFile(file) {
  const head = new Uint8Array(await file.slice(0, SNIFFED).arrayBuffer());
  if (isDump(head)) {
    await runDump(file);
    return;
  }
  dump = null;
  const start = new TextDecoder().decode(head);
  if (start.includes("\0") || /^MODULE \w+ \w+ [0-9A-Fa-f]{33}/.test(start)) {
    answer = null;
    await latest(offerUpload(file, place), () => {});
    return;
  }
  const content = await file.text();
  if (content.length <= MOST) {
    text.value = content;
    await run();
    return;
  }
  await runLog(file.name, content);
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

async function tryExample() {
  dump = null;
  text.value = await exampleReport();
  module.value = "";
  await run();
}

export function start() {
  const example = document.getElementById("example");
  example.hidden = false;
  example.addEventListener("click", tryExample);
  const chooser = document.getElementById("file");
  const button = document.getElementById("choose");
  button.hidden = false;
  button.addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", () => {
    if (chooser.files.length) readFile(chooser.files[0]);
    chooser.value = "";
  });
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
