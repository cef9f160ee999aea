import { aManifest, aTool } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { source, submitter } from "./submitting.ts";
import { startPlane } from "./support.ts";

const plane = await startPlane();
afterAll(() => plane.stop());
const { register, resubmit, discovering, rows } = submitter(plane);

describe("agents are listed", () => {
  beforeAll(async () => {
    const names = Array.from({ length: 25 }, (_, n) => `agent-${String.fromCharCode(97 + ((n * 7) % 25))}`);
    for (const name of [...names, "agent.z", "agent_z", "0", "a"]) await register(name, aManifest(`scope-${name}`));
  });

  test("by name, in pages that a cursor joins without gap or repeat", async () => {
    const seen: string[] = [];
    let path: string | undefined = "/v1/agents?limit=7";
    while (path !== undefined) {
      const { json, status } = await plane.send(path);
      expect(status).toBe(200);
      const data = json.data as unknown as { name: string }[];
      seen.push(...data.map(({ name }) => name));
      const next = json.page?.next_cursor as unknown as string | null;
      path = next === null ? undefined : `/v1/agents?limit=7&cursor=${next}`;
    }
    const stored = await rows<{ name: string }>(`select name from agent order by name collate "C"`);
    expect(seen).toEqual(stored.map(({ name }) => name));
    expect(seen.length).toBeGreaterThan(20);
  });

  test("by their latest status", async () => {
    const undeclared = { discovery: source, ...aManifest("scope-a", { tools: [aTool("http:k/x")] }) };
    await resubmit("agent-a", undeclared, discovering({ scopes: {} }));
    const { json } = await plane.send("/v1/agents?status=rejected&limit=200");
    const data = json.data as unknown as { name: string; latest_status: string }[];
    expect(data).toMatchObject([{ name: "agent-a", latest_status: "rejected" }]);
    expect((await plane.send("/v1/agents?status=unknown")).status).toBe(400);
  });

  test("with a cursor of the same status only", async () => {
    const { json } = await plane.send("/v1/agents?limit=1");
    const cursor = json.page?.next_cursor as unknown as string;
    for (const search of [
      `status=attested&cursor=${cursor}`,
      `cursor=${cursor.slice(1)}`,
      `cursor=${cursor}x`,
      "cursor=",
    ]) {
      expect((await plane.send(`/v1/agents?${search}`)).json).toMatchObject({ error: { code: "invalid_request" } });
    }
  });
});

describe("an agent that is none", () => {
  test.each([
    "nobody",
    "01900000-0000-7000-8000-000000000000",
    "%25",
    "'; drop",
    "01900000-0000-7000-8000-00000000000G",
  ])("has no report: %s", async (id) => {
    expect(await plane.send(`/v1/agents/${id}/reconciliation`)).toMatchObject({
      status: 404,
      json: { error: { code: "agent_not_found" } },
    });
  });

  test("is not resolved, nor is what is no name", async () => {
    expect((await plane.send("/v1/agents/resolve?name=nobody")).status).toBe(404);
    for (const search of ["", "?name=", "?name=A", "?name=%25", "?name=a&name=b"]) {
      expect((await plane.send(`/v1/agents/resolve${search}`)).status).toBe(400);
    }
  });
});
