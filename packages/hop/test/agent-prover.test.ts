import { verificationKeyOf, verifyActorProof, verifyIdentityAssertion } from "@svc/tokens";
import { expect, test } from "vitest";
import { agentProver } from "../src/index.ts";
import { issuer, issuerKey, narrowed, rootClaims, signed } from "./support/tokens.ts";

const planner = narrowed(rootClaims(), "planner");

test("an actor proof is bound to one token and its issuer; an assertion is bound to one target", async () => {
  const nowSeconds = Date.now() / 1000;
  const prover = agentProver({ agentName: "planner", key: issuerKey });
  const token = await signed(planner);
  const keysOf = async () => [await verificationKeyOf(issuerKey)];
  const proof = await prover.prove(token);
  expect(
    await verifyActorProof(proof, { subjectToken: token }, { keysOf, audience: issuer, nowSeconds }),
  ).toMatchObject({
    ok: true,
    proof: { agent: "planner" },
  });
  expect(await prover.prove(token)).not.toBe(proof);
  const assertion = await prover.assertIdentity(token, "http:ledger/x");
  const options = { keysOf, audience: "http:ledger/x", nowSeconds };
  expect(await verifyIdentityAssertion(assertion, token, options)).toMatchObject({ ok: true });
});
