// A paste within a link: deflated, in letters that a URL takes as they are. It stands
// behind the `#`, so that no server sees it before the page asks.

const LONGEST = 8000;

async function piped(data, stream) {
  const blob = await new Response(new Blob([data]).stream().pipeThrough(stream)).arrayBuffer();
  return new Uint8Array(blob);
}

export async function packed(value) {
  const raw = new TextEncoder().encode(JSON.stringify(value));
  const small = await piped(raw, new CompressionStream("deflate-raw"));
  let letters = "";
  for (const byte of small) letters += String.fromCharCode(byte);
  const text = btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return text.length <= LONGEST ? text : null;
}

export async function unpacked(text) {
  if (text.length > LONGEST) return null;
  try {
    const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const small = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const raw = await piped(small, new DecompressionStream("deflate-raw"));
    return JSON.parse(new TextDecoder().decode(raw));
  } catch {
    return null;
  }
}
