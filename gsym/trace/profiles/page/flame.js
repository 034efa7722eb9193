"use strict";

// Draws the calls of a profile: a row for each depth, callers above what they call.

const ROW = 18;
const SMALLEST = 0.4; // pixels; what is narrower is not drawn
const NARROWEST_TEXT = 24;
const LISTED = 100;

const data = JSON.parse(document.getElementById("data").textContent);
const part = (id) => document.getElementById(id);
const graph = part("graph");
const isComparison = data.weights.length > 1;
const shown = data.weights.length - 1; // the profile that widths are of

const name = (number) => data.functions[number][0];
const moduleOf = (number) => data.texts[data.functions[number][1]];
const pathOf = (number) => data.texts[data.functions[number][2]];

// ---- trees

// A node: its function, its own weights and those with all below, one for each profile.
function makeNode(number, parent) {
  const zeros = () => data.weights.map(() => 0);
  return { number, parent, own: zeros(), total: zeros(), children: new Map() };
}

function childOf(node, number) {
  let child = node.children.get(number);
  if (!child) node.children.set(number, child = makeNode(number, node));
  return child;
}

function sorted(root) {
  const waiting = [root];
  while (waiting.length) {
    const node = waiting.pop();
    node.below = [...node.children.values()];
    node.below.sort((a, b) => b.total[shown] - a.total[shown] || (name(a.number) < name(b.number) ? -1 : 1));
    waiting.push(...node.below);
  }
  return root;
}

function callersFirst() {
  const root = makeNode(-1, null);
  const nodes = [];
  for (let index = 0; index < data.parent.length; index += 1) {
    const above = data.parent[index] < 0 ? root : nodes[data.parent[index]];
    const node = childOf(above, data.function[index]);
    nodes.push(node);
    data.weights.forEach((weights, profile) => { node.own[profile] = weights[index]; });
  }
  for (let index = nodes.length - 1; index >= 0; index -= 1) addUp(nodes[index]);
  return sorted(root);
}

function addUp(node) {
  node.own.forEach((weight, profile) => {
    node.total[profile] += weight;
    node.parent.total[profile] += node.total[profile];
  });
}

// From where samples ended to who called: each stack turned round.
function calleesFirst() {
  const root = makeNode(-1, null);
  for (let index = 0; index < data.parent.length; index += 1) {
    const own = data.weights.map((weights) => weights[index]);
    if (!own.some((weight) => weight)) continue;
    const add = (node) => own.forEach((weight, profile) => { node.total[profile] += weight; });
    let node = root;
    add(node);
    for (let at = index; at >= 0; at = data.parent[at]) {
      node = childOf(node, data.function[at]);
      add(node);
    }
  }
  return sorted(root);
}

const trees = {};
const tree = () => (state.isReversed
  ? trees.reversed ||= calleesFirst()
  : trees.plain ||= callersFirst());

// ---- colours

function hashed(text) {
  let hash = 0;
  for (const letter of text) hash = (Math.imul(hash, 31) + letter.codePointAt(0)) >>> 0;
  return hash;
}

const share = (node, profile) => {
  const whole = tree().total[profile];
  return whole ? node.total[profile] / whole : 0;
};
const change = (node) => share(node, 1) - share(node, 0);

const COLOURS = {
  change: (node) => {
    const strength = Math.min(1, Math.sqrt(Math.abs(change(node)) * 4));
    return `hsl(${change(node) > 0 ? 8 : 212} ${85 * strength}% ${90 - 25 * strength}%)`;
  },
  // Neighbours are far from each other on the circle of hues.
  module: (node) => `hsl(${Math.round(data.functions[node.number][1] * 137.5) % 360} 55% 72%)`,
  function: (node) => `hsl(${hashed(name(node.number)) % 50 + 10} 80% ${66 + hashed(name(node.number)) % 13}%)`,
  "source folder": (node) => `hsl(${hashed(pathOf(node.number).replace(/[^/]*$/, "")) % 360} 50% 72%)`,
};

// ---- what is shown

const state = { isReversed: false, zoomed: null, pattern: null };
const drawn = new Map(); // element -> node
const elementOf = new Map();

function place(node, depth, left, width, kind) {
  if (width < SMALLEST) return;
  const made = document.createElement("div");
  made.className = `node ${kind}`;
  made.setAttribute("role", "treeitem");
  made.setAttribute("aria-level", depth + 1);
  made.tabIndex = -1;
  made.style.cssText = `left:${left}px;top:${depth * ROW}px;width:${width}px;background:${COLOURS[part("colour").value](node)}`;
  if (width >= NARROWEST_TEXT) made.textContent = name(node.number);
  else made.setAttribute("aria-label", name(node.number));
  if (state.pattern && state.pattern(node.number)) made.classList.add("found");
  drawn.set(made, node);
  elementOf.set(node, made);
}

function draw() {
  drawn.clear();
  elementOf.clear();
  const root = tree();
  const focus = state.zoomed || root;
  const width = graph.clientWidth;
  const above = [];
  for (let node = focus.parent; node && node.number >= 0; node = node.parent) above.unshift(node);
  above.forEach((node, depth) => place(node, depth, 0, width, "above"));
  const first = above.length;
  const scale = focus.total[shown] ? width / focus.total[shown] : 0;
  const waiting = [[focus, first - (focus === root ? 1 : 0), 0]];
  let deepest = first;
  while (waiting.length) {
    const [node, depth, left] = waiting.pop();
    if (node.total[shown] * scale < SMALLEST) continue;
    if (node !== root) place(node, depth, left, node.total[shown] * scale, "");
    deepest = Math.max(deepest, depth);
    // From the right, so that the leftmost is drawn next: the order of a reader.
    let at = left + node.below.reduce((sum, child) => sum + child.total[shown], 0) * scale;
    for (const child of node.below.toReversed()) {
      at -= child.total[shown] * scale;
      waiting.push([child, depth + 1, at]);
    }
  }
  graph.replaceChildren(...drawn.keys());
  graph.style.height = `${(deepest + 1) * ROW}px`;
  graph.classList.toggle("searching", Boolean(state.pattern));
  const start = elementOf.get(focus) || graph.firstElementChild;
  if (start) start.tabIndex = 0;
}

