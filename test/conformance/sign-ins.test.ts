import { afterAll, beforeAll, expect, test } from "vitest";
import { insertSignIn } from "./src/inserted-sign-in.ts";
import { asOwner, type One, startOne } from "./src/stack.ts";

let one: One;
beforeAll(async () => {
  one = await startOne();
});
afterAll(() => one.stop());

const insert = (subject: string) => asOwner(one.database, (sql) => insertSignIn(sql, subject));
const list = (subject: string) =>
  one.api.call("GET", `/v1/sign-ins?user_sub=${subject}`, { bearer: one.api.tokens.audit });
const admin = (path: string, body?: object) => one.api.call("POST", path, { bearer: one.api.tokens.admin, body });
const endEvents = async (subject: string) => {
  const { body } = await one.api.call("GET", "/v1/audit/events?kind=sign_in_ended", { bearer: one.api.tokens.audit });
  const events: { details: { user_sub: string } }[] = body.data;
  return events.filter(({ details }) => details.user_sub === subject);
};

test("a sign-in is listed with its person, without cookie and ID token", async () => {
  const id = await insert("ada");
  const { data } = (await list("ada")).body;
  expect(data).toEqual([
    {
      ...{ sign_in_id: id, status: "active", user_sub: "ada", issuer: "https://idp.test", name: "Ada Lovelace" },
      ...{ email: "ada@people.test", roles: [], ended_at: null, ended_by: null },
      begun_at: expect.any(String),
      expires_at: expect.any(String),
    },
  ]);
});

test("one sign-in is ended once, on record with who ended it and why", async () => {
  const [id, other] = [await insert("ben"), await insert("ben")];
  const ended = await admin(`/v1/sign-ins/${id}/end`, { reason: "a lost laptop" });
  expect([ended.status, ended.body.status, ended.body.ended_by]).toEqual([200, "ended", "admin"]);
  expect((await admin(`/v1/sign-ins/${id}/end`)).body).toEqual(ended.body);
  expect(await endEvents("ben")).toMatchObject([
    {
      actor: "admin",
      reason: "a lost laptop",
      details: { sign_in_id: id, user_sub: "ben", issuer: "https://idp.test" },
    },
  ]);
  const statuses = new Map((await list("ben")).body.data.map((row: Row) => [row.sign_in_id, row.status]));
  expect(statuses).toEqual(
    new Map([
      [id, "ended"],
      [other, "active"],
    ]),
  );
});

interface Row {
  readonly sign_in_id: string;
  readonly status: string;
}

test("all of a person are ended together, and no one else's", async () => {
  await Promise.all([insert("eve"), insert("eve"), insert("eva")]);
  expect((await admin("/v1/sign-ins/end", { user_sub: "eve", reason: "left the company" })).body).toEqual({ ended: 2 });
  expect((await admin("/v1/sign-ins/end", { user_sub: "eve" })).body).toEqual({ ended: 0 });
  expect(await endEvents("eve")).toHaveLength(2);
  expect((await list("eva")).body.data).toMatchObject([{ status: "active" }]);
});

test.each(["01a00000-0000-7000-8000-000000000001", "none"])("the sign-in %s is not found", async (id) => {
  const answer = await admin(`/v1/sign-ins/${id}/end`, {});
  expect([answer.status, answer.body.error.code]).toEqual([404, "sign_in_not_found"]);
});
