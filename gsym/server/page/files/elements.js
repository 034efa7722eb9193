// Elements made of names, properties and children. Text goes in as text: what comes from
// files of others never becomes markup.

// Marks that change the direction of text would show a name as another one.
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;
const visible = (child) => (typeof child === "string" ? child.replace(DIRECTIONS, "\ufffd") : child);

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined).map(visible));
  return made;
}

export function drawing(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function say(text) {
  document.getElementById("said").textContent = text;
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  let unit = 0;
  while (count >= 1024 && unit < UNITS.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit && count < 10 ? count.toFixed(1) : Math.round(count)} ${UNITS[unit]}`;
}

export function grouped(count) {
  return count.toLocaleString("en-US").replaceAll(",", "\u202f");
}

export function plural(count, one, many = `${one}s`) {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

// A row of cells; a cell is text, an element, or {number, unit}.
export function row(...cells) {
  return element("tr", {}, cells.map((cell) =>
    cell !== null && typeof cell === "object" && "number" in cell
      ? element("td", { class: "number", "data-unit": cell.unit }, cell.number)
      : element("td", {}, cell)));
}

export function table(caption, heads, rows) {
  const head = heads.map((text) => typeof text === "string"
    ? element("th", { scope: "col" }, text)
    : element("th", { scope: "col", class: "number" }, text.number));
  return element("table", { class: "cards" },
    caption ? element("caption", {}, caption) : null,
    element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, rows));
}
