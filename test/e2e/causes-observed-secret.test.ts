import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStand, type Stand } from "@svc/test-conformance/stand";
import { afterAll, beforeAll, expect, test } from "vitest";
import { headersOf, routes, scope } from "./src/pep/guarded.ts";

const secret = "a-secret-of-the-upstream";

let stand: Stand;
beforeAll(async () => {
  stand = await openStand({
    scopes: { [scope]: { hop_budget: 2, tools: [{ ref: "http:app/write", data_classes: ["docs"] }] } },
    upstreams: (url, folder) => {
      const valueFile = join(folder, "key");
      writeFileSync(valueFile, secret);
      const entry = { url, routes, credential: { header: "x-api-key", value_file: valueFile } };
      return [
        { name: "enforced", ...entry },
        { name: "observed", ...entry, mode: "observe" },
      ];
    },
  });
});
afterAll(() => stand?.stop());

const seen = async (upstream: string) => {
  const before = stand.upstream.requests.length;
  const headers = await headersOf(stand);
  const { status } = await fetch(`${stand.enforcementPoint.url}/${upstream}/read`, { headers });
  const sent = stand.upstream.requests.slice(before).map(({ rawHeaders }) => rawHeaders.join("\n"));
  return { status, sent };
};

test("a denied call that observe mode forwards has the upstream's own secret, and none of our tokens", async () => {
  const { status, sent } = await seen("observed");
  expect([status, sent.length]).toEqual([200, 1]);
  expect(sent[0]).toContain(secret);
  expect(sent[0]).not.toMatch(/x-svc-|txn-token|authorization|eyJ/i);
});

test("the same call reaches no upstream where it is enforced", async () => {
  expect(await seen("enforced")).toEqual({ status: 403, sent: [] });
});
