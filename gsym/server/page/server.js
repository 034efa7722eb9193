// What the page asks of its server.

export class ServerError extends Error {}

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

async function reached(request) {
  try {
    return await request;
  } catch {
    throw new ServerError("The server cannot be reached.");
  }
}

export async function ask(name, parameters = {}) {
  const query = new URLSearchParams(parameters);
  return answered(await reached(fetch(`page/${name}?${query}`)));
}

export async function symbolize(text, module, choices) {
  return answered(await reached(fetch("page/symbolize", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text, module, choices }),
  })));
}

export async function metrics() {
  const response = await reached(fetch("metrics"));
  if (!response.ok) throw new ServerError(`The server answers ${response.status}.`);
  return response.text();
}
