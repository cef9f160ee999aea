import { aManifest, aTool } from "@svc/test-support";
import { sha256Base64url } from "@svc/tokens";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { query, startPlane } from "./support.ts";

/** Owners of names and facts of tools: what the service's role, which may insert, stores past the service weakens nothing. */
let plane: Awaited<ReturnType<typeof startPlane>>;
beforeEach(async () => {
  plane = await startPlane();
});
afterEach(() => plane.stop());

const asService = <Row extends object>(text: string) => query<Row>(plane.database.appUrl, text);

const owner = "https://bank.test";
const evil = "https://evil.test";
const weak = aTool("http:bank/pay");
const strict = aTool("http:bank/pay", { privileged: true });

/** Registers an agent with a tool that a source at the origin advertises. */
async function register(name: string, tool: typeof weak, { origin = owner, override = false } = {}) {
  const source = { kind: "http", url: `${origin}/tools` } as const;
  const discovered = { ok: true, tools: [{ ref: tool.ref }] } as const;
  const app = plane.with({ discover: async () => [{ source, origin, discovered, facts: { credentials: "none" } }] });
  const manifest = { discovery: source, ...aManifest(name, { tools: [tool] }) };
  const body = { name, manifest, ...(override && { override: { reason: "reviewed by hand" } }) };
  const { status, json } = await app.send("/v1/agents", { body });
  const { field, discovered: found } = json.details?.diff?.[0] ?? {};
  return { status, ...(status === 409 && { field, found }) };
}
const accepted = { status: 201 };
const foreign = (found: string) => ({ status: 409, field: "discovery", found });
const weaker = { status: 409, field: "privileged", found: true };

const forgeOwner = (mac: string) =>
  asService(`insert into server_origin (name, origin, accepted_at, mac) select 'http:bank', '${evil}', now(), ${mac}`);
const forgeFact = (mac: string, revision = 9) =>
  asService(`insert into tool_fact (ref, privileged, access, accepted_at, revision, mac)
    select 'http:bank/pay', false, 'read', now(), ${revision}, ${mac}`);

describe("an owner that the service's role inserts", () => {
  test.each([
    ["without a mark", "null"],
    ["with the mark of another", "(select mac from server_origin limit 1)"],
  ])("%s owns nothing beside the accepted one", async (_name, mac) => {
    expect(await register("one", strict)).toEqual(accepted);
    await forgeOwner(mac);
    expect(await register("two", strict, { origin: evil })).toEqual(foreign(owner));
    expect(await register("three", strict)).toEqual(accepted);
  });

  test("owns nothing alone: a person decides, and what was accepted then is the owner", async () => {
    await forgeOwner("null");
    expect(await register("one", strict, { origin: evil })).toEqual(foreign(""));
    expect(await register("two", strict)).toEqual(foreign(""));
    expect(await register("two", strict, { override: true })).toEqual(accepted);
    expect(await register("three", strict)).toEqual(accepted);
    expect(await register("one", strict, { origin: evil })).toEqual(foreign(owner));
  });

  test("does not keep its origin from being accepted", async () => {
    await forgeOwner("null");
    expect(await register("one", strict, { origin: evil, override: true })).toEqual(accepted);
    expect(await register("two", strict, { origin: evil })).toEqual(accepted);
  });
});

describe("a fact that the service's role inserts", () => {
  test.each([
    ["without a mark", "null", 9],
    ["with the mark of another", "(select mac from tool_fact order by position desc limit 1)", 9],
    ["as a copy of an older one", "(select mac from tool_fact order by position limit 1)", 1],
  ])("%s weakens no tool", async (_name, mac, revision) => {
    expect(await register("one", weak)).toEqual(accepted);
    expect(await register("two", strict)).toEqual(accepted);
    await forgeFact(mac, revision);
    expect(await register("three", weak)).toEqual(weaker);
    expect(await register("four", strict)).toEqual(accepted);
  });

  test("alone counts as strict, until a fact is accepted", async () => {
    await forgeFact("null");
    expect(await register("one", weak)).toEqual(weaker);
    expect(await register("one", weak, { override: true })).toEqual(accepted);
    expect(await register("two", weak)).toEqual(accepted);
  });

  test("is passed over by the next submission, also of what is known", async () => {
    expect(await register("one", strict)).toEqual(accepted);
    await forgeFact("null");
    expect(await register("two", strict)).toEqual(accepted);
    const [newest] = await asService("select privileged, revision from tool_fact order by position desc limit 1");
    expect(newest).toEqual({ privileged: true, revision: 2 });
    expect(await register("three", strict)).toEqual(accepted);
    expect(await asService("select from tool_fact")).toHaveLength(3);
  });
});

describe("names and facts from before there were marks", () => {
  /** As a migration finds them, and lists them where `isListed`. */
  async function storedBefore(isListed: boolean) {
    expect(await register("one", strict)).toEqual(accepted);
    const asOwner = (text: string) => query(plane.database.superuserUrl, text);
    for (const table of ["server_origin", "tool_fact"]) {
      await asOwner(`alter table ${table} disable trigger user`);
      await asOwner(`update ${table} set mac = null`);
      await asOwner(`alter table ${table} enable always trigger append_only, enable always trigger append_only_whole`);
    }
    if (!isListed) return;
    await asOwner(
      `insert into unmarked select 'origin', name, position, '${sha256Base64url(owner)}' from server_origin`,
    );
    await asOwner(
      `insert into unmarked select 'fact', ref, position, '${sha256Base64url("true read")}' from tool_fact`,
    );
  }

  test("count where the migration listed their hashes", async () => {
    await storedBefore(true);
    expect(await register("two", strict, { origin: evil })).toEqual(foreign(owner));
    expect(await register("three", weak)).toEqual(weaker);
    expect(await register("four", strict)).toEqual(accepted);
  });

  test("make a person decide where they are not listed", async () => {
    await storedBefore(false);
    expect(await register("two", strict)).toEqual(foreign(""));
    expect(await register("two", strict, { override: true })).toEqual(accepted);
    expect(await register("three", strict)).toEqual(accepted);
  });
});
