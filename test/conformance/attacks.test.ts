import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./src/api.ts";
import { clerkSession, registerLedger } from "./src/ledger.ts";
import { startOne } from "./src/stack.ts";

let api: Api;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ api, stop } = await startOne());
  await registerLedger(api, "books");
}, 60_000);
afterAll(() => stop());

describe("a tool's token is for that tool and for the mint alone", () => {
  test("authorize and renew answer 401, the exchange invalid_request, and nothing is recorded", async () => {
    const { session, clerk, hops } = await clerkSession(api, "books");
    const tool = await api.hop(session, clerk.token, hops.read);
    const before = (await api.decisions(`session_id=${session}`)).body.data.length;
    expect((await api.authorize(session, tool.token, hops.read)).status).toBe(401);
    expect((await api.renew(tool.token, 1)).status).toBe(401);
    const exchanged = await api.exchange(tool.token, hops.read, tool.action);
    expect([exchanged.status, exchanged.body.error]).toEqual([400, "invalid_request"]);
    expect((await api.decisions(`session_id=${session}`)).body.data).toHaveLength(before);
  });
});

describe("a spent token buys nothing more", () => {
  test("neither a renewal nor an exchange, and it leaves no mark", async () => {
    const { session, planner, clerk, hops } = await clerkSession(api, "books");
    expect((await api.renew(planner.token, 1)).body.error.code).toBe("token_spent");
    const again = await api.authorize(session, planner.token, hops.clerk, { taint: "untrusted_external" });
    expect((await api.exchange(planner.token, hops.clerk, again.body.action_id)).status).toBe(400);
    const clean = await api.authorize(session, clerk.token, hops.read);
    expect(clean.body.taint).toBe("trusted_internal");
  });

  test("a renewed token is spent by its own renewal", async () => {
    const { clerk } = await clerkSession(api, "books");
    expect((await api.renew(clerk.token, 2)).status).toBe(200);
    expect((await api.renew(clerk.token, 2)).body.error.code).toBe("token_spent");
  });
});

describe("a privileged call is bound to its parameters once", () => {
  test("a second mint is refused, with other parameters and with the same", async () => {
    const { session, clerk, hops } = await clerkSession(api, "books");
    const tool = await api.hop(session, clerk.token, hops.post);
    expect((await api.mint(tool.token, tool.action, { amount: 1 })).status).toBe(200);
    expect((await api.mint(tool.token, tool.action, { amount: 1 })).body.error.code).toBe("already_minted");
    expect((await api.mint(tool.token, tool.action, { amount: 2 })).body.error.code).toBe("already_minted");
  });

  test("of 16 parallel mints one succeeds", async () => {
    const { session, clerk, hops } = await clerkSession(api, "books");
    const tool = await api.hop(session, clerk.token, hops.post);
    const answers = await Promise.all(Array.from({ length: 16 }, (_, n) => api.mint(tool.token, tool.action, { n })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(409)]);
  });

  test("another token's action is not found, an unprivileged one needs none", async () => {
    const { session, clerk, hops } = await clerkSession(api, "books");
    const [a, b] = (await api.renew(clerk.token, 2)).body.tokens;
    const post = await api.hop(session, a, hops.post);
    const read = await api.hop(session, b, hops.read);
    expect((await api.mint(read.token, post.action, {})).body.error.code).toBe("action_not_found");
    expect((await api.mint(read.token, read.action, {})).body.error.code).toBe("transaction_not_required");
  });

  test.each([
    ["a repeated member", '{"a":1,"a":2}', 422, "params_unbindable"],
    ["a repeated member deep inside", '{"a":[{"b":1,"b":1}]}', 422, "params_unbindable"],
    ["a number beyond a double", '{"a":1e400}', 422, "params_unbindable"],
    ["an integer that a double changes", '{"a":9007199254740993}', 422, "params_unbindable"],
    ["a lone surrogate", '{"a":"\\ud800"}', 422, "params_unbindable"],
    ["nesting of 65", `{"a":${"[".repeat(64)}${"]".repeat(64)}}`, 422, "params_unbindable"],
    ["an array", "[1]", 400, "invalid_request"],
    ["null", "null", 400, "invalid_request"],
    ["a string", '"x"', 400, "invalid_request"],
  ])("%s cannot be bound and mints nothing", async (_case, params, status, code) => {
    const { session, clerk, hops } = await clerkSession(api, "books");
    const tool = await api.hop(session, clerk.token, hops.post);
    const answer = await api.call("POST", "/v1/token/transaction", {
      bearer: tool.token,
      raw: {
        body: `{"action_id":"${tool.action}","params":${params}}`,
        headers: { "content-type": "application/json" },
      },
    });
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect((await api.mint(tool.token, tool.action, { a: 1 })).status).toBe(200);
  });

  test("members named __proto__ and constructor are bound like any other", async () => {
    const { session, clerk, hops } = await clerkSession(api, "books");
    const [a, b] = (await api.renew(clerk.token, 2)).body.tokens;
    const hashes = [];
    for (const [token, params] of [
      [a, '{"__proto__":{"x":1}}'],
      [b, '{"constructor":{"x":1}}'],
    ] as const) {
      const tool = await api.hop(session, token, hops.post);
      const answer = await api.call("POST", "/v1/token/transaction", {
        bearer: tool.token,
        raw: {
          body: `{"action_id":"${tool.action}","params":${params}}`,
          headers: { "content-type": "application/json" },
        },
      });
      hashes.push((decodeJwt(answer.body.transaction_token).tctx as { params_hash: string }).params_hash);
    }
    expect(new Set(hashes).size).toBe(2);
  });
});

describe("no token outlives its session", () => {
  test("a renewal near the end is cut to what is left, for the root grant and for an agent's token", async () => {
    const { session, token, body } = await api.consent("books", { ttl_seconds: 60 });
    const end = Date.parse(body.expires_at) / 1000;
    const [root, spare] = (await api.renew(token, 2)).body.tokens;
    expect(decodeJwt(root).exp).toBeLessThanOrEqual(end);
    const { hops } = await clerkSession(api, "books");
    const planner = await api.hop(session, spare, hops.planner);
    expect(decodeJwt(planner.token).exp).toBeLessThanOrEqual(end);
    const [sibling] = (await api.renew(planner.token, 1)).body.tokens;
    expect(decodeJwt(sibling).exp).toBeLessThanOrEqual(end);
  });
});

describe("another session's token", () => {
  test("is unauthorized, and no decision is made", async () => {
    const [mine, theirs] = [await clerkSession(api, "books"), await clerkSession(api, "books")];
    expect((await api.authorize(theirs.session, mine.clerk.token, mine.hops.read)).status).toBe(401);
  });
});
