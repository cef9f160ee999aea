import { afterAll } from "vitest";
import { type IdentityStack, startIdentityStack } from "./identity-stack.ts";

/**
 * A control plane for a test file, with an OpenID provider that vouches for whoever asks; apart from for-tests.ts, whose
 * users need no provider loaded.
 */
export async function identitiesForTests(): Promise<IdentityStack> {
  const stack = await startIdentityStack();
  afterAll(stack.stop);
  return stack;
}
