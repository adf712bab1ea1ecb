// What the tests stand on: the sandbox merchant and the agent as programs of their own, and a browser.

import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const root = new URL("../..", import.meta.url).pathname;
const programs = resolve(root, process.env.CARGO_TARGET_DIR ?? "target", "debug");
/** Where pictures go. */
export const screens = process.env.SCREENS ?? join(root, "tests/browser/screens");
/** What was started, which does not outlive the tests. */
const children = new Set();
process.once("exit", () => children.forEach((child) => child.kill("SIGKILL")));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Starts a program and gives what its first line that matches says. */
async function start(program, options, pattern) {
  const child = spawn(join(programs, program), options, { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  const over = new Promise((resolve) => child.once("exit", resolve)).then(() => children.delete(child));
  for await (const line of createInterface({ input: child.stdout })) {
    const found = pattern.exec(line);
    if (found) return { child, over, said: found[1] };
  }
  throw new Error(`${program} ended before it was ready`);
}

async function stop({ child, over }, signal = "SIGTERM") {
  child.kill(signal);
  await over;
}

/** A merchant with an agent, and a browser to look at them with. */
export class Stage {
  static async set({ pace = 1 } = {}) {
    const stage = new Stage();
    stage.data = mkdtempSync(join(tmpdir(), "commerce-agent-"));
    stage.merchantProgram = await start("merchant", [], /^(http:\S+?)\/\.well-known/);
    stage.shop = stage.merchantProgram.said;
    stage.pace = pace;
    await stage.startAgent(0);
    stage.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      // The last one: a page that a test answers in the server's place may load what is on this machine.
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-features=LocalNetworkAccessChecks"],
    });
    return stage;
  }

  async startAgent(port) {
    const options = ["--merchant", this.shop, "--data", this.data, "--port", String(port), "--pace", String(this.pace)];
    this.agent = await start("commerce-agent", options, /^Open (http:\S+)\/$/);
    this.origin = this.agent.said;
  }

  /** Kills the agent and starts it again where it was. */
  async restart() {
    await stop(this.agent, "SIGKILL");
    await this.startAgent(Number(new URL(this.origin).port));
  }

  async strike() {
    await this.browser?.close();
    await stop(this.agent);
    await stop(this.merchantProgram);
    rmSync(this.data, { recursive: true, force: true });
  }

  /** A buyer of their own. What the page complains about is remembered. */
  async buyer(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1120, height: 800 }, ...options });
    const page = await context.newPage();
    page.complaints = [];
    page.on("pageerror", (error) => page.complaints.push(String(error)));
    page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
    page.setDefaultTimeout(10_000);
    await page.goto(this.origin);
    await page.waitForSelector("body[data-ready]");
    return page;
  }

  async script(target, stimuli) {
    const response = await fetch(`${this.shop}/sandbox/script`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ target, stimuli }),
    });
    assert.equal(response.status, 204, await response.text());
  }

  async orders() {
    return (await fetch(`${this.shop}/sandbox/orders`)).json();
  }

  async ship(order) {
    const response = await fetch(`${this.shop}/sandbox/orders/${order}/ship`, { method: "POST" });
    assert.equal(response.status, 204);
  }
}

export const error = (severity, code, content, path) => ({ error: { severity, code, content, ...(path && { path }) } });

export async function say(page, text) {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** Waits until the checkout stands so. */
export async function until(page, state) {
  await page.waitForSelector(`#checkout[data-state="${state}"]`);
}

/** Waits until nobody is at work. */
export async function quiet(page) {
  await page.waitForFunction(() => document.getElementById("log").getAttribute("aria-busy") === "false");
}

export async function fillIn(page, fields) {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
  await page.getByRole("button", { name: "Continue" }).click();
}

/** Closes a window. Chromium can lose the wish while a page is still loading. */
export async function leave(window) {
  await window.waitForLoadState();
  await window.close();
}

/** Brings a gift card, which needs no parcel, to where only its order is to be placed. */
export async function prepare(page, state = "update") {
  await say(page, "buy a gift card");
  await until(page, state);
  await fillIn(page, { "E-mail": "ada@example.com" });
}

/** Takes a picture in light and in dark, and has axe look at both. */
export async function look(page, name, options = {}) {
  mkdirSync(screens, { recursive: true });
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(screens, `${name}-${colorScheme}.png`), ...options });
    const serious = await violations(page);
    assert.deepEqual(serious, [], `${name} in ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: null });
}

async function violations(page) {
  // Not as a script element, which the page's policy does not let run.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { iframes: false }));
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
}
