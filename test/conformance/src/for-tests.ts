import { requires } from "@svc/test-support";
import { afterAll } from "vitest";
import { type Opened, openDeployment } from "./deployment.ts";
import { registerLedger } from "./ledger.ts";
import { type One, type Pair, startOne, startPair } from "./stack.ts";

/**
 * Fixtures of a test file, awaited where the file begins, so that its tests use constants: started at collection,
 * stopped after the last test.
 */
export async function deploymentForTests(): Promise<Opened> {
  const opened = await openDeployment();
  afterAll(opened.close);
  return opened;
}

/** This file's own scope, with the agents of `registerLedger`. */
export async function ledgerForTests(): Promise<Opened & { readonly scope: string }> {
  const opened = await deploymentForTests();
  const scope = opened.name("books");
  await registerLedger(opened.api, scope);
  return { ...opened, scope };
}

/** With the scope `books`. */
export async function oneForTests(env?: Readonly<Record<string, string>>): Promise<One> {
  const one = await startOne(env);
  afterAll(one.stop);
  await registerLedger(one.api, "books");
  return one;
}

/** With the scope `books`. Its file skips its tests where Redis is missing. */
export async function pairForTests(env?: Readonly<Record<string, string>>): Promise<Pair> {
  return requires("redis-server").start(async () => {
    const pair = await startPair(env);
    afterAll(pair.stop);
    await registerLedger(pair.one, "books");
    return pair;
  });
}
