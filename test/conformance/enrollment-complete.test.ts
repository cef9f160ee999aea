import { describe, expect, test } from "vitest";
import { newKey } from "./src/enrollment.ts";
import { identitiesForTests } from "./src/identities-for-tests.ts";

const stack = await identitiesForTests();

describe("completing an enrollment", () => {
  const pending = async () => {
    const [agent, key] = [await stack.newAgent(), await newKey()];
    const { body } = await stack.begin(agent, { key, ...(await stack.vouched(key)) });
    return { agent, key, id: body.enrollment_id as string, challenge: body.challenge as string };
  };
  type Pending = Awaited<ReturnType<typeof pending>>;

  const invalid: [string, (enrollment: Pending) => Promise<string> | string][] = [
    ["that is no token", () => "x"],
    ["by another key", async ({ agent, challenge }) => stack.prove(agent, await newKey(), challenge)],
    ["for another agent", ({ key, challenge }) => stack.prove("planner", key, challenge)],
    [
      "for another server",
      ({ agent, key, challenge }) => stack.prove(agent, key, challenge, { audience: "https://x" }),
    ],
    ["over another challenge", ({ agent, key }) => stack.prove(agent, key, "another")],
    [
      "over a token instead of the challenge",
      ({ agent, key, challenge }) => stack.actorToken(agent, key, rootOf(challenge)),
    ],
    [
      "that expired",
      ({ agent, key, challenge }) => stack.prove(agent, key, challenge, { nowSeconds: Date.now() / 1000 - 61 }),
    ],
    [
      "from the future",
      ({ agent, key, challenge }) => stack.prove(agent, key, challenge, { nowSeconds: Date.now() / 1000 + 10 }),
    ],
  ];

  test.each(invalid)("with a proof %s is refused: invalid_proof", async (_case, proof) => {
    const enrollment = await pending();
    const answer = await stack.complete(enrollment.id, await proof(enrollment));
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_proof"]);
    expect((await stack.identity(enrollment.agent)).body.status).toBe("none");
  });

  test("succeeds at the third attempt, and fails after three wrong ones", async () => {
    const [good, bad] = [await pending(), await pending()];
    for (const { id } of [good, good, bad, bad, bad]) expect((await stack.complete(id, "x")).status).toBe(400);
    const right = (of: Pending) => stack.prove(of.agent, of.key, of.challenge);
    expect((await stack.complete(good.id, await right(good))).body.status).toBe("enrolled");
    const late = await stack.complete(bad.id, await right(bad));
    expect([late.status, late.body.error.code]).toEqual([409, "enrollment_expired"]);
  });

  test("checks three attempts at most, also in parallel", async () => {
    const { id } = await pending();
    const answers = await Promise.all(Array.from({ length: 20 }, () => stack.complete(id, "x")));
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(17);
  });

  test("succeeds once, also in parallel", async () => {
    const { id, agent, key, challenge } = await pending();
    const proof = await stack.prove(agent, key, challenge);
    const answers = await Promise.all([1, 2, 3].map(() => stack.complete(id, proof)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect((await stack.identity(agent)).body.anchor_version).toBe(1);
  });

  test("after its end time is enrollment_expired", async () => {
    const { id, agent, key, challenge } = await pending();
    await stack.sql`update enrollment set expires_at = now() where enrollment_id = ${id}`;
    const answer = await stack.complete(id, await stack.prove(agent, key, challenge));
    expect([answer.status, answer.body.error.code]).toEqual([409, "enrollment_expired"]);
  });

  test.each(["01900000-0000-7000-8000-000000000000", "x", "%F0%9F%98%80"])(
    "with the unknown id %s is enrollment_not_found",
    async (id) => {
      const answer = await stack.complete(id, "x");
      expect([answer.status, answer.body.error.code]).toEqual([404, "enrollment_not_found"]);
    },
  );

  test("does not undo a revocation that came in between", async () => {
    const { id, agent, key, challenge } = await pending();
    await stack.revoke(agent);
    const answer = await stack.complete(id, await stack.prove(agent, key, challenge));
    expect([answer.status, answer.body.error.code]).toEqual([409, "agent_revoked"]);
    expect((await stack.identity(agent)).body).toMatchObject({ status: "revoked", jwks: { keys: [] } });
  });
});

/** A text in the shape of a token, for a proof over it. */
const rootOf = (text: string): string =>
  `${btoa('{"alg":"ES256"}')}.${btoa(JSON.stringify({ iss: stack.api.url, text }))}.x`;
