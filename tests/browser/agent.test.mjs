// The commerce agent in a browser: every branch of a checkout, and what goes wrong on the way.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { error, fillIn, leave, look, prepare, quiet, say, Stage, until } from "./stage.mjs";

let stage;
before(async () => (stage = await Stage.set()));
after(() => stage?.strike());

const texts = (page, selector) => page.locator(selector).allInnerTexts();
const answers = (page) => page.locator(".said.agent").allTextContents();

test("from the first word to the shipped order", async () => {
  const page = await stage.buyer();
  await look(page, "start");
  await page.evaluate(() => {
    globalThis.shown = new Promise((resolve) => {
      const log = document.getElementById("log");
      new MutationObserver(() => resolve(performance.now())).observe(log, { childList: true, subtree: true });
    });
  });
  await page.getByLabel("Message", { exact: true }).fill("coffee");
  const waited = await page.evaluate(async () => {
    const sent = performance.now();
    document.getElementById("compose").requestSubmit();
    return (await globalThis.shown) - sent;
  });
  console.log(`first event after ${waited.toFixed(1)} ms`);
  assert.ok(waited < 200, `the first event took ${waited} ms`);
  await quiet(page);
  assert.equal(await page.locator(".product").count(), 4);
  await look(page, "search");

  // What is missing is mended in a form, step by step.
  await page.getByRole("button", { name: "Buy Stoneware Mug" }).click();
  await until(page, "update");
  await quiet(page);
  assert.deepEqual(await texts(page, "#checkout .blocker"), ["The buyer's e-mail address is missing.", "Select where the goods go."]);
  await look(page, "blockers", { fullPage: true });
  await fillIn(page, { "E-mail": "ada@example.com", "Street and number": "1 Main Street", Country: "us" });
  await page.getByRole("radio", { name: /Express/ }).check();
  await page.getByRole("button", { name: "Continue" }).click();

  // The totals are the shop's, in its order and words.
  await until(page, "complete");
  assert.deepEqual(await texts(page, "#checkout .totals tr"), [
    "Subtotal\t14.99 USD",
    "Delivery\t15.00 USD",
    "Tax\t1.50 USD",
    "Total\t31.49 USD",
  ]);
  assert.deepEqual(await texts(page, "#checkout .delivery"), ["Express → 1 Main Street, US", "ada@example.com"]);
  await say(page, "the code SUMMER10");
  await page.getByRole("button", { name: "Place order · 29.84 USD" }).waitFor();
  await quiet(page);
  await look(page, "confirm");

  // A card that is declined can be exchanged.
  await page.getByRole("radio", { name: /declined/ }).check();
  await page.getByRole("button", { name: /^Place order/ }).click();
  await page.getByText("The issuer declined.").waitFor();
  assert.deepEqual(await stage.orders(), []);
});

test("a double click places one order, and the shop's news of it arrive", async () => {
  const page = await stage.buyer();
  await prepare(page);
  await until(page, "complete");
  // Both clicks before the page can do anything about them, and once more past the page.
  await page.evaluate(() => {
    const button = document.querySelector("button.place");
    button.click();
    button.click();
  });
  await until(page, "completed");
  await page.locator("article.order").getByText("processing").waitFor();
  const [order, ...others] = await stage.orders();
  assert.deepEqual(others, []);
  await quiet(page);
  assert.match((await answers(page)).at(-1), new RegExp(`Your order ${order.label} is placed`));
  await look(page, "completed");
  await stage.ship(order.id);
  await page.locator("article.order").getByText("fulfilled").waitFor();
  await page.locator("article.order").getByText(/Sandbox Post/).waitFor();
  await look(page, "shipped");
  assert.deepEqual(page.complaints, []);
});

