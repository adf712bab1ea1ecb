// The server, as the page knows it: it sends ids and choices there, and shows what comes back.

let token = "";

/** An answer that says what is wrong. */
export class Problem extends Error {
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Problem("offline", "There is no connection. Please try again.");
  }
  const body = response.headers.get("content-type")?.includes("json") ? await response.json() : null;
  if (!response.ok) throw new Problem(body?.code ?? "failed", body?.text ?? "That did not work. Please try again.");
  return body;
}

export const get = (path) => ask(path);

export const post = (path, body = {}) =>
  ask(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf-token": token },
    body: JSON.stringify(body),
  });

/** Begins a session, or goes on with the one there is. */
export async function session() {
  const found = await get("/api/session");
  token = found.token;
  return found;
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Every event of a conversation after an index, each once and in order, for as long as the signal
 * lasts. A stream that breaks off is taken up after the last event that arrived.
 */
export async function* events(conversation, after, signal) {
  let wait = 250;
  while (!signal.aborted) {
    try {
      const response = await fetch(`/api/conversations/${conversation}/events?after=${after}`, { signal });
      if (response.status === 404) return;
      if (!response.ok) throw new Problem("failed", "no events");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        wait = 250;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) {
          if (!line) continue; // the server is alive
          const event = JSON.parse(line);
          if (event.seq <= after) continue;
          after = event.seq;
          yield event;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      console.info("The events broke off; asking again.", error.message);
    }
    await pause(wait);
    wait = Math.min(wait * 2, 5000);
  }
}
