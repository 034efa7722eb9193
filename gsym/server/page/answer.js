// A symbolized paste as elements, and as text.

import { bytes, element, plural, table, row } from "./elements.js";

const SHORT = 3; // parts of a path that are shown

function place(call) {
  return call.file ? call.file + (call.line ? `:${call.line}` : "") : "";
}

function shortPlace(call) {
  const parts = call.file.split(/[/\\]/);
  const short = parts.length > SHORT + 1 ? `…/${parts.slice(-SHORT).join("/")}` : call.file;
  return call.line ? `${short}:${call.line}` : short;
}

function callParts(call) {
  return [
    element("span", { class: "function" }, call.function),
    call.file ? element("span", { class: "place", title: place(call) }, shortPlace(call)) : null,
  ];
}

function where(frame, modules) {
  return frame.module < 0 ? frame.address : `${modules[frame.module].name}+${frame.address}`;
}

function frameBody(frame, modules) {
  if (!frame.calls.length) {
    const module = modules[frame.module];
    const reason = frame.reason || (module ? `no symbols of ${module.name}` : "");
    return element("div", { class: "call" },
      element("span", { class: "unknown" }, frame.text),
      element("span", { class: "reason" }, reason));
  }
  const inlined = frame.calls.slice(0, -1);
  const outer = callParts(frame.calls.at(-1));
  if (!inlined.length) return element("div", { class: "call" }, outer);
  const fold = element("span", { class: "fold", title: inlined[0].function },
    `${inlined.length} inlined: ${inlined[0].function}`);
  return element("details", {},
    element("summary", { class: "call" }, outer, fold),
    element("ol", { class: "inlined", "aria-label": "Inlined calls, innermost first" },
      inlined.map((call) => element("li", { class: "call" }, callParts(call)))));
}

// Lines of the paste: each a list of texts and frames.
function linesOf(answer) {
  const lines = [[]];
  for (const part of answer.parts) {
    if (typeof part === "number") {
      lines.at(-1).push(answer.frames[part]);
      continue;
    }
    const [first, ...rest] = part.split("\n");
    if (first) lines.at(-1).push(first);
    for (const text of rest) lines.push(text ? [text] : []);
  }
  return lines;
}

const isFrame = (part) => typeof part === "object";

function frameRows(line, modules) {
  const rows = [];
  let before = "";
  line.forEach((part) => {
    if (!isFrame(part)) {
      before += part;
      return;
    }
    rows.push([before, part]);
    before = "";
  });
  return rows.map(([text, frame], at) => {
    const after = at === rows.length - 1 ? before.trimEnd() : "";
    return element("div", { class: "line", role: "listitem", tabindex: frame.calls.length > 1 ? null : "-1" },
      element("span", { class: "before" }, text),
      element("div", {}, frameBody(frame, modules),
        after ? element("span", { class: "after" }, after) : null),
      frame.calls.length ? element("span", { class: "where" }, where(frame, modules)) : null);
  });
}

export function stackElement(answer) {
  const stack = element("div", { class: "stack", role: "list", "aria-label": "Symbolized stack" });
  let said = [];
  const flush = () => {
    while (said.length && !said.at(-1).trim()) said.pop();
    if (said.length) {
      stack.append(element("div", { role: "listitem" },
        element("pre", { class: "said" }, said.join("\n"))));
    }
    said = [];
  };
  for (const line of linesOf(answer)) {
    if (line.some(isFrame)) {
      flush();
      stack.append(...frameRows(line, answer.modules));
    } else {
      said.push(line.join(""));
    }
  }
  flush();
  return stack;
}

export function stackText(answer) {
  const written = (line) => {
    const indent = " ".repeat((isFrame(line[0]) ? "" : line[0] || "").length);
    return line.map((part) => {
      if (!isFrame(part)) return part;
      if (!part.calls.length) return part.text;
      return part.calls.map((call, at) => {
        const at_place = place(call) ? ` at ${place(call)}` : "";
        const isOuter = at === part.calls.length - 1;
        const tail = isOuter ? ` (${where(part, answer.modules)})` : " (inlined)";
        return `${at ? `\n${indent}` : ""}${call.function}${at_place}${tail}`;
      }).join("");
    }).join("");
  };
  return linesOf(answer).map(written).join("\n");
}

export function summaryText(answer) {
  const found = answer.frames.filter((frame) => frame.calls.length).length;
  const count = answer.frames.length;
  if (!count) return "no address in it";
  return found === count ? `${plural(count, "frame")}, all symbolized`
    : `${plural(count, "frame")}, ${found} symbolized`;
}

function moduleState(module, choose) {
  if (module.state === "unused") return element("span", { class: "soft" }, "not used");
  if (module.state === "missing") {
    const said = module.attempts.map((attempt) =>
      element("li", {}, `${attempt.source}: ${attempt.detail || attempt.outcome}`));
    return element("div", {}, element("span", { class: "bad" }, "missing"),
      said.length ? element("ul", { class: "note" }, said)
        : element("div", { class: "note" }, module.reason));
  }
  const state = element("div", {}, element("a", { href: `#/module/${module.debug_id}`, class: "good" }, "found"));
  if (module.candidates.length > 1) state.append(" ", choose);
  else if (module.is_guess) state.append(element("div", { class: "warn note" }, "by its name alone: it may be another build"));
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
      element("span", { class: "code" }, module.code_id || module.debug_id || "no id in the paste"),
      moduleState(module, choose));
  });
  const guesses = used.filter((module) => module.is_guess);
  const told = [plural(used.length, "module")];
  if (missing.length) told.push(`${missing.length} missing: ${missing.slice(0, 3).map((m) => m.name).join(", ")}`);
  if (guesses.length) told.push(`${guesses.length} by name alone`);
  return element("details", { class: "named" },
    element("summary", {}, told.join(" · ")),
    element("div", { class: "wide" }, table("", ["Module", "Id", "State"], rows)));
}
