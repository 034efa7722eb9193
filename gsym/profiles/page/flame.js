// Draws one of the trees: a row for each depth, and only the rows near the window.
// What is shown is in the fragment of the URL, so that it can be shared, and gone back to.

const ROW = 18;
const SMALLEST = 1; // pixels; what is narrower is not drawn
const NARROWEST_TEXT = 24;
const ROWS_AROUND = 20; // the window, drawn before they are scrolled to
const LISTED = 100;

const part = (id) => document.getElementById(id);
const graph = part("graph");
const tip = part("tip");
const isComparison = data.weights.length > 1;

function make(kind, text, className) {
  const made = document.createElement(kind);
  if (className) made.className = className;
  made.append(text);
  return made;
}

// ---- texts

const grouped = (number) => number.toLocaleString("en");
const percent = (part) => `${(100 * part).toFixed(2)} %`;
const UNITS = {
  nanoseconds: [1e-9, "s"], microseconds: [1e-6, "s"], milliseconds: [1e-3, "s"], seconds: [1, "s"], bytes: [1, "B"],
};
const SCALES = { s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]], B: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "bytes"]] };

function scaled(value, kind) {
  const [size, unit] = SCALES[kind].find(([size]) => Math.abs(value) >= size) || SCALES[kind].at(-1);
  const number = value / size;
  return `${Number.isInteger(number) ? grouped(number) : Number(number.toPrecision(4))} ${unit}`;
}

function amount(weight) {
  const unit = UNITS[data.unit];
  if (unit) return scaled(weight * unit[0], unit[1]);
  return `${grouped(weight)} ${data.unit === "count" ? data.type : data.unit}`;
}

function placeOf(number) {
  const [, , , line, count] = data.functions[number];
  const path = pathOf(number);
  const others = count > 1 ? ` and ${grouped(count - 1)} more ${count > 2 ? "lines" : "line"}` : "";
  const lines = line ? `${path ? ":" : "line "}${line}${others}` : "";
  return [moduleOf(number), path + lines].filter(Boolean).join(" · ");
}

// ---- colours

function hashed(text) {
  let hash = 0;
  for (const letter of text) hash = (Math.imul(hash, 31) + letter.codePointAt(0)) >>> 0;
  return hash;
}

const change = (node) => share(node, 1) - share(node, 0);

// All light enough for dark text.
const COLOURS = {
  change: (node) => {
    const strength = Math.min(1, Math.sqrt(Math.abs(change(node)) * 4));
    return `hsl(${change(node) > 0 ? 8 : 212} ${85 * strength}% ${90 - 22 * strength}%)`;
  },
  // Neighbours are far from each other on the circle of hues.
  module: (node) => `hsl(${Math.round(data.functions[node.number][1] * 137.5) % 360} 55% 74%)`,
  function: (node) => `hsl(${hashed(name(node.number)) % 50 + 10} 80% ${66 + hashed(name(node.number)) % 13}%)`,
  "source folder": (node) => `hsl(${hashed(pathOf(node.number).replace(/[^/]*$/, "")) % 360} 50% 74%)`,
};
const colours = Object.keys(COLOURS).filter((colour) => colour !== "change" || isComparison);

// ---- what is shown

const VIEWS = { calls: "Callers first", reversed: "Callees first", sandwich: "Sandwich" };
if (data.threads) VIEWS.time = "Time order";

const DEFAULTS = { view: "calls", thread: "0", function: "", zoom: "", search: "", colour: colours[0] };
const state = { ...DEFAULTS };
const allowed = {
  view: (text) => text in VIEWS,
  thread: (text) => /^\d+$/.test(text) && Number(text) < data.threads?.length,
  function: (text) => /^\d+$/.test(text) && Number(text) < data.functions.length,
  colour: (text) => colours.includes(text),
};

function readFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [key, value] of Object.entries(DEFAULTS)) {
    const text = given.get(key);
    state[key] = text !== null && (allowed[key]?.(text) ?? true) ? text : value;
  }
  choose();
}

// A sandwich is of some function.
function choose() {
  if (state.view === "sandwich" && !state.function) state.function = String(current());
}

function writeFragment(write) {
  if (location.protocol === "about:") return; // a notebook's frame has no URL of its own
  const changed = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]);
  const fragment = `#${new URLSearchParams(changed)}`;
  if (fragment !== (location.hash || "#")) history[write](null, "", fragment);
}

function go(changes, write = "pushState") {
  Object.assign(state, changes);
  choose();
  writeFragment(write);
  render();
}

// The function that a user looks at: of the focused node, of the zoomed one, or the heaviest.
function current() {
  const focused = items.get(drawn.get(document.activeElement));
  if (focused) return focused.node.number;
  if (zoomed()) return zoomed().number;
  return functionSums().reduce((a, b) => (b.own > a.own ? b : a), { number: 0, own: -1 }).number;
}

