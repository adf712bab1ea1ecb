// The conversation, drawn from its events.

import { announce, h, picture } from "./dom.js";

const DOING = {
  search_catalog: "Looking through the catalog",
  get_product: "Looking at a product",
  create_checkout: "Preparing the order",
  update_checkout: "Changing the order",
  get_checkout: "Reading the order again",
  cancel_checkout: "Giving the order up",
  get_order: "Asking about the order",
};

const HAPPENED = {
  placed: ({ label }) => `You placed the order ${label ?? ""}`,
  canceled: () => "The checkout is canceled",
  declined: () => "You chose not to order",
  skipped: () => "You chose not to sign in",
  signed_in: () => "You signed in at the shop",
};

const WELCOME = "Tell me what you are looking for. I prepare the order; you look it over and place it.";

export class Chat {
  #log;
  #actions;
  #answers = new Map();
  #calls = new Map();
  #signIns = new Map();
  #busy = h("p", { class: "busy" }, h("span", { class: "hidden" }, "The agent is thinking"));

  constructor(log, actions) {
    this.#log = log;
    this.#actions = actions;
  }

  clear() {
    this.#log.replaceChildren(h("p", { class: "said agent welcome" }, WELCOME));
    this.#answers.clear();
    this.#calls.clear();
    this.#signIns.clear();
  }

  problem(text) {
    this.#add(h("p", { class: "event problem", role: "alert" }, text));
  }

  /** Draws an event. */
  take({ seq, kind, body }) {
    this.#log.querySelector(".welcome")?.remove();
    switch (kind) {
      case "buyer":
        this.#add(h("p", { class: "said buyer", "data-seq": seq }, h("span", { class: "hidden" }, "You: "), body.text));
        this.#wait(true);
        break;
      case "step":
        this.#wait(true);
        break;
      case "text":
        this.#answer(body.step).append(body.delta);
        this.#follow();
        break;
      case "restarted":
        this.#answer(body.step).replaceChildren(h("span", { class: "hidden" }, "Agent: "));
        break;
      case "tool_call":
        this.#call(seq, body.name);
        break;
      case "tool_result":
        this.#result(body);
        break;
      case "outcome":
        this.#add(h("p", { class: "event" }, (HAPPENED[body.what] ?? (() => body.what))(body)));
        this.#settle(body);
        this.#wait(true);
        break;
      case "sign_in":
        this.#signIn(body.id);
        break;
      case "done":
        this.#wait(false);
        announce([...this.#answers.values()].at(-1)?.textContent ?? "");
        break;
      case "error":
        this.#wait(false);
        this.#add(h("p", { class: "event problem" }, body.text));
        announce(body.text);
        break;
    }
  }

  #add(element) {
    this.#log.insertBefore(element, this.#busy.isConnected ? this.#busy : null);
    this.#follow();
  }

  /** Keeps the newest in view. */
  #follow() {
    this.#log.scrollTop = this.#log.scrollHeight;
  }

  #wait(on) {
    if (on) this.#log.append(this.#busy);
    else this.#busy.remove();
    this.#log.setAttribute("aria-busy", String(on));
    this.#follow();
  }

  #answer(step) {
    let answer = this.#answers.get(step);
    if (!answer) {
      answer = h("p", { class: "said agent", "data-step": step }, h("span", { class: "hidden" }, "Agent: "));
      this.#answers.set(step, answer);
      this.#add(answer);
    }
    return answer;
  }

  #call(seq, name) {
    const line = h("p", { class: "event doing" }, `${DOING[name] ?? name} …`);
    this.#calls.set(seq, line);
    this.#add(line);
  }

  #result({ call, name, error, products }) {
    const line = this.#calls.get(call);
    line?.classList.remove("doing");
    if (line) line.textContent = `${DOING[name] ?? name}${error ? ": the shop did not do it" : ""}`;
    if (products?.length) this.#add(h("ul", { class: "products", "aria-label": "Products" }, products.map((it) => this.#product(it))));
  }

  #product({ title, description, image, variants }) {
    const choice =
      variants.length > 1 &&
      h(
        "select",
        { "aria-label": `Which ${title}` },
        variants.map(({ label, price, available }) =>
          h("option", { value: label, disabled: !available }, `${label} · ${price}${available ? "" : " · sold out"}`),
        ),
      );
    const first = variants.find((it) => it.available) ?? variants[0];
    if (choice && first) choice.value = first.label;
    const buy = () => {
      const label = choice ? choice.value : first?.label;
      this.#actions.send(`Buy the ${title}${label ? `, ${label}` : ""}`);
    };
    return h(
      "li",
      { class: "product" },
      picture(image, 96),
      h("div", {}, h("h3", {}, title), h("p", {}, description ?? ""), choice || h("p", { class: "price" }, first?.price ?? "")),
      h("button", { type: "button", class: "quiet", onclick: buy, disabled: !first?.available, "aria-label": `Buy ${title}` }, "Buy"),
    );
  }

  #signIn(id) {
    const settle = async (skip) => {
      card.querySelectorAll("button").forEach((button) => (button.disabled = true));
      try {
        await this.#actions.signIn(id, skip);
      } catch (error) {
        card.querySelectorAll("button").forEach((button) => (button.disabled = false));
        this.problem(error.message);
      }
    };
    const card = h(
      "div",
      { class: "card sign-in", role: "group", "aria-label": "Sign in at the shop" },
      h("p", {}, "The shop wants you to sign in there before it goes on."),
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", onclick: () => settle(false) }, "I signed in, try again"),
        h("button", { type: "button", class: "quiet", onclick: () => settle(true) }, "Go on without"),
      ),
    );
    this.#signIns.set(id, card);
    this.#add(card);
  }

  #settle({ id }) {
    this.#signIns.get(id)?.remove();
  }
}
