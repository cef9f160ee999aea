import { afterAll, beforeAll, expect, test } from "vitest";
import { consent, hops, lineOf, type Plane, startReaderPlane, statuses } from "./hop-callers.ts";

let plane: Plane;
beforeAll(async () => {
  plane = await startReaderPlane();
});
afterAll(() => plane.stop());

test.each<[string, (kid: string) => Promise<unknown>]>([
  [
    "the removal of its key",
    async (kid) => {
      await plane.send("/v1/keys/rotate", { body: { now: true } });
      return plane.send(`/v1/keys/${kid}`, { method: "DELETE" });
    },
  ],
  ["a raised issuer epoch", () => plane.send("/v1/issuer-epoch", { body: {} })],
])("a sibling dies with %s", async (_name, act) => {
  const caller = await consent(plane);
  const [answer] = await hops(plane, lineOf(caller));
  const token = String(answer?.sibling?.token);
  const { kid } = JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString());
  await act(kid);
  expect(statuses((await hops(plane, lineOf({ ...caller, token })))[0])).toEqual([401, undefined]);
});

test.each([
  { of: "before the issuer epoch", secondsLater: 1, status: 401 },
  { of: "the second of the issuer epoch", secondsLater: 0, status: 200 },
])("a sibling of $of, whose key is kept, is $status", async ({ secondsLater, status }) => {
  const caller = await consent(plane);
  const [answer] = await hops(plane, lineOf(caller));
  const token = String(answer?.sibling?.token);
  const { iat } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  const { issuerKeys } = plane.deps;
  const keys = { ...issuerKeys.current(), minIssuedAtSeconds: iat + secondsLater };
  const app = plane.with({ issuerKeys: { ...issuerKeys, current: () => keys, recheck: async () => keys } });
  expect(statuses((await hops(app, lineOf({ ...caller, token })))[0])[0]).toBe(status);
});