const trees = {};
const cached = (key, build) => (trees[key] ||= build());

function tree() {
  if (state.view === "reversed") return cached("reversed", calleesFirst);
  if (state.view === "time") return cached(`time ${state.thread}`, () => inOrderOfTime(Number(state.thread)));
  return plain;
}

function halves() {
  if (trees.sandwich?.number !== state.function) {
    trees.sandwich = { number: state.function, halves: sandwich(Number(state.function)) };
  }
  return trees.sandwich.halves;
}

// The path of a node: the number of each child on the way to it.
function pathTo(node) {
  const steps = [];
  for (; node.parent; node = node.parent) steps.unshift(node.parent.below.indexOf(node));
  return steps.join(".");
}

function zoomed() {
  if (!state.zoom || state.view === "sandwich") return null;
  let node = tree();
  for (const step of state.zoom.split(".")) node = node?.below[step];
  return node || null;
}

// ---- where nodes are

let items = new Map(); // node -> where it is
let rows = [];
let start = null; // the item that the key Tab leads to
let width = 0;

function place(node, row, left, width, kind) {
  const item = { node, row, left, width, kind };
  items.set(node, item);
  (rows[row] ||= []).push(item);
  return item;
}

// All below a node, in rows that go down (1) or up (-1); `put` takes them.
function spread(root, row, direction, width, put) {
  const scale = root.total[shown] ? width / root.total[shown] : 0;
  const waiting = [[root, row, 0]];
  while (waiting.length) {
    const [node, at, left] = waiting.pop();
    if (node.total[shown] * scale < SMALLEST) continue;
    put(node, at, left, node.total[shown] * scale);
    // From the right, so that the leftmost is placed next: rows are in order.
    let next = left + node.below.reduce((sum, child) => sum + child.total[shown], 0) * scale;
    for (let index = node.below.length - 1; index >= 0; index -= 1) {
      next -= node.below[index].total[shown] * scale;
      waiting.push([node.below[index], at + direction, next]);
    }
  }
}

function layOut() {
  width = graph.clientWidth;
  items = new Map();
  rows = [];
  if (state.view === "sandwich") {
    const [callers, callees] = halves();
    let above = 0;
    spread(callers, 0, -1, width, (_, row) => { above = Math.max(above, -row); });
    spread(callers, above, -1, width, (...where) => { if (where[0] !== callers) place(...where, ""); });
    spread(callees, above, 1, width, (...where) => place(...where, where[0] === callees ? "middle" : ""));
    start = items.get(callees);
    return;
  }
  const root = tree();
  const focus = zoomed() || root;
  const above = [];
  for (let node = focus.parent; node && node.number >= 0; node = node.parent) above.unshift(node);
  above.forEach((node, row) => place(node, row, 0, width, "above"));
  const first = above.length - (focus === root ? 1 : 0);
  spread(focus, first, 1, width, (...where) => { if (where[0] !== root) place(...where, ""); });
  start = items.get(focus) || rows[0]?.[0];
}

// ---- drawing

const drawn = new Map(); // element -> node
const elementOf = new Map();
let isFound = null; // by the number of a function; null: no search

function addElement(item) {
  const { node, row, left, width, kind } = item;
  const made = make("div", width >= NARROWEST_TEXT ? name(node.number) : "", `node ${kind}`);
  made.setAttribute("role", "treeitem");
  made.setAttribute("aria-level", row + 1);
  made.tabIndex = item === start ? 0 : -1;
  made.style.cssText = `left:${left}px;top:${row * ROW}px;width:${width}px;--fill:${COLOURS[state.colour](node)}`;
  if (width < NARROWEST_TEXT) made.setAttribute("aria-label", name(node.number));
  if (isFound?.[node.number]) made.classList.add("found");
  drawn.set(made, node);
  elementOf.set(node, made);
  return made;
}

// Only rows near the window, the focused node, and the one that Tab leads to.
function fill() {
  const top = graph.getBoundingClientRect().top;
  const first = Math.floor(-top / ROW) - ROWS_AROUND;
  const last = Math.ceil((innerHeight - top) / ROW) + ROWS_AROUND;
  for (const [made, node] of drawn) {
    const item = items.get(node);
    if ((item.row >= first && item.row <= last) || item === start || made === document.activeElement) continue;
    made.remove();
    drawn.delete(made);
    elementOf.delete(node);
  }
  const made = [];
  const add = (item) => { if (!elementOf.has(item.node)) made.push(addElement(item)); };
  for (let row = Math.max(first, 0); row <= Math.min(last, rows.length - 1); row += 1) rows[row]?.forEach(add);
  if (start) add(start);
  graph.append(...made);
}

