"use strict";

// The calls of a profile as trees, one for each view. A node is a function in its place:
// its weights and those of all below, one for each profile, and its children in `below`.

const data = JSON.parse(document.getElementById("data").textContent);
const shown = data.weights.length - 1; // the profile that widths are of

const name = (number) => data.functions[number][0];
const moduleOf = (number) => data.texts[data.functions[number][1]];
const pathOf = (number) => data.texts[data.functions[number][2]];

function makeNode(number, parent) {
  const zeros = () => data.weights.map(() => 0);
  return { number, parent, own: zeros(), total: zeros(), below: [], known: null };
}

function append(parent, number) {
  const node = makeNode(number, parent);
  parent.below.push(node);
  return node;
}

// The child for a function, of which there is one.
function childOf(parent, number) {
  parent.known ||= new Map();
  let child = parent.known.get(number);
  if (!child) parent.known.set(number, child = append(parent, number));
  return child;
}

function add(weights, more) {
  for (let profile = 0; profile < weights.length; profile += 1) weights[profile] += more[profile];
}

function sorted(root) {
  const waiting = [root];
  while (waiting.length) {
    const node = waiting.pop();
    node.known = null;
    node.below.sort((a, b) => b.total[shown] - a.total[shown] || (name(a.number) < name(b.number) ? -1 : 1));
    for (const child of node.below) waiting.push(child);
  }
  return root;
}

// ---- callers above callees, as they were recorded

const plainNodes = [];

function callersFirst() {
  const root = Object.assign(makeNode(-1, null), { depth: 0 });
  data.parent.forEach((parent, index) => {
    const node = append(parent < 0 ? root : plainNodes[parent], data.function[index]);
    data.weights.forEach((weights, profile) => { node.own[profile] = weights[index]; });
    node.depth = node.parent.depth + 1;
    plainNodes.push(node);
  });
  for (let index = plainNodes.length - 1; index >= 0; index -= 1) {
    const node = plainNodes[index];
    add(node.total, node.own);
    add(node.parent.total, node.total);
  }
  return sorted(root);
}

const plain = callersFirst();
const whole = plain.total[shown];
const share = (node, profile) => (plain.total[profile] ? node.total[profile] / plain.total[profile] : 0);

// ---- callees first: each stack turned round, from where samples ended

function calleesFirst() {
  const root = makeNode(-1, null);
  for (const end of plainNodes) {
    if (!end.own.some((weight) => weight)) continue;
    let node = root;
    add(root.total, end.own);
    for (let at = end; at.number >= 0; at = at.parent) {
      node = childOf(node, at.number);
      add(node.total, end.own);
    }
  }
  return sorted(root);
}

// ---- one function, wherever it is called: its callers, and what it calls

// Of recursive calls the outermost, so that no sample counts twice.
function callsOf(number) {
  const found = [];
  const waiting = [plain];
  while (waiting.length) {
    const node = waiting.pop();
    if (node.number === number) found.push(node);
    else for (const child of node.below) waiting.push(child);
  }
  return found;
}

function sandwich(number) {
  const callees = makeNode(number, null);
  const callers = makeNode(number, null);
  for (const call of callsOf(number)) {
    let above = callers;
    add(callers.total, call.total);
    for (let at = call.parent; at.number >= 0; at = at.parent) {
      above = childOf(above, at.number);
      add(above.total, call.total);
    }
    const waiting = [[call, callees]];
    while (waiting.length) {
      const [from, to] = waiting.pop();
      add(to.own, from.own);
      add(to.total, from.total);
      for (const child of from.below) waiting.push([child, childOf(to, child.number)]);
    }
  }
  callers.own = callees.own;
  return [sorted(callers), sorted(callees)];
}

// ---- the samples of a thread in the order of time

// Runs of samples, some next to each other, that have the same calls down to a depth. Most
// are too narrow to be drawn: what is below one is made when it is asked for.
class TimeNode {
  constructor(runs, parent, first, last) {
    Object.assign(this, { runs, parent, first, last, depth: parent ? parent.depth + 1 : 0 });
    this.from = runs.times[first];
    this.total = data.weights.map(() => 0);
    this.total[shown] = runs.sums[last] - runs.sums[first];
  }

  get number() {
    let node = this.runs.ends[this.first];
    while (node.depth > this.depth) node = node.parent;
    return node.number;
  }

  get own() {
    const own = data.weights.map(() => 0);
    own[shown] = this.below.reduce((left, child) => left - child.total[shown], this.total[shown]);
    return own;
  }

  get below() {
    if (this.made) return this.made;
    const { ends, shared } = this.runs;
    this.made = [];
    for (let first = this.first, last; first < this.last; first = last) {
      last = first + 1;
      while (last < this.last && shared[last] > this.depth) last += 1;
      if (ends[first].depth > this.depth) this.made.push(new TimeNode(this.runs, this, first, last));
    }
    return this.made;
  }
}

// How many of the outermost calls of two stacks are the same.
function sharedDepth(a, b) {
  while (a.depth > b.depth) a = a.parent;
  while (b.depth > a.depth) b = b.parent;
  while (a !== b) {
    a = a.parent;
    b = b.parent;
  }
  return a.depth;
}

function inOrderOfTime(index) {
  const [, numbers, weights, steps] = data.threads[index];
  const ends = numbers.map((number) => plainNodes[number]);
  const shared = ends.map((end, at) => (at ? sharedDepth(ends[at - 1], end) : 0));
  const sums = [0];
  const times = [];
  weights.forEach((weight, at) => {
    sums.push(sums[at] + weight);
    times.push((times[at - 1] || 0) + steps[at]);
  });
  return new TimeNode({ ends, shared, sums, times }, null, 0, ends.length);
}

// ---- sums of functions

// For each function its own weight, and the total of all stacks that it is in.
function functionSums() {
  const sums = data.functions.map((_, number) => ({ number, own: 0, total: 0 }));
  const depths = new Uint32Array(sums.length);
  const waiting = [plain];
  while (waiting.length) {
    const node = waiting.pop();
    if (typeof node === "number") {
      depths[node] -= 1;
      continue;
    }
    if (node.number >= 0) {
      sums[node.number].own += node.own[shown];
      if (!depths[node.number]) sums[node.number].total += node.total[shown];
      depths[node.number] += 1;
      waiting.push(node.number);
    }
    for (const child of node.below) waiting.push(child);
  }
  return sums.filter((sum) => sum.total);
}
