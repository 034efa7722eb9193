// The section with live figures of the server, from what it tells Prometheus.

import { bytes, drawing, element, grouped, row, table } from "./elements.js";
import { parsed, quantile, total } from "./prometheus.js";
import { metrics } from "./server.js";

const EVERY = 2000; // ms
const KEPT = 150; // polls in the chart: five minutes

// Not those of this page and of health checks.
const isCounted = (labels) => /^\/(symbolicate|source|asm|upload|buildid)|^\/\{/.test(labels.path || "");

function seconds(value) {
  if (value === null) return ["–", ""];
  return value < 1 ? [(value * 1000).toFixed(value < 0.01 ? 1 : 0), "ms"] : [value.toFixed(1), "s"];
}

function tile(name, [value, unit]) {
  return element("li", {}, element("span", { class: "name" }, name),
    element("span", { class: "value" }, value, element("span", { class: "unit" }, unit)));
}

function chart(rates) {
  const most = Math.max(1, ...rates);
  const points = rates.map((rate, at) => `${(at + KEPT - rates.length) * (600 / (KEPT - 1))},${98 - (rate / most) * 92}`);
  const first = points[0]?.split(",")[0] || 0;
  const axis = (...texts) => element("div", { class: "chart-axes", "aria-hidden": "true" }, texts.map((text) => element("span", {}, text)));
  return [axis(most.toFixed(most < 10 ? 1 : 0), ""), drawing("svg", {
    class: "chart", viewBox: "0 0 600 100", preserveAspectRatio: "none", role: "img",
    "aria-label": `Requests per second in the last five minutes, at most ${most.toFixed(1)}`,
  },
  drawing("polygon", { points: `${first},100 ${points.join(" ")} 600,100` }),
  drawing("polyline", { points: points.join(" ") })), axis("5 minutes ago", "now")];
}

function scaled(number) {
  if (number >= 1e6) return [(number / 1e6).toFixed(1), "million"];
  return [grouped(Math.round(number)), ""];
}

function sized(number) {
  const [value, unit] = bytes(number).split(" ");
  return [value, unit];
}

export function figuresView(place) {
  const tiles = element("ul", { class: "tiles" });
  const picture = element("div", {});
  const paths = element("div", { class: "wide" });
  const sources = element("div", { class: "wide" });
  const state = element("p", { class: "note", role: "status" }, "");
  const version = element("p", { class: "note" });
  place.replaceChildren(element("h1", {}, "Status"), version, state, tiles,
    element("h2", {}, "Requests per second, the last five minutes"), picture,
    element("h2", {}, "Endpoints"), paths, element("h2", {}, "Sources"), sources);
  const rates = [];
  let before = null;
  let beforeAt = 0;

  function show(now, at) {
    const requests = total(now.get("gsym_requests_total"), isCounted);
    const span = before ? (at - beforeAt) / 1000 : 0;
    const gained = before ? requests - total(before.get("gsym_requests_total"), isCounted) : 0;
    const rate = span > 0 ? Math.max(0, gained) / span : 0;
    rates.push(rate);
    if (rates.length > KEPT) rates.shift();
    const buckets = now.get("gsym_request_seconds_bucket");
    const earlier = gained > 0 ? before.get("gsym_request_seconds_bucket") : [];
    const latency = (share) => seconds(quantile(buckets, earlier, share, isCounted));
    const failed = total(now.get("gsym_requests_total"), (l) => isCounted(l) && l.status >= "500");
    const frames = total(now.get("gsym_symbolicate_frames_sum"));
    tiles.replaceChildren(
      tile("Requests per second", [rate.toFixed(rate < 10 ? 1 : 0), ""]),
      tile("Median time", latency(0.5)), tile("99 % within", latency(0.99)),
      tile("Requests", scaled(requests)), tile("Server errors", scaled(failed)),
      tile("Frames", scaled(frames)),
      tile("In flight", scaled(total(now.get("gsym_requests_in_flight")))),
      tile("Open modules", scaled(total(now.get("gsym_open_modules")))),
      tile("Mapped", sized(total(now.get("gsym_mapped_bytes")))),
      tile("Memory", sized(total(now.get("gsym_resident_bytes")))),
      tile("Store", sized(total(now.get("gsym_store_bytes")))),
      tile("Free", sized(total(now.get("gsym_store_free_bytes")))),
      tile("Uploads", scaled(total(now.get("gsym_uploads_total")))));
    version.textContent = (now.get("gsym_info") || []).map(({ labels }) => `Version ${labels.version}`).at(-1) ?? "";
    picture.replaceChildren(...chart(rates));
    paths.replaceChildren(pathTable(now));
    sources.replaceChildren(sourceTable(now));
    [before, beforeAt] = [now, at];
  }

  let stopped = false;
  const poll = async () => {
    if (stopped) return;
    try {
      if (!document.hidden) show(parsed(await metrics()), performance.now());
      state.textContent = "All worker processes together, without the requests of this page; updated every two seconds.";
      state.classList.remove("bad");
    } catch (error) {
      state.textContent = error.message;
      state.classList.add("bad");
    }
    if (!stopped) setTimeout(poll, EVERY);
  };
  poll();
  return () => { stopped = true; };
}

function pathTable(now) {
  const counted = (now.get("gsym_requests_total") || []).filter(({ labels }) => isCounted(labels));
  const names = [...new Set(counted.map(({ labels }) => labels.path))].sort();
  if (!names.length) return element("p", { class: "soft" }, "No request of a client was answered yet.");
  return table("", ["Path", { number: "Requests" }, { number: "4xx" }, { number: "5xx" }, { number: "Mean" }, { number: "99 % within" }],
    names.map((path) => {
      const is = (labels) => labels.path === path;
      const count = total(now.get("gsym_request_seconds_count"), is);
      const mean = count ? total(now.get("gsym_request_seconds_sum"), is) / count : null;
      const status = (first) => grouped(total(now.get("gsym_requests_total"), (l) => is(l) && l.status.startsWith(first)));
      return row(element("code", {}, path),
        { number: grouped(total(now.get("gsym_requests_total"), is)), unit: "requests" },
        { number: status("4"), unit: "4xx" }, { number: status("5"), unit: "5xx" },
        { number: seconds(mean).join(" "), unit: "mean" },
        { number: seconds(quantile(now.get("gsym_request_seconds_bucket"), [], 0.99, is)).join(" "), unit: "99 %" });
    }));
}

function sourceTable(now) {
  const samples = now.get("gsym_source_answers_total") || [];
  if (!samples.length) return element("p", { class: "soft" }, "No source was asked yet.");
  const names = [...new Set(samples.map(({ labels }) => labels.source))].sort();
  const of = (source, outcome) => grouped(total(samples, (l) => l.source === source && l.outcome === outcome));
  return table("", ["Source", { number: "Found" }, { number: "Missing" }, { number: "Failed" }, { number: "Refused" }],
    names.map((source) => row(source,
      ...["found", "missing", "failed", "refused"].map((outcome) => ({ number: of(source, outcome), unit: outcome })))));
}