function draw() {
  tip.hidden = true;
  layOut();
  drawn.clear();
  elementOf.clear();
  graph.replaceChildren();
  graph.style.height = `${rows.length * ROW}px`;
  graph.classList.toggle("searching", Boolean(isFound));
  fill();
}

function reveal(item) {
  const top = graph.getBoundingClientRect().top + item.row * ROW;
  if (top < 0 || top > innerHeight - 2 * ROW) window.scrollBy(0, top - innerHeight / 2);
}

function focusOn(item) {
  if (!item) return;
  reveal(item);
  fill();
  elementOf.get(item.node)?.focus({ preventScroll: true });
}

// ---- details at the pointer and at the focus

function numbers(term, ...values) {
  return [make("dt", term), ...values.map((value) => make("dd", value, values.length === 1 ? "wide" : ""))];
}

function details(node) {
  const rows = [...numbers("Total", amount(node.total[shown]), percent(share(node, shown)))];
  const hasOwn = state.view !== "reversed" && items.get(node)?.row >= (start?.kind === "middle" ? start.row : 0);
  if (hasOwn) rows.push(...numbers("Self", amount(node.own[shown]), percent(whole ? node.own[shown] / whole : 0)));
  if (isComparison) {
    const points = 100 * change(node);
    rows.push(...numbers("Before", amount(node.total[0]), percent(share(node, 0))));
    rows.push(...numbers("Change", `${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(2)} points`));
  }
  if (node.from !== undefined) rows.push(...numbers("Begins", `${scaled(node.from / 1e6, "s")} after the first sample`));
  const list = document.createElement("dl");
  list.append(...rows);
  return list;
}

function showTip(node, left, top, bottom) {
  const where = placeOf(node.number);
  tip.replaceChildren(make("strong", name(node.number)), ...(where ? [make("div", where, "place")] : []), details(node));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  tip.style.top = `${bottom + height + 8 > innerHeight ? Math.max(8, top - height) : bottom}px`;
}

function tipAtFocus(made) {
  const box = made.getBoundingClientRect();
  made.setAttribute("aria-describedby", "tip");
  showTip(drawn.get(made), box.left, box.top - 6, box.bottom + 6);
}

// ---- all that is around the graph

function matcher(text) {
  const pattern = /^\/(.+)\/$/.exec(text);
  if (!pattern) return (number) => name(number).toLowerCase().includes(text.toLowerCase());
  try {
    const expression = new RegExp(pattern[1], "i");
    return (number) => expression.test(name(number));
  } catch {
    return () => false;
  }
}

// What is below a node that was found is not counted twice.
function countFound() {
  let weight = 0;
  let count = 0;
  const waiting = [[plain, false]];
  while (waiting.length) {
    const [node, isBelow] = waiting.pop();
    const isHit = node.number >= 0 && isFound[node.number];
    if (isHit) count += 1;
    if (isHit && !isBelow) weight += node.total[shown];
    for (const child of node.below) waiting.push([child, isBelow || isHit]);
  }
  return count ? `${grouped(count)} found, ${percent(whole ? weight / whole : 0)}` : "none found";
}

let searched = "";

function applySearch() {
  const text = state.search.trim();
  if (text === searched) return;
  searched = text;
  isFound = text ? data.functions.map((_, number) => number).map(matcher(text)) : null;
  part("found").textContent = isFound ? countFound() : "";
}

function about() {
  const sums = (node) => `${amount(node.total[shown])}, ${percent(share(node, shown))}`;
  if (state.view === "sandwich") {
    const [, callees] = halves();
    const own = `${amount(callees.own[shown])} of its own`;
    return `${name(callees.number)}: ${sums(callees)}, ${own}. Above it who calls it, below what it calls.`;
  }
  const node = zoomed();
  const zoom = node ? `${name(node.number)}: ${sums(node)}. ` : "";
  if (state.view !== "time") return zoom || `${amount(whole)} in all`;
  const joined = data.joined > 1 ? ` ${data.joined} stacks in turn are drawn as one, the heaviest.` : "";
  return `${zoom}${data.threads[state.thread][0]}: samples in the order of time, ${sums(tree())}.${joined}`;
}

let order = "own";

