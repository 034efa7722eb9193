// A symbolicated report as elements, and as text.

import { bytes, element, plural, table, row } from "./elements.js";
import { source } from "./server.js";

const LONGEST_CHAIN = 6; // calls of a frame that are shown at once
const CHUNK = 200; // lines that are made together, when they come near the view
const MOST_TABS = 64; // threads that have a tab
const LINE_HEIGHT = 1.35; // rem, of lines that are not made yet

// Code that comes with the system or the compiler, by its source or its module.
const SYSTEM_SOURCE = /^(\/usr\/(include|lib|src)|\/rustc\/|\/build\/(glibc|gcc)|\.\/csu\/|\.\.\/sysdeps|.*\/libgcc\/)/;
const SYSTEM_MODULE = /^(lib(c|m|pthread|stdc\+\+|gcc_s|dl|rt|clang_rt.*|system_.*|dispatch|objc.*)[.-].*|ld-.*|dyld|linux-vdso.*|\[vdso\]|ntdll.*|kernel32.*|kernelbase.*|ucrtbase.*)$/i;

function place(call) {
  return call.file ? call.file + (call.line ? `:${call.line}` : "") : "";
}

// The offset that was looked up: a return address is after its call.
const looked = (frame) => `0x${(BigInt(frame.offset) - BigInt(frame.is_return)).toString(16)}`;

const LONGEST_NAME = 160; // letters of a function that are shown at once

// A name as people write it: without the arguments that templates of the C++ library add.
function shortName(name) {
  let short = name.replace(/std::(__cxx11::|__1::)?basic_string<char, std::(__1::)?char_traits<char>, std::(__1::)?allocator<char> ?>/g, "std::string");
  for (let before = ""; before !== short;) {
    before = short;
    short = short.replace(/, std::(__1::)?(allocator|less|equal_to|hash|char_traits|default_delete)<[^<>]*> ?(?=[,>])/g, "");
  }
  return short.length > LONGEST_NAME ? `${short.slice(0, LONGEST_NAME)}…` : short;
}

function functionElement(name) {
  const short = shortName(name);
  const text = element("span", { class: "function" }, short);
  if (short === name) return text;
  const button = element("button", {
    type: "button", class: "more", "aria-expanded": "false", "aria-label": "Full name", title: "Full name",
    onclick: () => {
      const isShort = button.getAttribute("aria-expanded") === "false";
      button.setAttribute("aria-expanded", String(isShort));
      text.replaceChildren(isShort ? name : short);
    },
  }, "…");
  return element("span", {}, text, " ", button);
}

const AROUND = 4; // lines of source before and after that of the call

// The lines around that of a call, below it; again: away with them.
async function toggleSource(button, call, frame, module) {
  const shown = button.closest(".call").nextElementSibling;
  if (shown?.classList.contains("source")) {
    shown.remove();
    button.setAttribute("aria-expanded", "false");
    return;
  }
  const lines = element("pre", { class: "source", tabindex: "0", role: "region", "aria-label": `Source of ${place(call)}` });
  button.closest(".call").after(lines);
  button.setAttribute("aria-expanded", "true");
  try {
    const all = (await source(module, looked(frame), call.file)).split("\n");
    const first = Math.max(call.line - 1 - AROUND, 0);
    lines.append(...all.slice(first, call.line + AROUND).map((text, index) => {
      const number = first + index + 1;
      return element("span", { class: number === call.line ? "this" : null },
        `${String(number).padStart(6)}  ${text}\n`);
    }));
  } catch (error) {
    lines.append(error.message);
  }
}

