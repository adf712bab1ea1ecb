// Our half of the embedded checkout protocol: JSON-RPC 2.0 by `postMessage` with the shop's checkout
// in a frame. Only the frame itself, at the origin that the shop's answer named, is listened to; and
// what it says has no effect but that we ask the server what is true now.

import { h } from "./dom.js";

/** How long the shop's page may take to say that it is ready. */
const PATIENCE = 15_000;

/**
 * Frames the shop's checkout. `actions` are `changed()`, `complete()`, `failed()`,
 * `pay()` → what to pay with or null, and `open(url)` → whether the buyer opened it.
 */
export function embed({ url, origin, delegates, version }, actions) {
  if (origin === location.origin) throw new Error("The shop's checkout cannot be framed here.");
  const frame = h("iframe", {
    src: url,
    title: "The shop's checkout",
    sandbox: "allow-scripts allow-forms allow-same-origin",
    referrerpolicy: "origin",
    allow: "",
  });
  const waiting = setTimeout(() => actions.failed(), PATIENCE);

  const reply = (message) => frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, origin);
  const success = (id, rest = {}) => reply({ id, result: { ucp: { version, status: "success" }, ...rest } });
  const refuse = (id, code, content) =>
    reply({
      id,
      result: {
        ucp: { version, status: "error" },
        messages: [{ type: "error", code, content, severity: "recoverable" }],
      },
    });

  async function answer({ id, method, params }) {
    switch (method) {
      case "ec.ready":
        clearTimeout(waiting);
        return success(id);
      case "ec.payment.credential_request": {
        if (!delegates.includes("payment.credential")) break;
        const checkout = await actions.pay();
        return checkout ? success(id, { checkout }) : refuse(id, "abort_error", "The buyer did not agree.");
      }
      case "ec.window.open_request": {
        if (!delegates.includes("window.open")) break;
        const opened = await actions.open(params?.url);
        return opened ? success(id) : refuse(id, "window_open_rejected_error", "It was not opened.");
      }
      case "ec.auth":
        return refuse(id, "not_supported_error", "There is no authorization to give.");
    }
    if (typeof method === "string" && method.endsWith("_request")) {
      return refuse(id, "not_supported_error", "This is not done here.");
    }
    return reply({ id, error: { code: -32601, message: "Method not found" } });
  }

  function hear(method) {
    if (method === "ec.complete") return actions.complete();
    if (method === "ec.error") {
      clearTimeout(waiting);
      return actions.failed();
    }
    if (method === "ec.start" || method.endsWith(".change")) return actions.changed();
  }

  const listen = ({ source, origin: from, data }) => {
    if (source !== frame.contentWindow || from !== origin) return;
    if (data?.jsonrpc !== "2.0" || typeof data.method !== "string") return;
    if (data.id === undefined) return hear(data.method);
    answer(data).catch(() => refuse(data.id, "abort_error", "That did not work."));
  };
  addEventListener("message", listen);

  return {
    frame,
    close() {
      clearTimeout(waiting);
      removeEventListener("message", listen);
      frame.remove();
    },
  };
}