function listFunctions() {
  if (!part("functions").parentElement.open) return;
  const sums = cached("sums", functionSums).filter(({ number }) => !isFound || isFound[number]);
  sums.sort((a, b) => b[order] - a[order] || a.number - b.number);
  const sum = (weight) => {
    const made = make("td", make("span", amount(weight)), "number");
    made.append(" ", make("span", percent(whole ? weight / whole : 0), "share"));
    return made;
  };
  const button = (text, act) => {
    const made = make("button", text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  };
  const head = (key, text) => {
    const made = make("th", button(text, () => { order = key; listFunctions(); }), "number");
    made.scope = "col";
    if (key === order) made.setAttribute("aria-sort", "descending");
    return made;
  };
  const row = (...cells) => {
    const made = document.createElement("tr");
    made.append(...cells);
    return made;
  };
  const more = sums.length > LISTED ? [row(make("td", `and ${grouped(sums.length - LISTED)} more: search`))] : [];
  if (more.length) more[0].firstChild.colSpan = 4;
  part("functions").replaceChildren(
    row(head("own", "Self"), head("total", "Total"), make("th", "Function"), make("th", "Module", "module")),
    ...sums.slice(0, LISTED).map(({ number, own, total }) => row(
      sum(own),
      sum(total),
      make("td", button(name(number), () => {
        go({ view: "sandwich", function: String(number), zoom: "" });
        focusOn(start);
      })),
      make("td", moduleOf(number), "module"),
    )),
    ...more,
  );
}

function render() {
  applySearch();
  for (const radio of part("views").querySelectorAll("input")) radio.checked = radio.value === state.view;
  part("threads").hidden = state.view !== "time" || data.threads.length < 2;
  part("thread").value = state.thread;
  part("colour").value = state.colour;
  if (part("search").value.trim() !== state.search.trim()) part("search").value = state.search;
  part("about").textContent = about();
  draw();
  if (state.view === "sandwich" && start) reveal(start);
  fill();
  listFunctions();
}

// ---- what a user does

// In a sandwich there is nothing to zoom: another function comes into its middle.
function enter(node) {
  if (state.view === "sandwich") go({ function: String(node.number) });
  else go({ zoom: pathTo(node) });
  focusOn(items.get(node) || start);
}

function walk(item, key) {
  const row = rows[item.row];
  const at = row.indexOf(item);
  const near = (others) => others?.find(({ left, width }) => left + width > item.left + 0.5);
  focusOn({
    ArrowUp: near(rows[item.row - 1]),
    ArrowDown: near(rows[item.row + 1]),
    ArrowLeft: row[at - 1],
    ArrowRight: row[at + 1],
  }[key]);
}

graph.addEventListener("click", (event) => {
  if (!drawn.has(event.target)) return;
  enter(drawn.get(event.target));
  // A finger does not hover.
  if (event.pointerType === "touch" && drawn.has(document.activeElement)) tipAtFocus(document.activeElement);
});
graph.addEventListener("pointermove", (event) => {
  const node = drawn.get(event.target);
  if (node) showTip(node, event.clientX + 12, event.clientY - 12, event.clientY + 18);
});
graph.addEventListener("pointerleave", () => { tip.hidden = true; });
graph.addEventListener("focusin", (event) => {
  if (event.target.matches(":focus-visible") && drawn.has(event.target)) tipAtFocus(event.target);
});
graph.addEventListener("focusout", () => { tip.hidden = true; });
graph.addEventListener("keydown", (event) => {
  const node = drawn.get(event.target);
  if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter") enter(node);
  else if (event.key.startsWith("Arrow")) walk(items.get(node), event.key);
  else if (event.key.toLowerCase() === "s") {
    go({ view: "sandwich", function: String(node.number), zoom: "" });
    focusOn(start);
  } else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target !== part("search")) {
    event.preventDefault();
    part("search").focus();
  } else if (event.key === "Escape") {
    const isInGraph = graph.contains(document.activeElement);
    go({ search: "", zoom: "" });
    if (isInGraph) focusOn(start);
    tip.hidden = true;
  }
});

// Browsers limit how often a fragment may change.
let typing = 0;
part("search").addEventListener("input", (event) => {
  state.search = event.target.value;
  render();
  clearTimeout(typing);
  typing = setTimeout(writeFragment, 300, "replaceState");
});
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
part("reset").addEventListener("click", () => go({ ...DEFAULTS, view: state.view, thread: state.thread, function: state.function, colour: state.colour }));
part("colour").addEventListener("change", (event) => go({ colour: event.target.value }, "replaceState"));
part("thread").addEventListener("change", (event) => go({ thread: event.target.value, zoom: "" }));
part("functions").parentElement.addEventListener("toggle", listFunctions);
window.addEventListener("popstate", () => { readFragment(); render(); });
window.addEventListener("scroll", () => requestAnimationFrame(fill), { passive: true });
new ResizeObserver(() => { if (graph.clientWidth !== width) draw(); }).observe(graph.parentElement);

for (const [view, text] of Object.entries(VIEWS)) {
  const label = make("label", "");
  const radio = Object.assign(document.createElement("input"), { type: "radio", name: "view", value: view });
  radio.addEventListener("change", () => go({ view, function: view === "sandwich" ? String(current()) : state.function, zoom: "" }));
  label.append(radio, text);
  part("views").append(label);
}
for (const colour of colours) part("colour").append(make("option", colour));
(data.threads || []).forEach(([text], index) => {
  part("thread").append(Object.assign(make("option", text), { value: index }));
});
readFragment();
render();
