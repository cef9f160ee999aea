import { afterAll } from "vitest";
import { type IdentityStack, startIdentityStack } from "./identity-stack.ts";

/**
 * A control plane for a test file, with an OpenID provider that signs for any person; separate from for-tests.ts, whose
 * users need no provider.
 */
export async function identitiesForTests(): Promise<IdentityStack> {
  const stack = await startIdentityStack();
  afterAll(stack.stop);
  return stack;
}
