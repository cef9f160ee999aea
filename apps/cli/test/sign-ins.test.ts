import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliStack, startCliStack } from "./stack.ts";

let stack: CliStack;
let sql: postgres.Sql;
beforeAll(async () => {
  stack = await startCliStack();
  sql = postgres(stack.database.ownerUrl, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await sql?.end();
  await stack?.stop();
});

/** As after a sign-in; its id. */
async function signIn(subject: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into sign_in (sign_in_id, cookie_hash, issuer, subject, name, groups, id_token_hash, begun_at, expires_at)
    values (gen_random_uuid(), decode(md5(random()::text), 'hex'), 'https://idp.test', ${subject}, 'Ada Lovelace', '{}',
      'h', now(), now() + interval '1 hour')
    returning sign_in_id as id`;
  return row?.id ?? "";
}

test("svc sign-ins lists a person's sign-ins, and ends one by the end of its id", async () => {
  const id = await signIn("ada");
  await signIn("ben");
  const listed = await stack.svc("sign-ins", "list", "--user", "ada");
  expect(listed.stdout).toMatch(
    /^sign-in +age +status +user +name +roles\n\S+ +\d+s +active +ada +Ada Lovelace +-?\n$/,
  );
  const ended = await stack.svc("sign-ins", "end", id.slice(-12), "--reason", "the laptop was lost");
  expect(ended).toMatchObject({ code: 0, stdout: `${id} is ended\n` });
  expect(await stack.json("sign-ins", "list", "--user", "ada", "-o", "json")).toMatchObject([
    { sign_in_id: id, status: "ended", ended_by: "admin" },
  ]);
});

test("svc sign-ins end --user ends all of a person, after a confirmation", async () => {
  await Promise.all([signIn("eve"), signIn("eve"), signIn("eva")]);
  expect((await stack.svc("sign-ins", "end", "--user", "eve")).code).toBe(2);
  expect(await stack.svc("sign-ins", "end", "--user", "eve", "--yes")).toMatchObject({ code: 0, stdout: "2 ended\n" });
  expect((await stack.svc("sign-ins", "list", "--user", "eva")).stdout).toContain("active");
});

test("svc sink shows where the record is delivered and why not, and has it delivered again", async () => {
  expect((await stack.svc("sink", "status")).stdout).toContain("SVC_SINK_WEBHOOK");
  expect(await stack.svc("sink", "replay", "webhook", "--since", "1h")).toMatchObject({ code: 1 });
  await sql`
    insert into sink (name, batch, failures, failing_since, last_error) values ('webhook', 3, 2, now(), 'answered 503')`;
  const { stdout } = await stack.svc("sink", "status");
  expect(stdout).toMatch(
    /^sink +state +undelivered +lag +delivered +failing +error\nwebhook +failing +\d+ +0s +-? +\d+s +answered 503\n$/,
  );
  const replayed = await stack.svc("sink", "replay", "webhook", "--since", "30d");
  expect(replayed).toMatchObject({ code: 0, stdout: "0 rows will be delivered to webhook\n" });
  expect(await stack.json("sink", "status", "-o", "json")).toMatchObject([{ sink: "webhook", batch: 0 }]);
});

test.each([[[]], [["some-id", "--user", "ada"]]])("svc sign-ins end %j is not tried", async (words) => {
  const { code, stderr } = await stack.svc("sign-ins", "end", ...words);
  expect(code).toBe(2);
  expect(stderr).toContain("name either a sign-in or a person");
});
