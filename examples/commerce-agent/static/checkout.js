// The checkout that is being prepared, and the orders that were placed: each shown as the server says
// that the shop has it now.

import { announce, h, out, picture, scheme } from "./dom.js";
import { embed } from "./embedded.js";
import { form } from "./form.js";

const TITLES = {
  update: "Almost ready",
  complete: "Ready to order",
  poll: "The shop is placing your order",
  continue_url: "Finish at the shop",
  embedded: "Finish with the shop",
  completed: "Order placed",
  canceled: "Checkout canceled",
  failed: "That did not work",
};

const REASONS = {
  buyer_input: "The shop needs an answer that only you can give, on its own page.",
  buyer_review: "The shop asks you to look it over and to approve it on its own page.",
  escalation: "The shop wants you to go on with it on its own page.",
  disclosure: "The shop has something to tell you that only its own page can show.",
  unknown_severity: "The shop says that something is wrong; its own page says what.",
  unknown_status: "The shop goes on with it on its own page.",
};

const FAILURES = {
  no_resource: "The shop has no such checkout any more. Nothing was ordered.",
  request_refused: "The shop refused. Nothing was ordered.",
  missing_continue_url: "The shop wants you to go on at its own page, and does not say where.",
  unknown_status: "The shop says something about this checkout that is not understood here.",
};

function totals(entries) {
  const row = ({ type, label, price, lines }) => [
    h("tr", { class: `total-${type}` }, h("th", { scope: "row" }, label ?? ""), h("td", {}, price ?? "")),
    lines.map((line) => h("tr", { class: "part" }, h("th", { scope: "row" }, line.label ?? ""), h("td", {}, line.price ?? ""))),
  ];
  return h("table", { class: "totals" }, h("caption", { class: "hidden" }, "Totals"), h("tbody", {}, entries.flatMap(row).flat()));
}

/** What must be shown beside what it is about: with its picture, and not to be put away. */
function disclosure({ content, code, url, image_url: image }) {
  return h("div", { class: "disclosure", role: "note", "data-code": code }, picture(image, 40), h("p", {}, content ?? code ?? "", " ", url && out(url, "Read more")));
}

const notice = ({ content, code }) => h("p", { class: "notice", "data-code": code }, content ?? code ?? "");

