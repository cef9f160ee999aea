import { aManifest, aTool } from "@svc/test-support";
import { sha256Base64url } from "@svc/tokens";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { query, registerAgent, startPlane } from "./support.ts";

/** What the service's role, which may insert, stores past the service has no authority. */
let plane: Awaited<ReturnType<typeof startPlane>>;
const manifest = aManifest("books", { tools: [aTool("http:a/read")] });
beforeEach(async () => {
  plane = await startPlane();
  await registerAgent(plane, "clerk", manifest);
});
afterEach(() => plane.stop());

const consent = () => plane.send("/v1/consent", { body: { scope: "books", user_sub: "ada" } });
const resubmit = () =>
  plane.send("/v1/manifests", {
    body: { agent: "clerk", manifest: manifest, override: { reason: "again" } },
  });
const asService = <Row extends object>(text: string) => query<Row>(plane.database.appUrl, text);

/** A copy of the policy that lends another tool, with the mark of the original. */
const forgePolicy = () =>
  asService(`insert into compiled_policy (scope, version, schema_version, document, created_at, mac)
    select scope, version + 1, schema_version, replace(document, 'http:a/read', 'http:a/pay'), now(), mac
    from compiled_policy where scope = 'books' order by version desc limit 1`);

const forgeManifest = (mac: string) =>
  asService(`insert into manifest_version (agent_id, version, status, attested_by, doc, created_at, mac)
    select agent_id, version + 1, status, attested_by, replace(doc, 'http:a/read', 'http:a/pay'), now(), ${mac}
    from manifest_version order by version desc limit 1`);

describe("a policy that the service's role inserts", () => {
  test("is 503 at the consent, never a policy", async () => {
    expect((await consent()).status).toBe(201);
    await forgePolicy();
    const { status, json } = await consent();
    expect([status, json.error?.code]).toEqual([503, "database_unavailable"]);
    expect(await asService("select from session where policy_version > 1")).toEqual([]);
  });

  test("is passed over by the next submission, of the same manifest too", async () => {
    await forgePolicy();
    expect((await resubmit()).status).toBe(201);
    expect((await consent()).status).toBe(201);
    const [session] = await asService<{ document: string }>(
      "select document from session s join compiled_policy p on (p.scope, p.version) = (s.scope, s.policy_version)",
    );
    expect(session?.document).toContain("http:a/read");
    expect(session?.document).not.toContain("http:a/pay");
  });
});

describe("a manifest that the service's role inserts", () => {
  const register = (name: string) => registerAgent(plane, name, aManifest("books", { tools: [aTool("http:a/write")] }));

  test.each([
    ["without a mark", "null"],
    ["with the mark of another version", "mac"],
  ])("%s feeds no policy: the next submission of the scope is 503", async (_name, mac) => {
    await forgeManifest(mac);
    const { status, json } = await register("auditor");
    expect([status, json.error?.code]).toEqual([503, "database_unavailable"]);
    expect(await asService("select from compiled_policy where document like '%http:a/pay%'")).toEqual([]);
  });

  test("is replaced by a submission for its agent", async () => {
    await forgeManifest("mac");
    expect((await resubmit()).status).toBe(201);
    expect((await register("auditor")).status).toBe(201);
    expect((await consent()).status).toBe(201);
  });
});

describe("what was stored before there were marks", () => {
  /** As a migration finds it, and lists it where `isListed`. */
  async function storedBefore(isListed: boolean) {
    const owner = (text: string, values: string[] = []) => query(plane.database.superuserUrl, text, values);
    for (const table of ["compiled_policy", "manifest_version"]) {
      await owner(`alter table ${table} disable trigger user`);
      await owner(`update ${table} set mac = null`);
      await owner(`alter table ${table} enable always trigger append_only, enable always trigger append_only_whole`);
    }
    if (!isListed) return;
    const policies = await asService<{ document: string }>("select document from compiled_policy");
    const manifests = await asService<{ agent_id: string; doc: string }>("select agent_id, doc from manifest_version");
    await owner("insert into unmarked values ('policy', 'books', 1, $1)", [
      sha256Base64url(policies[0]?.document ?? ""),
    ]);
    await owner("insert into unmarked values ('manifest', $1, 1, $2)", [
      manifests[0]?.agent_id ?? "",
      sha256Base64url(manifests[0]?.doc ?? ""),
    ]);
  }

  test("is used where the migration listed its hash, and nothing else is", async () => {
    await storedBefore(true);
    expect((await consent()).status).toBe(201);
    expect((await registerAgent(plane, "auditor", aManifest("books"))).status).toBe(201);
  });

  test("is not used where it is not listed", async () => {
    await storedBefore(false);
    expect((await consent()).status).toBe(503);
    expect((await registerAgent(plane, "auditor", aManifest("books"))).status).toBe(503);
  });
});

test("the event of a consent names the hash of the policy that it pinned, that of a submission the manifest's", async () => {
  await consent();
  const [policy] = await asService<{ document: string }>("select document from compiled_policy");
  const [stored] = await asService<{ doc: string }>("select doc from manifest_version");
  const detailsOf = async (kind: string) => (await plane.send(`/v1/audit/events?kind=${kind}`)).json.data?.[0]?.details;
  expect(await detailsOf("consent_granted")).toMatchObject({ policy_sha256: sha256Base64url(policy?.document ?? "") });
  expect(await detailsOf("manifest_overridden")).toMatchObject({ manifest_sha256: sha256Base64url(stored?.doc ?? "") });
});
