// Offers to put a debug file into the store, where the server takes uploads.

import { bytes, element, say } from "./elements.js";
import { state as known, upload } from "./server.js";

const OUTCOMES = { added: "is in the store", replaced: "took the place of a poorer one", kept: "was there already" };

function published({ modules }) {
  return element("ul", {}, modules.map((module) => element("li", {},
    element("a", { href: `#/module/${module.debug_id}` }, module.debug_file || module.debug_id),
    ` ${OUTCOMES[module.outcome] ?? module.outcome}`)));
}

export async function offerUpload(file, place) {
  const what = `${file.name} (${bytes(file.size)}) is no text.`;
  const state = await known();
  if (!state.takes_uploads) {
    place.replaceChildren(element("p", {}, what, " Debug files go into the store: ",
      element("code", {}, "gsym store add"), ". This server takes no uploads."));
    return;
  }
  if (file.size > state.max_upload) {
    place.replaceChildren(element("p", { class: "bad" }, `${what} Uploads are limited to ${bytes(state.max_upload)}.`));
    return;
  }
  const token = element("input", { id: "upload-token", type: "password", class: "search", autocomplete: "off", required: true });
  const button = element("button", { class: "main" }, "Upload");
  const result = element("div", { "aria-live": "polite" });
  const send = async (event) => {
    event.preventDefault();
    button.setAttribute("aria-busy", "true");
    try {
      result.replaceChildren(published((await upload(file, token.value)).upload));
      say(`${file.name} is uploaded`);
    } catch (error) {
      result.replaceChildren(element("p", { class: "bad", role: "alert" }, error.message));
    } finally {
      button.removeAttribute("aria-busy");
    }
  };
  place.replaceChildren(
    element("form", { onsubmit: send },
      element("p", {}, `${what} It can go into the store of this server.`),
      element("label", { for: "upload-token" }, "Token that allows to upload"), token,
      element("div", { class: "row" }, button)),
    result);
  token.focus();
}
