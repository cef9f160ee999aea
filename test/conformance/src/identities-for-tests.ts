import { afterAll, vi } from "vitest";
import { type IdentityStack, startIdentityStack } from "./identity-stack.ts";

// Apart from for-tests.ts, whose users need no OpenID provider loaded. No test is timed here either.
vi.setConfig({ testTimeout: 60_000 });

/** A control plane for a test file, with an OpenID provider that vouches for whoever asks. */
export async function identitiesForTests(): Promise<IdentityStack> {
  const stack = await startIdentityStack();
  afterAll(stack.stop);
  return stack;
}
