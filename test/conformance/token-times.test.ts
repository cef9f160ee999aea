import { availableParallelism } from "node:os";
import { startChild } from "@svc/test-support";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { whenDecided } from "./src/api.ts";
import { oneForTests } from "./src/for-tests.ts";

/** Beside what the busy machine does: the worst place for an interruption is seldom hit by chance. */
const interrupted = new URL("./src/interrupted.ts", import.meta.url).href;
const { api } = await oneForTests({ NODE_OPTIONS: `--import ${interrupted}` });

const tokensInAll = 2_000;
const callers = 8;
const siblings = 8;

const startBusy = () => startChild(process.execPath, ["-e", "for (;;);"]);

test("of 2,000 tokens from a busy machine a stock verifier without leeway accepts each one as it arrives", async () => {
  const jwks = await fetch(`${api.url}/.well-known/jwks.json`);
  const keys = createLocalJWKSet((await jwks.json()) as JSONWebKeySet);
  const busy = Array.from({ length: availableParallelism() }, startBusy);
  let verified = 0;
  const verify = async (token: string) => {
    await jwtVerify(token, keys, { clockTolerance: 0, maxTokenAge: 3_600 });
    verified++;
  };
  const call = async () => {
    let { token } = await api.consent("books");
    await verify(token);
    while (verified < tokensInAll) {
      const { body } = await whenDecided(() => api.renew(token, siblings));
      await Promise.all(body.tokens.map(verify));
      token = body.tokens[0];
    }
  };
  try {
    await Promise.all(Array.from({ length: callers }, call));
  } finally {
    await Promise.all(busy.map((each) => each.stop()));
  }
  expect(verified).toBeGreaterThanOrEqual(tokensInAll);
});
