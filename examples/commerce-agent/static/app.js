// Brings the page's parts together: one conversation, its events, and what they show.

import { events, get, post, Problem, session } from "./api.js";
import { Chat } from "./chat.js";
import { CheckoutPanel, OrderList } from "./checkout.js";

const compose = document.getElementById("compose");
const say = document.getElementById("say");

let conversation = null;
let reading = new AbortController();
const path = (rest) => `/api/conversations/${conversation}${rest}`;

const chat = new Chat(document.getElementById("log"), {
  send: (text) => send(text),
  signIn: (id, skip) => post(path("/sign-in"), { id, skip }),
});
const panel = new CheckoutPanel({
  get: (rest) => get(path(rest)),
  post: (rest, body) => post(path(rest), body),
});
const orders = new OrderList({ get: (rest) => get(path(rest)) });

/** Shows a conversation from its first event on, and then whatever comes. */
async function follow(id) {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  conversation = id;
  chat.clear();
  panel.clear();
  orders.clear();
  for await (const event of events(id, 0, signal)) {
    if (signal.aborted) return;
    chat.take(event);
    if (event.kind === "screen") panel.show(event.body.checkout);
    if (event.kind === "order") orders.show(event.body.order);
  }
}

async function begin() {
  const { conversation: id } = await post("/api/conversations");
  follow(id);
}

async function send(text) {
  if (!text.trim()) return;
  try {
    // The same message is one message, however often it has to be sent.
    const id = crypto.randomUUID();
    await post(path("/messages"), { id, text }).catch((error) => {
      if (!(error instanceof Problem) || error.code !== "offline") throw error;
      return post(path("/messages"), { id, text });
    });
  } catch (error) {
    chat.problem(error.message);
  }
}

compose.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = say.value;
  say.value = "";
  grow();
  send(text);
});

say.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  compose.requestSubmit();
});

function grow() {
  say.rows = Math.min(6, say.value.split("\n").length);
}
say.addEventListener("input", grow);

document.getElementById("fresh").addEventListener("click", async () => {
  await begin().catch((error) => chat.problem(error.message));
  say.focus();
});

// What happened elsewhere, such as at the shop in another tab, shows when the buyer comes back.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) panel.refresh();
});

try {
  const found = await session();
  document.getElementById("shop").textContent = new URL(found.shop).host;
  if (found.conversation) follow(found.conversation);
  else await begin();
  document.body.dataset.ready = "";
} catch (error) {
  chat.problem(error.message);
}
