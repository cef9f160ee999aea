import { createTelemetry } from "@svc/telemetry";
import { aManifest, aTool } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEvents } from "../src/events/events.ts";
import { registerAgent, type Sent, startPlane, type TestApp } from "./support.ts";

const plane = await startPlane();
afterAll(() => plane.stop());

const lines: string[] = [];
const telemetry = createTelemetry({
  app: "control_plane",
  version: "1.2.3",
  config: { key: "k", dev: true, discloseIdentities: false, logLevel: "info", otel: {} },
  io: { logDestination: { write: (line) => void lines.push(line) } },
});
const events = createEvents(telemetry);
const loggingApp = plane.with({ events });
const limited = plane.with({ events, limits: { bearer: async () => 1, session: async () => 1 } });
afterAll(() => telemetry.shutdown());

let token: string;
beforeAll(async () => {
  await registerAgent(plane, "clerk", aManifest("books", { tools: [aTool("http:books/read")] }));
  token = String((await plane.send("/v1/consent", { body: { scope: "books", user_sub: "ada" } })).json.root_grant);
});

const doors = [
  ["/v1/authorize", "authorize rejected: bearer, rate or body"],
  ["/v1/token/renew", "renewal rejected: bearer, rate or body"],
  ["/v1/token/transaction", "mint rejected: bearer, rate or body"],
] as const;

/** Rejections before a command. */
const ways: readonly (readonly [string, () => Promise<Sent>, TestApp, number])[] = [
  ["without a bearer", async () => ({ token: "", body: {} }), loggingApp, 401],
  ["with an unknown bearer", async () => ({ token: "x".repeat(40), body: {} }), loggingApp, 401],
  ["with a malformed body", async () => ({ token, body: "{" }), loggingApp, 400],
  [
    "with a body of another type",
    async () => ({ token, body: "x", headers: { "content-type": "text/plain" } }),
    loggingApp,
    415,
  ],
  [
    "with a compressed body",
    async () => ({ token, body: "x", headers: { "content-encoding": "gzip" } }),
    loggingApp,
    415,
  ],
  ["over its rate", async () => ({ token, body: {} }), limited, 429],
];

/** Level and message of every log line, and the whole text. */
async function logged(act: () => Promise<unknown>) {
  lines.length = 0;
  await act();
  const messages = lines.map((line) => JSON.parse(line) as { level: string; msg: string });
  return { messages: messages.map(({ level, msg }) => [level, msg]), text: lines.join("") };
}

describe("a hop that is rejected before its command is one log line", () => {
  const cases = doors.flatMap(([path, message]) =>
    ways.map(([way, sent, app, status]) => ({ path, message, way, sent, app, status })),
  );

  // The mint accepts another kind of token only: it is 401 there.
  test.each(cases)("$path $way", async ({ path, message, sent, app, status }) => {
    const { messages, text } = await logged(async () => {
      const answer = await app.send(path, { method: "POST", ...(await sent()) });
      expect(answer.status).toBe(path === "/v1/token/transaction" ? 401 : status);
    });
    expect(messages).toEqual([["info", message]]);
    expect(text).not.toContain(token);
  });

  test.each([
    ["with a malformed form", { body: "a=%zz" }],
    ["with an incomplete form", { body: "a=1" }],
    ["of another type", { body: "{}", headers: { "content-type": "application/json" } }],
  ])("an exchange %s", async (_way, sent) => {
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const { messages } = await logged(() =>
      loggingApp.send("/v1/token/exchange", { method: "POST", token: "", headers: form, ...sent }),
    );
    expect(messages).toEqual([["info", "exchange rejected: form or rate"]]);
  });
});

test("a renewal is one log line with its result", async () => {
  const { messages } = await logged(() => loggingApp.send("/v1/token/renew", { token, body: { count: 1 } }));
  expect(messages).toEqual([["info", "token renewed"]]);
});