/** The messages by the place that they are about: a line's index, `totals`, `fulfillment`, or none. */
function byPlace(messages) {
  const places = new Map();
  for (const message of messages) {
    const [, member, index] = /^\$\.?\[?['"]?(\w+)['"]?\]?(?:\[(\d+)\])?/.exec(message.path ?? "") ?? [];
    const place = member === "line_items" ? Number(index ?? -1) : ["totals", "fulfillment"].includes(member) ? member : "all";
    places.set(place, [...(places.get(place) ?? []), message]);
  }
  return (place) => places.get(place) ?? [];
}

/** Asks the buyer, in a dialog that has the keyboard until it is answered. Esc is no. */
function ask(label, content, ...buttons) {
  return new Promise((resolve) => {
    const choose = (value) => () => dialog.close(value);
    const dialog = h(
      "dialog",
      { "aria-label": label },
      h("h2", {}, label),
      content,
      h("div", { class: "buttons" }, buttons.map(({ text, value, quiet }) => h("button", { type: "button", class: quiet && "quiet", onclick: choose(value) }, text))),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Whether the shop may have a page opened: https, or on this machine while this page is. */
function openable(text) {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const local = (host) => ["127.0.0.1", "localhost", "[::1]"].includes(host);
  return url.protocol === "https:" || (url.protocol === "http:" && local(url.hostname) && local(location.hostname));
}

export class CheckoutPanel {
  #server;
  #section = document.getElementById("checkout");
  #title = document.getElementById("checkout-title");
  #top = document.getElementById("checkout-top");
  #frame = document.getElementById("checkout-frame");
  #bottom = document.getElementById("checkout-bottom");
  #id = null;
  #screen = null;
  #embedded = null;
  #noFrame = new Set();
  #wanted = false;
  #busy = false;

  constructor(server) {
    this.#server = server;
  }

  clear() {
    this.#id = null;
    this.#screen = null;
    this.#unframe();
    this.#section.hidden = true;
    document.getElementById("empty").hidden = false;
  }

  show(id) {
    if (id !== this.#id) {
      this.#id = id;
      this.#screen = null;
      this.#unframe();
    }
    this.refresh();
  }

  /** Asks the server what is true now: one question at a time, and another one for what came meanwhile. */
  async refresh() {
    this.#wanted = true;
    if (this.#busy) return;
    this.#busy = true;
    while (this.#wanted && this.#id) {
      this.#wanted = false;
      const id = this.#id;
      try {
        const screen = await this.#server.get(this.#path());
        if (id === this.#id) this.#draw(screen);
      } catch (error) {
        if (id === this.#id) this.#trouble(error);
      }
    }
    this.#busy = false;
  }

  #path(action = "") {
    const query = `scheme=${scheme()}${this.#noFrame.has(this.#id) ? "&no_frame=true" : ""}`;
    return `/checkouts/${encodeURIComponent(this.#id)}${action}?${query}`;
  }

  /** Does something and shows what became of it. */
  async #act(action, body) {
    try {
      const screen = await this.#server.post(this.#path(action), body);
      if (screen) this.#draw(screen);
      this.#title.focus();
      announce(this.#title.textContent);
    } catch (error) {
      if (["changed", "unknown", "shop", "not_found"].includes(error.code)) await this.refresh();
      throw error;
    }
  }

  #trouble(error) {
    this.#section.hidden = false;
    document.getElementById("empty").hidden = true;
    this.#title.textContent = "The shop does not answer";
    this.#top.replaceChildren(
      h("p", { class: "problem", role: "alert" }, error.message),
      h("button", { type: "button", class: "quiet", onclick: () => this.refresh() }, "Try again"),
    );
    this.#bottom.replaceChildren();
  }

  #draw(screen) {
    this.#screen = screen;
    const { state, checkout, handoff } = screen;
    this.#section.hidden = false;
    this.#section.dataset.state = state;
    document.getElementById("empty").hidden = true;
    this.#title.textContent = screen.sending ? "One moment" : (TITLES[state] ?? state);
    const disclosures = byPlace(handoff.disclosures);
    const notices = byPlace(handoff.notices);
    const about = (place) => [disclosures(place).map(disclosure), notices(place).map(notice)].flat();
    const lines = checkout.line_items ?? [];
    const placed = lines.map((_, index) => index);
    const elsewhere = handoff.disclosures.filter((it) => ![...placed, "totals", "fulfillment"].some((place) => disclosures(place).includes(it)));
    const otherNotices = handoff.notices.filter((it) => ![...placed, "totals", "fulfillment"].some((place) => notices(place).includes(it)));
    this.#top.replaceChildren(
      lines.length === 0 ? "" : h(
        "ul",
        { class: "lines", "aria-label": "What you chose" },
        lines.map(({ title, image, price, quantity }, index) =>
          h("li", {}, picture(image, 48), h("span", { class: "what" }, title ?? ""), h("span", { class: "many" }, `${quantity} × ${price ?? ""}`), about(index)),
        ),
      ),
      ...[
        checkout.deliveries?.map((text) => h("p", { class: "delivery" }, text)),
        about("fulfillment"),
        checkout.email && h("p", { class: "delivery" }, checkout.email),
        checkout.totals?.length ? totals(checkout.totals) : null,
        about("totals"),
        elsewhere.map(disclosure),
        otherNotices.map(notice),
      ]
        .flat()
        .filter(Boolean),
    );
    this.#embed(screen);
    this.#bottom.replaceChildren(...this.#next(screen).flat().filter(Boolean));
  }

  /** What the buyer can do now. */
  #next(screen) {
    const { state, handoff, fields, sending, shop } = screen;
    if (sending) return [this.#waiting("It is not known yet whether the shop took the order. It is being found out; you need not do anything.")];
    const host = new URL(shop).host;
    const mend = fields.length > 0 && form(fields, (body) => this.#act("/fix", body));
    const elsewhere = handoff.continue_url && out(handoff.continue_url, "Go on at the shop instead", { class: "alternative" });
    switch (state) {
      case "update":
        return [mend || h("p", {}, "The shop still needs something."), h("div", { class: "buttons" }, elsewhere, this.#giveUp())];
      case "complete":
        return this.#confirm(screen);
      case "poll":
        return [this.#waiting("This can take a moment. It goes on when you leave this page.")];
      case "continue_url":
        // What can be mended here is mended before the buyer goes: there is no way back with it.
        if (mend) return [mend, h("div", { class: "buttons" }, this.#giveUp())];
        return [
          h(
            "div",
            { class: "card handover" },
            h("p", {}, REASONS[handoff.reason] ?? REASONS.escalation),
            this.#blockers(handoff),
            out(handoff.url, `Finish at ${host}`, { class: "button" }),
            this.#waiting("This page notices when you are done there."),
          ),
          h("div", { class: "buttons" }, this.#giveUp()),
        ];
      case "embedded":
        if (mend) return [mend, h("div", { class: "buttons" }, this.#giveUp())];
        return [h("div", { class: "buttons" }, this.#giveUp())];
      case "completed":
        return this.#completed(handoff);
      case "canceled":
        return [h("p", {}, "Nothing was ordered.")];
      default:
        return [
          h("p", { class: "problem" }, FAILURES[handoff.reason] ?? "The shop's answer is not understood here."),
          this.#blockers(handoff),
          h("div", { class: "buttons" }, elsewhere, h("button", { type: "button", class: "quiet", onclick: () => this.refresh() }, "Ask the shop again")),
        ];
    }
  }

  #blockers({ blockers }) {
    return blockers.length > 0 && h("ul", { class: "blockers" }, blockers.map((it) => h("li", { class: "blocker", "data-code": it.code }, it.content ?? it.code)));
  }

  #waiting(text) {
    return h("p", { class: "waiting", role: "status" }, text);
  }

  #giveUp() {
    const give = async (event) => {
      event.target.disabled = true;
      await this.#act("/cancel", {}).catch((error) => this.#alert(error));
      event.target.disabled = false;
    };
    return h("button", { type: "button", class: "quiet", onclick: give }, "Give it up");
  }

  #alert(error) {
    this.#bottom.prepend(h("p", { class: "problem", role: "alert" }, error.message));
  }

  #instruments(instruments) {
    return h(
      "fieldset",
      { class: "instruments" },
      h("legend", {}, "Pay with"),
      instruments.map(({ id, label }, index) => h("label", { class: "choice" }, h("input", { type: "radio", name: "instrument", value: id, checked: index === 0 }), h("span", {}, label))),
    );
  }

  /** The button that places the order, with what it agrees to above it. */
  #confirm({ digest, instruments, checkout, outcome, handoff }) {
    const total = checkout.totals.find((it) => it.type === "total")?.price ?? "";
    const place = async (event) => {
      event.preventDefault();
      if (button.disabled) return;
      button.disabled = true;
      button.textContent = "Placing the order …";
      const instrument = new FormData(element).get("instrument");
      await this.#act("/confirm", { digest, instrument }).catch((error) => this.#alert(error));
    };
    const decline = async () => {
      await this.#server.post(this.#path("/decline")).catch((error) => this.#alert(error));
      this.#title.focus();
    };
    const button = h("button", { type: "submit", class: "place", disabled: instruments.length === 0 }, `Place order · ${total}`);
    const element = h(
      "form",
      { class: "confirm", onsubmit: place, "aria-label": "Place the order" },
      outcome === "declined" && h("p", { class: "notice" }, "You chose not to order this. It stays prepared for a while."),
      instruments.length ? this.#instruments(instruments) : h("p", { class: "problem" }, "There is no way to pay that this shop takes."),
      checkout.links.length > 0 && h("p", { class: "links" }, "With the order you agree to: ", checkout.links.map(({ title, url }, index) => [index ? ", " : "", out(url, title.replaceAll("_", " "))])),
      button,
      h(
        "div",
        { class: "buttons" },
        outcome !== "declined" && h("button", { type: "button", class: "quiet", onclick: decline }, "Not now"),
        this.#giveUp(),
        handoff.continue_url && out(handoff.continue_url, "Go on at the shop instead", { class: "alternative" }),
      ),
    );
    return [element];
  }

  #completed({ order }) {
    return [
      h("p", { class: "success" }, `The shop has your order${order?.label ? ` ${order.label}` : ""}.`),
      order?.permalink_url && h("p", {}, out(order.permalink_url, "See it at the shop")),
    ];
  }

  #unframe() {
    this.#embedded?.handle.close();
    this.#embedded = null;
    this.#frame.replaceChildren();
  }

  /** Frames the shop's checkout while that is where the buyer goes on. A frame that is there stays. */
  #embed({ state, handoff, version, fields }) {
    if (state !== "embedded" || fields.length > 0) return this.#unframe();
    // The URL may carry a token that is new each time: the frame is the same as long as its page is.
    const key = `${this.#id} ${new URL(handoff.url).pathname}`;
    if (this.#embedded?.key === key) return;
    this.#unframe();
    const { url, origin, delegates } = handoff;
    try {
      const handle = embed({ url, origin, delegates, version }, this.#frameActions());
      this.#embedded = { key, handle };
      this.#frame.replaceChildren(h("p", { class: "reason" }, REASONS[handoff.reason] ?? REASONS.escalation), handle.frame);
    } catch {
      this.#withoutFrame();
    }
  }

  #withoutFrame() {
    this.#noFrame.add(this.#id);
    this.#unframe();
    this.refresh();
  }

  #frameActions() {
    return {
      changed: () => this.refresh(),
      complete: () => this.refresh(),
      failed: () => this.#withoutFrame(),
      pay: () => this.#pay(),
      open: async (url) => {
        if (!openable(url)) return false;
        const opened = ask("The shop wants to open a page", h("p", { class: "url" }, url), { text: "Open it", value: "yes" }, { text: "No", value: "", quiet: true });
        if ((await opened) !== "yes") return false;
        window.open(url, "_blank", "noopener,noreferrer");
        return true;
      },
    };
  }

  /** The shop's page asks to be paid: the buyer agrees to the totals as they are now, or does not. */
  async #pay() {
    let note = null;
    for (;;) {
      const screen = await this.#server.get(this.#path());
      const choice = this.#instruments(screen.instruments);
      const content = h("div", {}, note && h("p", { class: "problem" }, note), totals(screen.checkout.totals), choice);
      const answer = await ask("Pay the shop?", content, { text: "Agree and pay", value: "yes" }, { text: "No", value: "", quiet: true });
      if (answer !== "yes") return null;
      const instrument = choice.querySelector("input:checked")?.value;
      try {
        return await this.#server.post(this.#path("/credential"), { digest: screen.digest, instrument });
      } catch (error) {
        if (error.code !== "changed") throw error;
        note = error.message;
      }
    }
  }
}

export class OrderList {
  #server;
  #section = document.getElementById("orders");
  #list = document.getElementById("orders-list");
  #orders = new Map();

  constructor(server) {
    this.#server = server;
  }

  clear() {
    this.#orders.clear();
    this.#list.replaceChildren();
    this.#section.hidden = true;
  }

  /** Shows an order as it is now, or that it cannot be read. */
  async show(id) {
    let card = this.#orders.get(id);
    if (!card) {
      card = h("article", { class: "card order", "data-order": id });
      this.#orders.set(id, card);
      this.#list.prepend(card);
      this.#section.hidden = false;
      document.getElementById("empty").hidden = true;
    }
    try {
      card.replaceChildren(...this.#draw(await this.#server.get(`/orders/${encodeURIComponent(id)}`)).flat().filter(Boolean));
    } catch (error) {
      card.replaceChildren(h("p", { class: "problem" }, error.message));
    }
  }

  #draw({ label, permalink_url: link, line_items: lines, events, totals: entries }) {
    const total = entries.find((it) => it.type === "total")?.price;
    const date = (at) => (at ? new Date(at).toLocaleString() : "");
    return [
      h("h3", {}, `Order ${label ?? ""}`),
      h("ul", { class: "lines" }, lines.map(({ title, image, quantity, status }) => h("li", {}, picture(image, 48), h("span", { class: "what" }, `${quantity} × ${title}`), h("span", { class: "status" }, status ?? "")))),
      events.map(({ type, at, carrier, tracking_number: number, tracking_url: url }) =>
        h("p", { class: "delivery" }, `${type} ${date(at)} ${carrier ?? ""} `, url ? out(url, number ?? "track it") : (number ?? "")),
      ),
      h("p", { class: "price" }, total ?? ""),
      link && h("p", {}, out(link, "See it at the shop")),
    ];
  }
}
