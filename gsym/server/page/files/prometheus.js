// Figures as Prometheus reads them -> samples by name.

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES = { n: "\n", "\\": "\\", '"': '"' };

export function parsed(text) {
  const found = new Map();
  for (const line of text.split("\n")) {
    const sample = line.startsWith("#") ? null : SAMPLE.exec(line);
    if (!sample) continue;
    const labels = {};
    for (const [, name, value] of (sample[2] || "").matchAll(LABEL)) {
      labels[name] = value.replace(/\\(.)/g, (_, letter) => ESCAPES[letter] ?? letter);
    }
    if (!found.has(sample[1])) found.set(sample[1], []);
    found.get(sample[1]).push({ labels, value: Number(sample[3]) });
  }
  return found;
}

export function total(samples, fits = () => true) {
  return (samples || []).filter(({ labels }) => fits(labels)).reduce((sum, each) => sum + each.value, 0);
}

// A quantile of what buckets have gained since *before*, null where there was nothing.
export function quantile(now, before, share, fits = () => true) {
  const sums = new Map();
  const add = (samples, sign) => {
    for (const { labels, value } of samples || []) {
      if (!fits(labels)) continue;
      const end = labels.le === "+Inf" ? Infinity : Number(labels.le);
      sums.set(end, (sums.get(end) || 0) + sign * value);
    }
  };
  add(now, 1);
  add(before, -1);
  const buckets = [...sums].sort(([a], [b]) => a - b);
  const count = buckets.at(-1)?.[1] || 0;
  if (count <= 0) return null;
  let start = 0;
  let below = 0;
  for (const [end, upTo] of buckets) {
    if (upTo >= share * count) {
      if (end === Infinity) return start;
      return start + (end - start) * ((share * count - below) / Math.max(upTo - below, 1));
    }
    [start, below] = [end, upTo];
  }
  return start;
}