test("two clicks past the page place one order as well", async () => {
  const before = (await stage.orders()).length;
  const page = await stage.buyer();
  await prepare(page);
  await until(page, "complete");
  const statuses = await page.evaluate(async () => {
    const { token, conversation } = await (await fetch("/api/session")).json();
    const base = `/api/conversations/${conversation}`;
    const events = await (await fetch(`${base}/events`)).body.getReader().read();
    const lines = new TextDecoder().decode(events.value).trim().split("\n").map((line) => JSON.parse(line));
    const id = lines.find(({ kind }) => kind === "screen").body.checkout;
    const { digest } = await (await fetch(`${base}/checkouts/${id}`)).json();
    const post = (path, body) =>
      fetch(`${base}/checkouts/${id}/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-csrf-token": token },
        body: JSON.stringify(body),
      });
    const other = await post("confirm", { digest: digest.replace(/^./, (it) => (it === "0" ? "1" : "0")), instrument: "card-1" });
    const both = await Promise.all([1, 2].map(() => post("confirm", { digest, instrument: "card-1" })));
    return [other.status, ...both.map(({ status }) => status)];
  });
  assert.deepEqual(statuses, [409, 200, 200]);
  await until(page, "completed");
  assert.equal((await stage.orders()).length, before + 1);
});

test("the buyer finishes at the shop", async () => {
  const page = await stage.buyer();
  await stage.script({ next: "create_checkout" }, [error("requires_buyer_review", "high_value_order", "Please approve this order.")]);
  await say(page, "buy a gift card");
  // What can be mended here comes first.
  await until(page, "continue_url");
  await fillIn(page, { "E-mail": "ada@example.com" });
  const link = page.getByRole("link", { name: /^Finish at/ });
  await link.waitFor();
  await quiet(page);
  await look(page, "continue-url");
  const [shop] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
  assert.equal(await shop.evaluate(() => document.referrer), "");
  assert.equal(await shop.evaluate(() => globalThis.opener), null);
  await shop.getByRole("button", { name: "Approve and buy" }).click();
  await shop.locator("#done").waitFor();
  await leave(shop);
  await until(page, "completed");
  await page.locator("article.order").waitFor();
  assert.deepEqual(page.complaints, []);
});

test("the buyer answers at the shop, and orders here", async () => {
  const page = await stage.buyer();
  await stage.script({ next: "update_checkout" }, [error("requires_buyer_input", "age_check", "Please confirm your age.")]);
  await prepare(page);
  const link = page.getByRole("link", { name: /^Finish at/ });
  const [shop] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
  await shop.getByRole("checkbox").check();
  await shop.getByRole("button", { name: "Confirm" }).click();
  await leave(shop);
  await until(page, "complete");
  await page.getByRole("button", { name: /^Place order/ }).click();
  await until(page, "completed");
});

/** Brings the page to where the shop's checkout is in a frame. */
async function framed(page) {
  await stage.script({ next: "create_checkout" }, [
    error("requires_buyer_review", "high_value_order", "Please approve this order."),
    { embedded: { delegate: ["payment.credential", "window.open"], color_scheme: ["light", "dark"] } },
  ]);
  await prepare(page, "embedded");
  const frame = page.frameLocator("#checkout iframe");
  await frame.getByRole("button", { name: "Approve and buy" }).waitFor();
  return frame;
}

test("the shop's checkout in a frame", async () => {
  const before = (await stage.orders()).length;
  const page = await stage.buyer({ colorScheme: "dark" });
  await page.evaluate(() => {
    globalThis.heard = [];
    addEventListener("message", ({ data }) => globalThis.heard.push(data.method));
  });
  const frame = await framed(page);
  const source = new URL(await page.locator("#checkout iframe").getAttribute("src"));
  assert.equal(source.searchParams.get("ec_version"), "2026-04-08");
  assert.equal(source.searchParams.get("ec_delegate"), "payment.credential,window.open");
  assert.equal(source.searchParams.get("ec_color_scheme"), "dark");
  await page.waitForFunction(() => globalThis.heard.includes("ec.start"));
  await quiet(page);
  await look(page, "embedded");

  // Whatever else is asked is refused, in the protocol's own words.
  const inside = page.frames().find((it) => it.parentFrame());
  const replies = await inside.evaluate(() => {
    const asked = ["ec.fulfillment.address_change_request", "ec.auth", "ec.unheard_of"];
    const reply = (method) =>
      new Promise((resolve) => {
        addEventListener("message", ({ data }) => data.id === method && resolve(data.result?.messages[0].code ?? data.error.code));
        parent.postMessage({ jsonrpc: "2.0", id: method, method, params: {} }, "*");
      });
    return Promise.all(asked.map(reply));
  });
  assert.deepEqual(replies, ["not_supported_error", "not_supported_error", -32601]);

  // Links are opened by the buyer or not at all.
  await frame.getByRole("link", { name: "Terms of service" }).click();
  await page.getByRole("dialog").getByText(`${stage.shop}/terms`).waitFor();
  await look(page, "embedded-link");
  const [opened] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("button", { name: "Open it" }).click()]);
  assert.equal(opened.url(), `${stage.shop}/terms`);
  await leave(opened);
  await frame.getByRole("link", { name: "Privacy" }).click();
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await frame.getByText("That page could not be opened.").waitFor();

  // The payment is the buyer's to agree to.
  await frame.getByRole("button", { name: "Approve and buy" }).click();
  const dialog = page.getByRole("dialog", { name: "Pay the shop?" });
  await dialog.getByText("25.00 USD").first().waitFor();
  await look(page, "embedded-pay");
  await dialog.getByRole("button", { name: "No" }).click();
  await frame.getByText("The payment was not approved.").waitFor();
  assert.equal((await stage.orders()).length, before);
  await frame.getByRole("button", { name: "Approve and buy" }).click();
  await page.getByRole("button", { name: "Agree and pay" }).click();
  await until(page, "completed");
  assert.ok(await page.evaluate(() => globalThis.heard.includes("ec.complete")));
  assert.equal((await stage.orders()).length, before + 1);
  await page.locator("article.order").waitFor();
  assert.equal(await page.locator("iframe").count(), 0);
  assert.deepEqual(page.complaints, []);
});

test("a message that is not from the frame has no effect", async () => {
  const before = (await stage.orders()).length;
  const page = await stage.buyer();
  await framed(page);
  const forgery = `
    const page = opener ?? parent;
    const targets = [page, ...Array.from({ length: page.length }, (_, index) => page[index])];
    globalThis.answers = [];
    addEventListener("message", ({ data, source }) => source !== window && answers.push(data));
    const say = (message) => targets.forEach((it) => it.postMessage({ jsonrpc: "2.0", ...message }, "*"));
    for (const method of ["ec.complete", "ec.error", "ec.messages.change"]) say({ method, params: {} });
    for (const method of ["ec.ready", "ec.payment.credential_request", "ec.window.open_request"])
      say({ id: method, method, params: { url: "https://evil.example/" } });
    document.title = "sent";
  `;
  const forge = `<script>${forgery}</script>`;
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(forge));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const evil = `http://127.0.0.1:${server.address().port}/`;
  let requests = 0;
  page.on("request", (request) => (requests += request.url().includes("/checkouts/")));
  // The page's own policies cut the opener off and keep the frame at the shop: without them is the worst case.
  await page.route(stage.origin + "/", async (route) => {
    const response = await route.fetch();
    const headers = { ...response.headers() };
    delete headers["cross-origin-opener-policy"];
    delete headers["content-security-policy"];
    await route.fulfill({ response, headers });
  });
  requests = 0;
  await page.reload();
  await page.frameLocator("#checkout iframe").getByRole("button", { name: "Approve and buy" }).waitFor();
  await quiet(page);
  // One to show the checkout, and one because the shop's own page said `ec.start`.
  while (requests < 2) await page.waitForTimeout(20);
  requests = 0;
  const [window] = await Promise.all([page.context().waitForEvent("page"), page.evaluate((url) => void open(url), evil)]);
  await window.waitForFunction(() => document.title === "sent");
  assert.ok(await window.evaluate(() => globalThis.opener !== null), "it does have a hold of the page");
  // The right origin in the wrong window.
  const [other] = await Promise.all([page.context().waitForEvent("page"), page.evaluate((url) => void open(url), `${stage.shop}/terms`)]);
  await other.evaluate(forgery);
  // The right frame at the wrong origin: it went elsewhere.
  await page.evaluate((url) => void (document.querySelector("iframe").src = url), evil);
  const inside = page.frames().find((frame) => frame.parentFrame());
  await inside.waitForFunction(() => document.title === "sent");
  await page.waitForTimeout(500);
  for (const forger of [window, other, inside]) assert.deepEqual(await forger.evaluate(() => globalThis.answers), []);
  assert.equal(await page.locator("dialog").count(), 0);
  assert.equal(await page.locator("#checkout").getAttribute("data-state"), "embedded");
  assert.equal(await page.locator("#checkout iframe").count(), 1);
  assert.equal(requests, 0, "nothing was asked because of it");
  assert.equal((await stage.orders()).length, before);
  await leave(window);
  await leave(other);
  server.close();
});

test("a frame that fails gives way to the shop's own page", async () => {
  const page = await stage.buyer();
  await stage.script({ next: "create_checkout" }, [
    error("requires_buyer_review", "high_value_order", "Please approve this order."),
    { embedded: { delegate: [] } },
  ]);
  // The shop's page reports a failure of its session as soon as it may speak.
  await page.route("**/embedded.js", (route) =>
    route.request().url().startsWith(stage.shop)
      ? route.fulfill({
          contentType: "text/javascript",
          body: `parent.postMessage({ jsonrpc: "2.0", method: "ec.error", params: { error: {} } }, "*");`,
        })
      : route.continue(),
  );
  await prepare(page, "embedded");
  await page.getByRole("link", { name: /^Finish at/ }).waitFor();
  assert.equal(await page.locator("iframe").count(), 0);
});

test("disclosures stand beside what they are about, and declining is remembered", async () => {
  const page = await stage.buyer();
  await stage.script({ next: "create_checkout" }, [
    { disclosure: { code: "prop65", content: "WARNING: this product is made of paper.", path: "$.line_items[0]" } },
    { disclosure: { code: "final_sale", content: "No returns.", path: "$.totals" } },
    { disclosure: { code: "terms", content: "A subscription begins.", path: "$" } },
  ]);
  await prepare(page);
  await until(page, "complete");
  assert.equal(await page.locator(".lines li .disclosure[data-code=prop65]").textContent(), "WARNING: this product is made of paper. Read more (opens a new tab)");
  assert.equal(await page.locator(".totals + .disclosure").getAttribute("data-code"), "final_sale");
  assert.equal(await page.locator("#checkout-top > .disclosure[data-code=terms]").count(), 1);
  await quiet(page);
  await look(page, "disclosures");
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByText("You chose not to order this.").waitFor();
  await quiet(page);
  assert.match((await answers(page)).at(-1), /I do not order it/);
  await page.reload();
  await page.getByText("You chose not to order this.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Not now" }).count(), 0);
  await look(page, "declined");
  // It can be thought over.
  await page.getByRole("button", { name: /^Place order/ }).click();
  await until(page, "completed");
});

test("waiting, and giving up", async () => {
  const page = await stage.buyer();
  await stage.script({ next: "complete_checkout" }, [{ complete_in_progress: { reads: 3 } }]);
  await prepare(page);
  await page.getByRole("button", { name: /^Place order/ }).click();
  await until(page, "poll");
  await look(page, "waiting");
  await until(page, "completed");

  const other = await stage.buyer();
  await prepare(other);
  await until(other, "complete");
  await other.getByRole("button", { name: "Give it up" }).click();
  await until(other, "canceled");
  await quiet(other);
  await look(other, "canceled");
  assert.deepEqual(page.complaints.concat(other.complaints), []);
});

test("failing", async () => {
  const page = await stage.buyer();
  await prepare(page);
  await until(page, "complete");
  // For the next reads, whoever makes them: the page asks again by itself when there is news.
  for (let read = 0; read < 4; read++)
    await stage.script({ next: "get_checkout" }, [{ envelope: { code: "not_found", content: "This checkout is gone.", continue_url: true } }]);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await until(page, "failed");
  await page.getByText("Nothing was ordered.").waitFor();
  await look(page, "failed");
  for (let read = 0; read < 4 && (await page.locator("#checkout[data-state=failed]").count()) > 0; read++) {
    const answered = page.waitForResponse((response) => response.url().includes("/checkouts/"));
    await page.getByRole("button", { name: "Ask the shop again" }).click();
    await answered;
    await page.waitForTimeout(50);
  }
  await until(page, "complete");
});

test("totals that change between the look and the click are shown again", async () => {
  const before = (await stage.orders()).length;
  const page = await stage.buyer();
  await prepare(page);
  await until(page, "complete");
  await stage.script({ next: "get_checkout" }, [
    { patch: { totals: [{ type: "subtotal", display_text: "Subtotal", amount: 2600 }, { type: "total", display_text: "Total", amount: 2600 }] } },
  ]);
  await page.getByRole("button", { name: /^Place order/ }).click();
  await page.getByText("The shop changed something.").waitFor();
  assert.equal((await stage.orders()).length, before);
});

test("an answer that is lost places one order", async () => {
  const before = (await stage.orders()).length;
  const page = await stage.buyer();
  await stage.script({ next: "complete_checkout" }, ["lose_answer"]);
  await prepare(page);
  await page.getByRole("button", { name: /^Place order/ }).click();
  await until(page, "completed");
  assert.equal((await stage.orders()).length, before + 1);
});

test("signing in, or not", async () => {
  const page = await stage.buyer();
  await stage.script({ next: "create_checkout" }, [{ refuse: { status: 401, code: "unauthorized" } }]);
  await say(page, "buy a gift card");
  await page.getByRole("group", { name: "Sign in at the shop" }).waitFor();
  await quiet(page);
  await look(page, "sign-in");
  await page.reload();
  await page.getByRole("button", { name: "I signed in, try again" }).click();
  await until(page, "update");
  assert.equal(await page.locator(".sign-in").count(), 0);

  const other = await stage.buyer();
  await stage.script({ next: "search_catalog" }, [{ refuse: { status: 401, code: "unauthorized" } }]);
  await say(other, "mugs");
  await other.getByRole("button", { name: "Go on without" }).click();
  await other.locator(".said", { hasText: "we go on without that" }).waitFor();
  await other.reload();
  await other.getByText("You chose not to sign in").waitFor();
  assert.equal(await other.locator(".sign-in").count(), 0);
});

test("on a phone, by keyboard alone", async () => {
  const page = await stage.buyer({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const reach = async (name) => {
    for (let step = 0; step < 60; step++) {
      await press("Tab");
      const found = await page.evaluate((name) => {
        const at = document.activeElement;
        return new RegExp(name).test(at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent);
      }, name);
      if (found) return;
    }
    throw new Error(`${name} is not reached by the Tab key`);
  };
  await press("Tab", "Enter"); // past the header
  await page.keyboard.type("gift card");
  await press("Enter");
  await quiet(page);
  await look(page, "phone-search");
  await page.evaluate(() => document.activeElement.blur());
  await reach("Buy Gift Card");
  await press("Enter");
  await until(page, "update");
  await reach("^E-mail");
  await page.keyboard.type("ada@example.com");
  await press("Enter");
  await until(page, "complete");
  await quiet(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `the page is ${wide} wide`);
  await look(page, "phone-confirm", { fullPage: true });
  await reach("^Place order");
  await press("Enter");
  await until(page, "completed");
});

test("another buyer sees nothing of it, and another page can do nothing", async () => {
  const page = await stage.buyer();
  await prepare(page);
  await until(page, "complete");
  const conversation = await page.evaluate(async () => (await (await fetch("/api/session")).json()).conversation);
  const other = await stage.buyer();
  const status = await other.evaluate(async (id) => (await fetch(`/api/conversations/${id}/events`)).status, conversation);
  assert.equal(status, 404);
  const foreign = await page.context().newPage();
  await foreign.goto(stage.shop);
  const sent = await foreign.evaluate(async (origin) => {
    // As far as another page gets: a simple request, with what cookies the browser sends along.
    await fetch(`${origin}/api/conversations`, { method: "POST", mode: "no-cors", credentials: "include", body: "{}" }).catch(() => {});
    return fetch(`${origin}/api/session`, { credentials: "include" }).then(
      () => "read",
      () => "refused",
    );
  }, stage.origin);
  assert.equal(sent, "refused");
  const still = await page.evaluate(async () => (await (await fetch("/api/session")).json()).conversation);
  assert.equal(still, conversation);
});