// ---- texts

const grouped = (number) => number.toLocaleString("en");
const percent = (part) => `${(100 * part).toFixed(2)} %`;
const SECOND = { nanoseconds: 1e9, microseconds: 1e6, milliseconds: 1e3, seconds: 1 };

function amount(weight) {
  const unit = SECOND[data.unit];
  return unit ? `${(weight / unit).toPrecision(4)} s` : `${grouped(weight)} ${data.type}`;
}

function describe(node) {
  const places = [moduleOf(node.number), pathOf(node.number)].filter(Boolean).join(" · ");
  const lines = [name(node.number)];
  if (places) lines.push(places);
  const own = state.isReversed ? "" : `; of its own ${amount(node.own[shown])}`;
  lines.push(`${amount(node.total[shown])}, ${percent(share(node, shown))}${own}`);
  if (isComparison) {
    const points = 100 * change(node);
    lines.push(`before ${amount(node.total[0])}, ${percent(share(node, 0))}: ${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(2)} points`);
  }
  part("detail").textContent = lines.join("\n");
}

function cell(kind, text, className) {
  const made = document.createElement(kind);
  made.className = className || "";
  made.append(text);
  return made;
}

function row(...cells) {
  const made = document.createElement("tr");
  made.append(...cells);
  return made;
}

function listFunctions() {
  const own = new Map();
  data.function.forEach((number, index) => {
    own.set(number, (own.get(number) || 0) + data.weights[shown][index]);
  });
  const whole = tree().total[shown];
  const rows = [...own].filter(([, weight]) => weight).sort((a, b) => b[1] - a[1]).slice(0, LISTED);
  const number = (text) => cell("td", text, "number");
  part("functions").replaceChildren(
    row(cell("th", "Own", "number"), cell("th", "Share", "number"), cell("th", "Function"), cell("th", "Module")),
    ...rows.map(([index, weight]) => {
      const button = cell("button", name(index));
      button.type = "button";
      button.addEventListener("click", () => search(name(index)));
      return row(number(amount(weight)), number(percent(whole ? weight / whole : 0)), cell("td", button), cell("td", moduleOf(index)));
    }),
  );
}

// ---- what a user does

function matcher(text) {
  if (!text) return null;
  const pattern = /^\/(.+)\/$/.exec(text);
  if (pattern) {
    try {
      const expression = new RegExp(pattern[1], "i");
      return (number) => expression.test(name(number));
    } catch {
      return () => false;
    }
  }
  const small = text.toLowerCase();
  return (number) => name(number).toLowerCase().includes(small);
}

// What is below a node that was found is not counted twice.
function countFound() {
  let weight = 0;
  let count = 0;
  const waiting = [[tree(), false]];
  while (waiting.length) {
    const [node, isBelow] = waiting.pop();
    const isFound = node.number >= 0 && state.pattern(node.number);
    if (isFound) count += 1;
    if (isFound && !isBelow) weight += node.total[shown];
    for (const child of node.below) waiting.push([child, isBelow || isFound]);
  }
  const whole = tree().total[shown];
  part("found").textContent = count ? `${grouped(count)} found, ${percent(whole ? weight / whole : 0)}` : "none found";
}

function search(text) {
  part("search").value = text;
  state.pattern = matcher(text.trim());
  if (state.pattern) countFound();
  else part("found").textContent = "";
  draw();
}

function zoom(node) {
  state.zoomed = node && node.number >= 0 ? node : null;
  draw();
  const made = elementOf.get(node);
  if (made) made.focus();
}

function walk(node, key) {
  const siblings = node.parent ? node.parent.below : [node];
  const at = siblings.indexOf(node);
  const next = {
    ArrowUp: node.parent,
    ArrowDown: node.below[0],
    ArrowLeft: siblings[at - 1],
    ArrowRight: siblings[at + 1],
  }[key];
  const made = next && elementOf.get(next);
  if (made) made.focus();
}

graph.addEventListener("click", (event) => {
  const node = drawn.get(event.target);
  if (node) zoom(node);
});
graph.addEventListener("mouseover", (event) => {
  const node = drawn.get(event.target);
  if (node) describe(node);
});
graph.addEventListener("focusin", (event) => {
  const node = drawn.get(event.target);
  if (node) describe(node);
});
graph.addEventListener("keydown", (event) => {
  const node = drawn.get(event.target);
  if (!node) return;
  if (event.key === "Enter") zoom(node);
  else if (event.key.startsWith("Arrow")) walk(node, event.key);
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target !== part("search")) {
    event.preventDefault();
    part("search").focus();
  } else if (event.key === "Escape") {
    search("");
    zoom(null);
  }
});
part("search").addEventListener("input", (event) => search(event.target.value));
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
part("reset").addEventListener("click", () => { search(""); zoom(null); });
part("colour").addEventListener("change", draw);
part("reverse").addEventListener("change", (event) => {
  state.isReversed = event.target.checked;
  state.zoomed = null;
  search(part("search").value);
});
new ResizeObserver(draw).observe(graph.parentElement);

for (const colour of Object.keys(COLOURS)) {
  if (colour !== "change" || isComparison) part("colour").append(cell("option", colour));
}
listFunctions();
draw();