function placeElement(call, frame, answer) {
  const text = place(call);
  if (!text) return null;
  if (answer.serves_sources && call.line) {
    const button = element("button", {
      type: "button", class: "place link", "aria-expanded": "false", title: "Show the source",
      onclick: () => toggleSource(button, call, frame, answer.modules[frame.module]),
    }, text);
    return button;
  }
  if (!/^https?:\/\//.test(call.file)) return element("span", { class: "place" }, text);
  const target = call.line ? `${call.file}#L${call.line}` : call.file;
  return element("a", { class: "place", href: target, rel: "noreferrer" }, text);
}

function callElement(name, kind, call, frame, answer) {
  return element(name, { class: SYSTEM_SOURCE.test(call.file) ? `${kind} system` : kind },
    functionElement(call.function), placeElement(call, frame, answer));
}

function where(frame, modules) {
  return frame.module < 0 ? frame.address : `${modules[frame.module].name}+${frame.offset ?? frame.address}`;
}

// Code of the system alone: an inlined call into a header leaves the caller's as it is.
function isSystem(frame, modules) {
  const name = frame.module < 0 ? "" : modules[frame.module].name;
  return SYSTEM_MODULE.test(name) || (frame.calls.length > 0 && frame.calls.every((call) => SYSTEM_SOURCE.test(call.file)));
}

// Whether a frame is the first one with a reason: one note for each module is enough.
function isFirst(frame, reason, answer) {
  answer.noted ??= new Map();
  const key = `${frame.module} ${reason}`;
  if (!answer.noted.has(key)) answer.noted.set(key, frame.number);
  return answer.noted.get(key) === frame.number;
}

// The innermost call, then what it was inlined into, up to the function itself.
function frameBody(frame, answer) {
  if (!frame.calls.length) {
    const module = answer.modules[frame.module];
    const missing = module && module.state === "missing";
    const reason = frame.reason || (missing ? `no symbols of ${module.name}` : "");
    return [element("div", { class: "call" },
      element("span", { class: "unknown" }, frame.text),
      reason && isFirst(frame, reason, answer) ? element("span", { class: "reason" }, reason) : null)];
  }
  const [innermost, ...outer] = frame.calls;
  // Other readings of the frame, and other functions with its code.
  const doubts = [frame.reason, frame.folded].filter(Boolean).join("; ");
  const chain = outer.map((call) =>
    element("li", {}, callElement("div", "call", call, frame, answer)));
  const first = chain.slice(0, LONGEST_CHAIN);
  const rest = chain.slice(LONGEST_CHAIN);
  return [
    callElement("div", "call innermost", innermost, frame, answer),
    chain.length ? element("ol", { class: "chain", "aria-label": "Inlined into" }, first) : null,
    rest.length ? element("details", { class: "chain" },
      element("summary", {}, `${plural(rest.length, "more call")}`),
      element("ol", { class: "chain" }, rest)) : null,
    doubts ? element("span", { class: "reason" }, doubts) : null,
  ];
}

const isFrame = (part) => typeof part === "object";

// Lines of the report: each a list of texts and frames, and the thread that it belongs to.
// The lines right before the first frame of a thread are its heading.
function linesOf(answer) {
  const threadOf = answer.threads.flatMap((thread, index) => Array(thread.frames.length).fill(index));
  const lines = [{ parts: [], thread: -1 }];
  let thread = -1;
  let gap = 0; // where the text between two threads begins
  for (const part of answer.parts) {
    if (typeof part === "number") {
      const at = lines.length - 1;
      if (threadOf[part] !== thread) {
        for (let index = at - 1; index >= gap && lines[index].parts.length; index -= 1) lines[index].thread = threadOf[part];
        thread = threadOf[part];
      }
      lines[at].thread = thread;
      lines[at].parts.push({ ...answer.frames[part], number: part });
      gap = at + 1;
      continue;
    }
    const [first, ...rest] = part.split("\n");
    if (first) lines.at(-1).parts.push(first);
    for (const text of rest) lines.push({ parts: text ? [text] : [], thread });
  }
  return lines;
}

// The frame where the program ended: the first of the thread that crashed.
function crashedFrame(answer) {
  let first = 0;
  const several = answer.threads;
  const at = several.findIndex((thread) => thread.crashed);
  if (at < 0 && !answer.reason) return -1;
  for (const thread of several.slice(0, Math.max(at, 0))) first += thread.frames.length;
  return several.length ? first : -1;
}

function frameRows(parts, answer, crashed) {
  const rows = [];
  let before = "";
  for (const part of parts) {
    if (!isFrame(part)) {
      before += part;
      continue;
    }
    rows.push([before, part]);
    before = "";
  }
  return rows.map(([text, frame], at) => {
    const after = at === rows.length - 1 ? before.trimEnd() : "";
    const kinds = ["line"];
    if (isSystem(frame, answer.modules)) kinds.push("system");
    if (frame.number === crashed) kinds.push("crashed");
    return element("div", { class: kinds.join(" "), role: "listitem", tabindex: "-1" },
      element("span", { class: "before" }, text),
      element("div", { class: "body" }, frameBody(frame, answer)),
      element("span", { class: "where" },
        frame.calls.length ? where(frame, answer.modules) : null,
        after ? element("span", { class: "after" }, after) : null));
  });
}

function lineElements(line, answer, crashed) {
  if (line.parts.some(isFrame)) return frameRows(line.parts, answer, crashed);
  return [element("div", { role: "listitem", class: "said" }, line.parts.join("") || "\u00a0")];
}

// Lines in chunks, which are made when they come near the view: a report may have 100,000.
function chunksElement(lines, answer) {
  const stack = element("div", { class: "stack", role: "list", "aria-label": "Symbolicated report" });
  const crashed = crashedFrame(answer);
  const fill = (chunk) => {
    const first = Number(chunk.dataset.first);
    const made = lines.slice(first, first + CHUNK).flatMap((line) => lineElements(line, answer, crashed));
    chunk.removeAttribute("style");
    chunk.replaceChildren(...made);
  };
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      observer.unobserve(entry.target);
      fill(entry.target);
    }
  }, { rootMargin: "1500px" });
  for (let first = 0; first < lines.length; first += CHUNK) {
    const chunk = element("div", { class: "chunk", role: "presentation", "data-first": first });
    stack.append(chunk);
    if (!first) {
      fill(chunk);
      continue;
    }
    chunk.style.height = `${Math.min(CHUNK, lines.length - first) * LINE_HEIGHT}rem`;
    observer.observe(chunk);
  }
  return stack;
}

