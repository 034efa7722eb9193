// What the page asks of its server.

export class ServerError extends Error {}

const TOKEN = "gsym-token"; // kept until the window is closed
const UNAUTHORIZED = 401;

// What a person gives as a token; null for none.
function askToken(isWrong) {
  document.getElementById("token-wrong").hidden = !isWrong;
  const dialog = document.getElementById("token");
  const field = document.getElementById("token-text");
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "use" ? field.value : null);
      field.value = "";
    }, { once: true });
    if (!dialog.open) dialog.showModal();
  });
}

async function reached(path, options = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...(token ? { authorization: `Bearer ${token}` } : {}), ...options.headers };
  try {
    return await fetch(path, { ...options, headers });
  } catch {
    throw new ServerError("The server cannot be reached.");
  }
}

let asking = null; // for all requests at once

async function allowed(path, options) {
  const response = await reached(path, options);
  if (response.status !== UNAUTHORIZED) return response;
  asking ??= askToken(sessionStorage.getItem(TOKEN) !== null).finally(() => { asking = null; });
  const token = await asking;
  if (token === null) return response;
  sessionStorage.setItem(TOKEN, token);
  return allowed(path, options);
}

async function answered(response) {
  let answer = null;
  try {
    answer = await response.json();
  } catch {
    throw new ServerError(`The server answers ${response.status} and no JSON.`);
  }
  if (!response.ok) throw new ServerError(answer.title || `The server answers ${response.status}.`);
  return answer;
}

export async function ask(name, parameters = {}) {
  return answered(await allowed(`page/${name}?${new URLSearchParams(parameters)}`));
}

let told = null; // what the server says of itself

export async function state() {
  told ??= ask("state").catch((error) => {
    told = null;
    throw error;
  });
  return told;
}

// The answer to a text or a file, with all frames in one list; parts are texts and indexes in it.
export async function symbolize(report, module, choices) {
  const query = new URLSearchParams({ parts: "true", module });
  for (const [index, debugId] of Object.entries(choices)) query.append("choice", `${index}:${debugId}`);
  const answer = await answered(await allowed(`symbolicate/report?${query}`, {
    method: "POST",
    headers: { "content-type": typeof report === "string" ? "text/plain; charset=utf-8" : "application/octet-stream" },
    body: report,
  }));
  const firsts = [];
  answer.threads.reduce((first, thread) => (firsts.push(first), first + thread.frames.length), 0);
  answer.frames = answer.threads.flatMap((thread) => thread.frames);
  answer.parts = answer.parts.map((part) => (typeof part === "string" ? part : firsts[part[0]] + part[1]));
  answer.serves_sources = (await state()).serves_sources;
  return answer;
}

// The text of a source file, which must be that of a call at this offset of the module.
export async function source(module, offset, file) {
  const answer = await answered(await allowed("source/v1", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ debugName: module.name, debugId: module.debug_id, moduleOffset: offset, file }),
  }));
  return answer.source;
}

export async function metrics() {
  const response = await allowed("metrics");
  if (!response.ok) throw new ServerError(`The server answers ${response.status}.`);
  return response.text();
}

export async function upload(file, token) {
  const headers = { "auth-token": token, "content-type": "application/octet-stream" };
  const path = `upload/?${new URLSearchParams({ name: file.name })}`;
  return answered(await reached(path, { method: "POST", headers, body: file }));
}
