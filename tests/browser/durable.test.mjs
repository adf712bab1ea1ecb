// What a reload and a killed server leave behind: everything, and nothing twice.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { look, prepare, quiet, say, Stage, until } from "./stage.mjs";

let stage;
before(async () => (stage = await Stage.set({ pace: 120 })));
after(() => stage?.strike());

const said = (page) => page.locator("#log > *:not(.busy)").allTextContents();
const answer = (page) => page.locator(".said.agent").last();
const HELP = "I can look for things, prepare an order, and tell you how it is going.";

/** Waits until the agent is in the middle of what it says. */
async function middle(page) {
  await page.waitForFunction(() => document.querySelector(".said.agent")?.textContent.includes("prepare"));
}

test("a reload in mid-answer", async () => {
  const page = await stage.buyer();
  await say(page, "hello");
  await middle(page);
  await look(page, "streaming");
  await page.reload();
  await middle(page);
  await quiet(page);
  const [buyer, agent, ...others] = await said(page);
  assert.equal(buyer, "You: hello");
  assert.ok(agent.startsWith(`Agent: ${HELP}`), agent);
  assert.equal(agent.split("I can look").length, 2, "nothing is said twice");
  assert.deepEqual(others, []);
});

test("a server that is killed in mid-answer", async () => {
  const page = await stage.buyer();
  await say(page, "hello");
  await middle(page);
  const before = await answer(page).textContent();
  await stage.restart();
  // The page goes on by itself, and the answer where it was.
  await quiet(page);
  const after = await answer(page).textContent();
  assert.ok(after.startsWith(before), `${before} … ${after}`);
  assert.equal(after.split("I can look").length, 2);
  assert.equal((await said(page)).length, 2);
  const events = await page.evaluate(async () => {
    const { conversation } = await (await fetch("/api/session")).json();
    const { value } = await (await fetch(`/api/conversations/${conversation}/events`)).body.getReader().read();
    return new TextDecoder().decode(value).trim().split("\n").map((line) => JSON.parse(line));
  });
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  );
  assert.equal(events.filter(({ kind }) => kind === "restarted").length, 0);
  const text = events.filter(({ kind }) => kind === "text").map(({ body }) => body.delta).join("");
  assert.equal(`Agent: ${text}`.trim(), after.trim());
});

test("a server that is killed between the tool and the answer", async () => {
  const page = await stage.buyer();
  await say(page, "buy a gift card");
  await page.waitForFunction(() => document.querySelector(".said.agent")?.textContent.includes("prepared"));
  await stage.restart();
  await quiet(page);
  await until(page, "update");
  const calls = (await said(page)).filter((line) => line.startsWith("Preparing the order"));
  assert.equal(calls.length, 1);
});

test("a server that is killed while the order is placed", async () => {
  const page = await stage.buyer();
  await prepare(page);
  await until(page, "complete");
  await quiet(page);
  // The shop acts, its answer is lost, and the agent is dead before it can ask.
  await stage.script({ next: "complete_checkout" }, ["lose_answer"]);
  await page.getByRole("button", { name: /^Place order/ }).click();
  while ((await stage.orders()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await stage.restart();
  await until(page, "completed");
  await quiet(page);
  assert.equal((await stage.orders()).length, 1);
  const outcomes = (await said(page)).filter((line) => line.startsWith("You placed the order"));
  assert.equal(outcomes.length, 1);
});
