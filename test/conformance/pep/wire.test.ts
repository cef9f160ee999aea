import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { converse } from "./agent.ts";
import { corpus } from "./corpus/index.ts";
import type { Exchange } from "./exchange.ts";
import { judge } from "./judge.ts";
import { openStand, plain, type Respond, type Stand } from "./stand.ts";

let stand: Stand;
let agent: { readonly session: string; readonly token: string };
let narrowed: { readonly session: string; readonly token: string };

const tool = (ref: string, more: object = {}) => ({ ref, data_classes: ["finance", "docs"], ...more });
const route = (methods: string[], path: string, operation: string) => ({
  methods,
  path,
  target: `http:ledger/${operation}`,
  data_class: "finance",
});
const routes = [
  route(["GET"], "/read", "read"),
  route(["GET"], "/elsewhere", "elsewhere"),
  route(["GET", "POST"], "/secret", "secret"),
  route(["POST"], "/post", "post"),
  route(["POST"], "/send", "send"),
  route(["GET", "HEAD"], "/any/*", "any"),
  route(["GET"], "/admin", "admin"),
  route(["GET"], "/:page", "page"),
];
const operations = ["read", "send", "any", "admin", "page"];

beforeAll(async () => {
  stand = await openStand({
    scopes: {
      wire: {
        hop_budget: 2,
        tools: [
          ...operations.map((operation) => tool(`http:ledger/${operation}`)),
          tool("http:ledger/post", { privileged: true }),
          tool("mcp:files/read_file"),
          tool("mcp:files/delete_file", { privileged: true }),
          tool("mcp:files#resources/read"),
        ],
      },
      elsewhere: { hop_budget: 2, tools: [tool("http:ledger/elsewhere")] },
    },
    upstreams: (url, folder) => {
      const secret = join(folder, "api-key");
      writeFileSync(secret, "secret-of-the-upstream\n");
      return [
        { name: "ledger", url, hosts: ["ledger.internal"], routes },
        { name: "files", url: `${url}/mcp`, protocol: "mcp", data_class: "docs", tools: { "#resources/read": "docs" } },
        { name: "keyed", url, credential: { header: "X-Api-Key", value_file: secret }, routes },
        { name: "bare", url, credential: "none", routes },
        { name: "own", url, credential: "passthrough", allow_passthrough_when_enforcing: true, routes },
      ];
    },
    enforcementPoint: { SVC_PEP_BIND_CAP_BYTES: "1024", SVC_PEP_UPSTREAM_TIMEOUT_SECONDS: "3" },
  });
  agent = await stand.api.consent("wire");
  const other = await stand.api.consent("wire");
  const read = { target: "http:ledger/read", target_kind: "tool", data_class: "finance" } as const;
  narrowed = { session: other.session, token: (await stand.api.hop(other.session, other.token, read)).token };
});
afterAll(() => stand?.stop());

/** Values of the corpus' placeholders. */
const fill = (text: string): string =>
  text
    .replaceAll("{bearer}", agent.token)
    .replaceAll("{session}", agent.session)
    .replaceAll("{forged}", agent.token.replace(/[^.]+$/, "A".repeat(86)))
    .replaceAll("{narrowed}", narrowed.token)
    .replaceAll("{narrowedSession}", narrowed.session)
    .replaceAll("{own}", `127.0.0.1:${stand.port}`)
    .replaceAll("{port}", String(stand.port))
    .replaceAll("{upstream}", new URL(stand.upstream.url).host)
    .replaceAll("{authorization}", lastAuthorization());

function lastAuthorization(): string {
  const { rawHeaders = [] } = stand.upstream.requests.at(-1) ?? {};
  return rawHeaders[rawHeaders.findIndex((name) => name.toLowerCase() === "authorization") + 1] ?? "";
}

function respondWith(upstream: Exchange["upstream"]): Respond {
  if (upstream === undefined) return plain;
  if (upstream === "is silent") return () => {};
  if (upstream === "closes") return ({ socket }) => socket?.destroy();
  if (upstream === "resets") return ({ socket }) => socket?.resetAndDestroy();
  return ({ socket }) => socket?.end(fill(upstream.bytes), "latin1");
}

describe.each(corpus)("$about", ({ exchanges }) => {
  test.each(exchanges)("$name", async (exchange) => {
    const { upstream } = stand;
    const before = { requests: upstream.requests.length, bytes: upstream.received().length };
    upstream.answerWith(respondWith(exchange.upstream));
    const text = await converse(stand.port, exchange, fill);
    const requests = upstream.requests.slice(before.requests);
    const bytes = upstream.received().subarray(before.bytes).toString("latin1");
    judge(exchange.want, { isHead: exchange.send.startsWith("HEAD "), text, requests, bytes }, fill);
  });
});

/** The action whose narrowed token a request bears. */
const narrowedFor = ({ rawHeaders }: { readonly rawHeaders: readonly string[] }): readonly unknown[] =>
  rawHeaders.filter((value) => value.startsWith("Bearer ey")).map((value) => decodeJwt(value.slice(7)).action_id);

describe("after all exchanges", () => {
  const all = corpus.flatMap(({ exchanges }) => exchanges);
  const wanted = (is: (want: Exchange["want"]) => boolean) => all.filter(({ want }) => is(want)).length;
  const sent = wanted((want) => "passes" in want || "failed" in want || "aborted" in want);

  test("the corpus has the documented number of exchanges", () => {
    expect(all.length).toBeGreaterThan(250);
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  });

  test("the upstream received the allowed calls only, and never the agent's own token", () => {
    expect(stand.upstream.requests).toHaveLength(sent);
    expect(stand.upstream.received().includes(agent.token)).toBe(false);
  });

  test("every request to the upstream has one recorded allow, spent once", async () => {
    const spent: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = cursor && `&cursor=${cursor}`;
      const { body } = await stand.api.decisions(`session_id=${agent.session}&outcome=allow&limit=200${query}`);
      for (const { action_id, spent_at } of body.data) if (spent_at !== null) spent.push(action_id);
      cursor = body.page.next_cursor;
    }
    // An agent that leaves while its call is decided has spent its token, and nothing is sent.
    expect(spent.length).toBeGreaterThanOrEqual(sent);
    const carried = stand.upstream.requests.flatMap(narrowedFor);
    expect(new Set(carried).size).toBe(carried.length);
    expect(spent).toEqual(expect.arrayContaining(carried));
    // Three of the calls go to upstreams that get no token of ours.
    expect(carried.length).toBe(sent - 3);
  });

  test("every block is counted under its cause, and every other call as allowed", async () => {
    const causes = all.flatMap(({ want }) =>
      "blocked" in want ? [want.blocked] : "inBand" in want ? [want.inBand] : [],
    );
    // Of the two requests in one exchange the second is blocked.
    const counted = [...causes, "unauthorized"];
    for (const cause of new Set(counted)) {
      const count = counted.filter((each) => each === cause).length;
      expect([cause, await stand.metric(`svc_pep_blocks_total{cause="${cause}"}`)]).toEqual([cause, count]);
    }
    expect(await stand.metric('svc_pep_calls_total{outcome="allowed"}')).toBe(sent);
    expect(await stand.metric('svc_pep_calls_total{outcome="observed_would_block"}')).toBe(0);
  });

  test("the enforcement point still serves", async () => {
    const headers = { authorization: `Bearer ${agent.token}`, "x-svc-session": agent.session };
    stand.upstream.answerWith(plain);
    expect((await fetch(`${stand.enforcementPoint.url}/ledger/read`, { headers })).status).toBe(200);
  });
});
