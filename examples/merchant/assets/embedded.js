// The shop's half of the embedded checkout protocol: JSON-RPC 2.0 by `postMessage` with the page that
// frames this one. The host is known by its origin from the start, and nobody else is listened to.

const parameters = new URLSearchParams(location.search);
const version = parameters.get("ec_version");
const checkoutPath = location.pathname;
const supported = ["payment.credential", "window.open"];
const delegated = (parameters.get("ec_delegate") ?? "").split(",").filter((it) => supported.includes(it));
const hostOrigin = location.ancestorOrigins?.[0] ?? new URL(document.referrer || location.href).origin;

const waiting = new Map();
let lastId = 0;

function send(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, hostOrigin);
}

const notify = (method, params) => send({ method, params });

function request(method, params) {
  const id = `shop-${++lastId}`;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

addEventListener("message", ({ source, origin, data }) => {
  if (source !== parent || origin !== hostOrigin || data?.jsonrpc !== "2.0") return;
  const call = waiting.get(data.id);
  if (!call) return;
  waiting.delete(data.id);
  if (data.error) call.reject(new Error(data.error.message));
  else call.resolve(data.result);
});

const state = async () => (await fetch(`${checkoutPath}/state`)).json();

/** Shows the page as the server now has it. */
async function refresh() {
  const html = await (await fetch(location.href)).text();
  const main = new DOMParser().parseFromString(html, "text/html").querySelector("main");
  document.querySelector("main").replaceWith(main);
  listen();
}

function say(text) {
  const note = document.createElement("p");
  note.setAttribute("role", "alert");
  note.textContent = text;
  document.querySelector("form")?.append(note);
}

/** What the host pays with: its own matter where that was delegated. */
async function payment(checkout) {
  const asksOnly = checkout.messages?.some((it) => it.severity === "requires_buyer_input");
  if (asksOnly || !delegated.includes("payment.credential")) return null;
  const result = await request("ec.payment.credential_request", { checkout });
  if (result?.ucp?.status !== "success") throw new Error("The payment was not approved.");
  return result.checkout.payment;
}

async function buy(event) {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  try {
    const given = await payment(await state());
    const answer = await fetch(`${checkoutPath}/pay`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ payment: given }),
    });
    if (!answer.ok) return fail("session_over", "This checkout is over.");
    const checkout = await answer.json();
    await refresh();
    if (checkout.status === "completed") notify("ec.complete", { checkout });
    else notify("ec.messages.change", { checkout });
  } catch (error) {
    button.disabled = false;
    say(error.message);
  }
}

async function openLink(event) {
  if (!delegated.includes("window.open")) return;
  event.preventDefault();
  const result = await request("ec.window.open_request", { url: event.target.href });
  if (result?.ucp?.status !== "success") say("That page could not be opened.");
}

/** A failure of the session itself: the host goes on without this page. */
function fail(code, content) {
  const messages = [{ type: "error", code, content, severity: "unrecoverable" }];
  notify("ec.error", { error: { ucp: { version, status: "error" }, messages } });
}

function listen() {
  document.querySelector("form")?.addEventListener("submit", buy);
  for (const link of document.querySelectorAll("a")) link.addEventListener("click", openLink);
}

if (parent !== window) {
  listen();
  const result = await request("ec.ready", { delegate: delegated });
  if (result?.ucp?.status === "success") {
    const checkout = await state();
    if (checkout.status === "canceled") fail("session_over", "This checkout is over.");
    else notify("ec.start", { checkout });
  }
}
