import { aManifest, aScope, aTool } from "@svc/test-support";
import { afterAll, describe, expect, test } from "vitest";
import { submitter } from "./submitting.ts";
import { startPlane } from "./support.ts";

const plane = await startPlane();
afterAll(() => plane.stop());
const { register, resubmit, policyOf, versionsOf } = submitter(plane);

describe("concurrent submissions", () => {
  test("of one agent get a version each, without a gap", async () => {
    await register("busy-agent", aManifest("busy"));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        resubmit("busy-agent", aManifest("busy", { tools: [aTool(`http:busy/${n}`)] })),
      ),
    );
    expect(answers.map(({ json }) => Number(json.manifest_version)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 2),
    );
    const newest = (await plane.send("/v1/manifests/busy")).json;
    expect((await policyOf("busy")).agents["busy-agent"]?.manifest_version).toBe(Number(newest.version));
  });

  test("of many agents to shared scopes lose nobody from the compiled policies", async () => {
    const scopes = ["crowd-a", "crowd-b", "crowd-c"];
    const manifest = (n: number) => ({
      scopes: Object.fromEntries(
        scopes
          .slice(n % 2)
          .concat(scopes.slice(0, n % 2))
          .map((scope) => [scope, aScope({ tools: [aTool(`http:crowd/${n}`)] })]),
      ),
    });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => register(`crowd-${n}`, manifest(n))));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    for (const scope of scopes) {
      expect(Object.keys((await policyOf(scope)).agents)).toHaveLength(20);
      expect(await versionsOf(scope)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    }
  });

  test("of one new name register it once", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => register("once-agent", aManifest("once"))));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array.from({ length: 7 }, () => 409)]);
  });

  test("that claim the same name as agent and as tool: one of them is refused", async () => {
    const answers = await Promise.all([
      register("contested", aManifest("contest-1")),
      register("contester", aManifest("contest-2", { tools: [aTool("contested")] })),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 422]);
  });
});
