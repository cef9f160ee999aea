import { startSpanReceiver } from "@svc/test-conformance/span-receiver";
import { openStand, type Stand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectFirst, connectSecond } from "./src/mcp/eras/clients.ts";
import { type EraServer, offered, startFirst, startSecond } from "./src/mcp/eras/servers.ts";
import { type Hurried, startHurried } from "./src/pep/frequent-decisions.ts";

const receiver = await startSpanReceiver();
let servers: Record<string, EraServer>;
let stand: Stand;
let pep: Hurried;

beforeAll(async () => {
  servers = { first: await startFirst(), second: await startSecond("reject") };
  const tools = Object.keys(servers).flatMap((server) =>
    offered.tools.map((tool) => ({ ref: `mcp:${server}/${tool}`, data_classes: ["docs"] })),
  );
  stand = await openStand({ scopes: { work: { hop_budget: 2, tools } }, upstreams: () => [] });
  const upstreams = Object.entries(servers).map(([name, { at }]) => ({
    ...{ name, ...at, protocol: "mcp", data_class: "docs", filter_tool_lists: true },
  }));
  pep = await startHurried(stand, { redecideMs: 200, otel: receiver.env, upstreams });
});
afterAll(async () => {
  await pep?.stop();
  await stand?.stop();
  await Promise.all(Object.values(servers ?? {}).map((server) => server.stop()));
  await receiver.stop();
});

describe("a client that listens learns that what it may call changed, although the server's list did not:", () => {
  test.each([
    ["on a session's stream", "first", connectFirst],
    ["on a subscription", "second", connectSecond({ pin: "2026-07-28" })],
  ])("%s", async (_name, server, connect) => {
    const { session, token } = await stand.api.consent("work");
    const headers = { authorization: `Bearer ${token}`, "x-svc-session": session };
    const client = await connect({ url: `${pep.url}/${server}` }, headers);
    const names = async () => (await client.listTools()).tools.map(({ name }) => name).sort();
    await client.listen();
    expect(await names()).toEqual(offered.tools);
    expect(client.changes()).toBe(0);

    const bearer = stand.api.tokens.admin;
    const block = `/v1/blocks/tool/${encodeURIComponent(`mcp:${server}/echo`)}`;
    await stand.api.call("PUT", block, { bearer, body: { reason: "incident" } });
    await waitUntil("the change", () => client.changes() === 1);
    expect(await names()).toEqual(offered.tools.filter((name) => name !== "echo"));

    await stand.api.call("DELETE", block, { bearer });
    await waitUntil("the change back", () => client.changes() === 2);
    expect(await names()).toEqual(offered.tools);
    await client.close();
  });
});
