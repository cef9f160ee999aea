import { namedAlike, startOwnRedis } from "@svc/test-support";
import { afterAll, expect, test } from "vitest";
import { actingIn, leftIn, openTrips, settled, type Trips } from "./src/pep/trips.ts";

const redis = await startOwnRedis();
const [two, one] = await Promise.all([openTrips(false, redis), openTrips(true, redis)]);
afterAll(async () => {
  await Promise.all([two.stop(), one.stop()]);
  await redis.stop();
});

const asAdmin = ({ stand: { api } }: Trips, method: string, path: string, body?: object) =>
  api.call(method, path, { bearer: api.tokens.admin, ...(body && { body }) });

/** Whatever a call may come to, one after the other, so that two records of it can be held against each other. */
async function everyKindOfCall(trips: Trips) {
  const { session, call, answers } = await actingIn(trips);
  await call("/app/read");
  await call("/app/strict");
  await call("/app/any/thing", { body: "streams" });
  await call("/app/write", { body: '{"amount": 12}' });
  await call("/app/write", { body: "no object" });
  await call("/app/none");
  await call("/app/nowhere");
  await call("/app/read", { headers: {} });
  await call("/watched/none");
  await call("/watched/read");
  await asAdmin(trips, "PUT", "/v1/blocks/tool/http:app%2Fread", { reason: "hostile" });
  await call("/app/read");
  await call("/watched/read");
  await asAdmin(trips, "DELETE", "/v1/blocks/tool/http:app%2Fread");
  await call("/app/web");
  await call("/app/read");
  await call("/app/strict");
  await asAdmin(trips, "POST", `/v1/sessions/${session}/revoke`, {});
  await call("/app/read");
  const last = await actingIn(trips);
  await last.call("/app/read");
  await settled(trips, answers.length + 1);
  return namedAlike({ answers, ...(await leftIn(trips, session)) });
}

test("whatever a call comes to, one trip answers, forwards, records, counts, logs and traces it as two do", async () => {
  const inTwo = await everyKindOfCall(two);
  const statuses = inTwo.answers.map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 200, 200, 422, 403, 404, 401, 200, 200, 403, 200, 200, 200, 403, 403]);
  expect(await everyKindOfCall(one)).toEqual(inTwo);
  const trips = ["/v1/hop", "/v1/authorize", "/v1/token/exchange", "/v1/token/transaction"];
  expect(trips.map(two.asked)).toEqual([0, 15, 8, 1]);
  // Of those that are to be seen first, one refuses taint and one is privileged.
  expect(trips.map(one.asked)).toEqual([15, 0, 2, 1]);
}, 60_000);
