// A report to try: of functions of a module that the server has, or of none.

import { ask } from "./server.js";

const FRAMES = 6;
const INSIDE = 22; // bytes after the start of a function
const REASON = "==4711==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x55d1c0ffe189";

function report(frames) {
  const lines = frames.map((frame, number) =>
    `    #${number} 0x${(0x55d1c0ff0000 + frame.offset).toString(16)} (${frame.module}+0x${frame.offset.toString(16)})`);
  return [REASON, "READ of size 4 at 0x602000000010 thread T0 (main)", ...lines, "==4711==ABORTING", ""].join("\n");
}

const NOWHERE = [0x12ab, 0x2f08, 0x3344].map((offset) => ({ module: "/opt/app/bin/server", offset }));

const WORDS = ["main", "run", "read", "write", "init", "open", "get"]; // in names of functions

async function functionsOf(module) {
  for (const query of WORDS) {
    const { functions } = await ask("functions", { id: module.debug_id, query });
    if (functions.length) return functions;
  }
  return [];
}

export async function exampleReport() {
  try {
    const { modules } = await ask("modules", { query: "" });
    const module = modules.find((each) => each.functions) ?? modules[0];
    const functions = await functionsOf(module);
    const base = parseInt((await ask("module", { id: module.debug_id })).base_address, 16);
    const frames = functions.slice(0, FRAMES).map((each) => ({
      module: `${module.debug_file}/${module.debug_id}`,
      offset: parseInt(each.start, 16) + Math.min(each.size - 1, INSIDE) - base,
    }));
    return report(frames.length ? frames : NOWHERE);
  } catch {
    return report(NOWHERE); // the store cannot be read
  }
}
