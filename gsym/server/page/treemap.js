// Folders of sources as areas, by bytes of their functions or by number of them.

import { bytes, element, grouped, plural, row, table } from "./elements.js";

const TONES = 8;
const LABEL_HEIGHT = 20;
const DEEPEST = 2; // folders within folders that are drawn
const NEARLY_ALL = 0.8;

// Squarified: rows are filled along the shorter side as long as that makes areas squarer.
function areas(items, weightOf, left, top, width, height) {
  const placed = [];
  let rest = items.filter((item) => weightOf(item) > 0);
  let weight = rest.reduce((sum, item) => sum + weightOf(item), 0);
  while (rest.length && width > 0 && height > 0) {
    const side = Math.min(width, height);
    const scale = (width * height) / weight;
    let count = 0;
    let sum = 0;
    let worst = Infinity;
    while (count < rest.length) {
      const next = sum + weightOf(rest[count]);
      const thick = (next * scale) / side;
      const long = (weightOf(rest[0]) * scale) / thick;
      const short = (weightOf(rest[count]) * scale) / thick;
      const ratio = Math.max(long / thick, thick / long, short / thick, thick / short);
      if (ratio > worst) break;
      worst = ratio;
      sum = next;
      count += 1;
    }
    const thick = (sum * scale) / side;
    let along = 0;
    for (const item of rest.slice(0, count)) {
      const long = (weightOf(item) * scale) / thick;
      placed.push(width >= height
        ? [item, left, top + along, thick, long]
        : [item, left + along, top, long, thick]);
      along += long;
    }
    if (width >= height) [left, width] = [left + thick, width - thick];
    else [top, height] = [top + thick, height - thick];
    weight -= sum;
    rest = rest.slice(count);
  }
  return placed;
}

function put(made, left, top, width, height) {
  made.style.left = `${left}px`;
  made.style.top = `${top}px`;
  made.style.width = `${width}px`;
  made.style.height = `${height}px`;
}

// What a folder holds, with the bytes of its own files as one more part.
function partsOf(folder) {
  const inner = folder.children;
  const own = (key) => folder[key] - inner.reduce((sum, child) => sum + child[key], 0);
  const files = { name: "(files here)", bytes: own("bytes"), functions: own("functions"), children: [] };
  const all = inner.length && files.functions > 0 ? [...inner, files] : inner;
  return all;
}

// The way to the first folder that does not consist of one folder for the most part.
function entered(tree) {
  const path = [tree];
  for (;;) {
    const [first] = path.at(-1).children;
    if (!first?.children.length || first.bytes < NEARLY_ALL * path.at(-1).bytes) return path;
    path.push(first);
  }
}

export function treemap(tree) {
  const map = element("div", { class: "map", role: "group", "aria-label": "Folders of sources by size" });
  const crumbs = element("nav", { class: "crumbs", "aria-label": "Folder" });
  const listing = element("div", { class: "wide" });
  const measure = element("select", { "aria-label": "Area stands for" },
    element("option", { value: "bytes" }, "by bytes of code"),
    element("option", { value: "functions" }, "by number of functions"));
  let path = entered(tree);

  const value = (folder) => (measure.value === "bytes" ? bytes(folder.bytes) : grouped(folder.functions));
  const open = (folders) => {
    path = folders;
    draw();
  };

  function tiles(folder, tone, left, top, width, height, depth, inner) {
    const opens = folder.children.length > 0;
    const sizes = [bytes(folder.bytes), plural(folder.functions, "function")];
    if (measure.value !== "bytes") sizes.reverse(); // begins with what the tile shows
    const name = `${folder.name} ${sizes.join(", ")}`;
    // Those in others are for a pointer alone: keys reach them one folder at a time.
    const isOuter = depth === 0;
    const made = element(opens ? "button" : "div", {
      class: "tile", "data-tone": tone, "data-depth": depth, title: name,
      "aria-hidden": isOuter ? null : "true",
      ...(opens ? { type: "button", tabindex: isOuter ? null : "-1", "aria-label": `${name}, open`, onclick: () => open([...inner, folder]) }
        : { role: "img", "aria-label": name }),
    });
    put(made, left, top, width, height);
    const found = [made];
    if (width > 34 && height > 16) {
      made.append(element("span", { class: "label" }, folder.name, " ",
        width > 110 ? element("small", {}, value(folder)) : null));
    }
    if (opens && depth < DEEPEST && width > 60 && height > 50) {
      const parts = areas(sorted(partsOf(folder)), (each) => each[measure.value],
        left + 2, top + LABEL_HEIGHT, width - 4, height - LABEL_HEIGHT - 2);
      for (const [part, ...where] of parts) {
        if (where[2] >= 3 && where[3] >= 3) found.push(...tiles(part, tone, ...where, depth + 1, [...inner, folder]));
      }
    }
    return found;
  }

  const sorted = (folders) => [...folders].sort((a, b) => b[measure.value] - a[measure.value]);

  function draw() {
    const folder = path.at(-1);
    const parts = sorted(folder.children.length ? partsOf(folder) : [folder]);
    const box = map.getBoundingClientRect();
    const placed = areas(parts, (each) => each[measure.value], 0, 0, box.width, box.height);
    const toneOf = new Map(parts.map((each, at) => [each, at % TONES]));
    map.replaceChildren(...placed.flatMap(([each, ...where]) => tiles(each, toneOf.get(each), ...where, 0, path)));
    crumbs.replaceChildren(...path.flatMap((each, at) => {
      const name = each.name || "all folders";
      return at === path.length - 1
        ? [element("strong", {}, name), element("span", {}, `${bytes(each.bytes)}, ${plural(each.functions, "function")}`)]
        : [element("button", { type: "button", class: "link", onclick: () => open(path.slice(0, at + 1)) }, name), "›"];
    }));
    listing.replaceChildren(table("", ["Folder", { number: "Bytes of code" }, { number: "Functions" }],
      parts.map((each) => row(each.name || "all", { number: bytes(each.bytes), unit: "" },
        { number: grouped(each.functions), unit: "functions" }))));
  }

  measure.addEventListener("change", draw);
  new ResizeObserver(draw).observe(map);
  return element("div", {},
    element("div", { class: "row" }, crumbs, measure), map,
    element("details", { class: "named" }, element("summary", {}, "The same as a table"), listing));
}
