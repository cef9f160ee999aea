import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliStack, clerkManifest, startClerkStack } from "./stack.ts";

/** Commands that look, and change nothing. */
let stack: CliStack;

beforeAll(async () => {
  stack = await startClerkStack();
  await stack.svc("consent", "--scope", "books", "--user", "ada", "--agent", "clerk");
});
afterAll(() => stack.stop());

test("svc can-i prints yes where the call would be admitted, else the reason and the remedy, with exit code 1", async () => {
  expect(await stack.svc("can-i", "clerk", "http:ledger/read")).toMatchObject({
    code: 0,
    stdout: "yes in books for finance.entries\n",
  });
  const { code, stdout } = await stack.svc("can-i", "clerk", "http:ledger/post", "finance.entries");
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/^no {2}in books: TARGET_NOT_DECLARED\n {4}Add \{"ref":"http:ledger\/post"/),
  ]);
  expect((await stack.svc("can-i", "clerk", "http:ledger/read", "--scope", "elsewhere")).stdout).toMatch(/^no /);
  expect((await stack.svc("can-i", "nobody-at-all", "http:x")).code).toBe(1);
  expect(await stack.json("can-i", "clerk", "http:ledger/read")).toMatchObject([{ verdicts: [{ decision: "allow" }] }]);
});

test("svc agents show prints identity, blocks and what the manifest in force declares", async () => {
  await stack.svc("block", "set", "agent", "clerk", "--reason", "an incident");
  const { stdout } = await stack.svc("agents", "show", "clerk");
  await stack.svc("block", "lift", "agent", "clerk");
  expect(stdout).toMatch(/identity {2}not enrolled\nblocked {3}an incident\nmanifest {2}version 1, attested/);
  expect(stdout).toMatch(
    /scope books, at most 3 hops\ntool +data classes +access\nhttp:ledger\/read +finance\.entries +read/,
  );
  expect(await stack.json("agents", "show", "clerk")).toMatchObject([
    { identity: { agent: "clerk" }, blocks: [], manifest: { version: 1, doc: clerkManifest.manifest } },
  ]);
});

test("svc scopes lists scopes with their policy, and shows what a consent grants", async () => {
  expect((await stack.svc("scopes", "list")).stdout).toMatch(/^scope +policy +age\nbooks +1 +\d+s\n$/);
  expect((await stack.svc("scopes", "show", "books")).stdout).toMatch(
    /^books policy version 1, at most 3 hops\na person delegates to clerk\ntool +data classes\nhttp:ledger\/read +finance\.entries/,
  );
});

test("svc events lists acts with who did them, filtered by kind and agent", async () => {
  const { stdout } = await stack.svc("events", "--kind", "consent_granted");
  expect(stdout).toMatch(/^age +kind +actor +agent +session +reason\n\d+s +consent_granted +\S+/);
  expect(await stack.json("events", "--agent", "clerk", "--kind", "block_set")).toMatchObject([
    { reason: "an incident" },
  ]);
});

test("svc top counts the calls of a span by target and by agent, and prints once where the output is no terminal", async () => {
  await expect
    .poll(async () => stack.json("top", "--span", "10m", "--by", "target"), { timeout: 60_000, interval: 500 })
    .toEqual([{ name: "clerk", calls: 1, allowed: 1, denied: 0, would_deny: 0, last: expect.any(String) }]);
  const { stdout } = await stack.svc("top", "--span", "10m", "--by", "agent");
  expect(stdout).toMatch(/^agent +calls +allowed +denied +would deny +last\nada +1 +1 +0 +0 +\d+s\n$/);
});