function threadLabel(thread, number) {
  return thread.name || `Stack ${number + 1}`;
}

// Tabs for the threads of a report that has several, and one for all of it.
export function reportElement(answer) {
  const lines = linesOf(answer);
  while (lines.length && !lines.at(-1).parts.length) lines.pop();
  if (answer.threads.length < 2) return chunksElement(lines, answer);
  const panel = element("div", { id: "thread", role: "tabpanel" });
  const labels = ["Whole report", ...answer.threads.slice(0, MOST_TABS).map(threadLabel)];
  const crashed = answer.threads.findIndex((thread) => thread.crashed);
  const tabs = labels.map((label, index) => element("button", {
    type: "button", role: "tab", id: `tab-${index}`, "aria-controls": "thread", title: label,
    class: index && index - 1 === crashed ? "crashed" : null, onclick: () => choose(index),
  }, label));
  const choose = (index, focuses = false) => {
    tabs.forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === index));
      tab.tabIndex = at === index ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", `tab-${index}`);
    const own = index ? lines.filter((line) => line.thread === index - 1) : lines;
    panel.replaceChildren(chunksElement(own, answer));
    if (focuses) tabs[index].focus();
  };
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.tabIndex === 0);
    choose((at + step + tabs.length) % tabs.length, true);
  };
  choose(crashed + 1 < labels.length ? crashed + 1 : 0);
  return element("div", {},
    element("div", { class: "tabs", role: "tablist", "aria-label": "Threads", onkeydown: move }, tabs),
    panel);
}

export function reportText(answer) {
  const written = ({ parts }) => {
    const indent = " ".repeat((isFrame(parts[0]) ? "" : parts[0] || "").length);
    return parts.map((part) => {
      if (!isFrame(part)) return part;
      if (!part.calls.length) return part.text;
      return part.calls.map((call, at) => {
        const told = place(call) ? ` at ${place(call)}` : "";
        const isOuter = at === part.calls.length - 1;
        const tail = isOuter ? ` (${where(part, answer.modules)})` : " [inlined]";
        return `${at ? `\n${indent}` : ""}${call.function}${told}${tail}`;
      }).join("");
    }).join("");
  };
  return linesOf(answer).map(written).join("\n");
}

export function summaryText(answer) {
  const found = answer.frames.filter((frame) => frame.calls.length).length;
  const count = answer.frames.length;
  if (!count) return "no address in it";
  return found === count ? `${plural(count, "frame")}, all symbolicated`
    : `${plural(count, "frame")}, ${found} symbolicated`;
}

function moduleState(module, choose) {
  if (module.state === "unused") return element("span", { class: "soft" }, "not used");
  if (module.state === "missing") {
    const said = module.attempts.map((attempt) =>
      element("li", {}, `${attempt.source}: ${attempt.detail || attempt.outcome}`));
    return element("div", {}, element("span", { class: "bad" }, "not found"),
      said.length ? element("ul", { class: "note" }, said)
        : element("div", { class: "note" }, module.reason),
      element("div", { class: "note" }, "Drop its debug file here to add it, or give the server ",
        "a source that has it: ", element("code", {}, "gsym serve --source FOLDER-OR-URL"), "."));
  }
  const state = element("div", {}, element("a", { href: `#/module/${module.debug_id}`, class: "good" }, "found"));
  if (module.candidates.length > 1) state.append(" ", choose);
  else if (module.unsure) state.append(element("div", { class: "warn note" }, `${module.unsure}: it may be another build`));
  return state;
}

export function modulesElement(answer, chosen) {
  const used = answer.modules.filter((module) => module.state !== "unused");
  if (!used.length) return null;
  const missing = used.filter((module) => module.state === "missing");
  const rows = answer.modules.map((module, index) => {
    const choose = element("select", {
      "aria-label": `Build of ${module.name}`,
      onchange: (event) => chosen(index, event.target.value),
    }, module.candidates.map((candidate) => element("option", {
      value: candidate.debug_id, selected: candidate.debug_id === module.debug_id,
    }, `${candidate.debug_id.slice(0, 12)}… ${candidate.architecture} ${bytes(candidate.size)}`)));
    return row(element("strong", {}, module.name),
      element("span", { class: "code" }, module.code_id || module.debug_id || "no id in the report"),
      moduleState(module, choose));
  });
  const unsure = used.filter((module) => module.unsure);
  const told = [plural(used.length, "module")];
  if (missing.length) told.push(`${missing.length} not found: ${missing.slice(0, 3).map((m) => m.name).join(", ")}`);
  if (unsure.length) told.push(`${unsure.length} unsure`);
  return element("details", { class: "named" },
    element("summary", { class: missing.length ? "warn" : null }, told.join(" · ")),
    element("div", { class: "wide" }, table("", ["Module", "Id", "State"], rows)));
}
