import { expect, test, vi } from "vitest";
import { runtime as web } from "../src/runtime/web.ts";

// As on a runtime whose conditions do not include "node".
vi.mock("#runtime", () => import("../src/runtime/web.ts"));

const { runtime } = await import("#runtime");
const tokens = await import("../src/index.ts");
const { agentHop, issuer, makeKeyPair, nowSeconds, toolHop, transaction } = await import("./fixtures.ts");

test("the whole package works on WebCrypto alone", async () => {
  expect(runtime).toBe(web);
  const { jwk, signing, verification } = await makeKeyPair();
  const keys = await tokens.importJwks(tokens.toJwks([verification]));
  const options = { keys, issuer, nowSeconds };

  const claims = toolHop();
  const token = await tokens.issueHopToken(signing, claims);
  expect(await tokens.verifyToken("hop", token, options)).toEqual({ ok: true, claims });
  expect(await tokens.verifyToken("transaction", token, options)).toEqual({ ok: false, cause: "type" });
  expect(await tokens.verifyToken("hop", `${token.slice(0, -86)}${"A".repeat(86)}`, options)).toEqual({
    ok: false,
    cause: "signature",
  });

  const txn = transaction(claims);
  const txnToken = await tokens.issueTransactionToken(signing, txn);
  expect(await tokens.verifyToken("transaction", txnToken, options)).toEqual({ ok: true, claims: txn });

  const subjectToken = await tokens.issueHopToken(signing, agentHop());
  const proof = await tokens.signActorProof(
    signing,
    { agent: "planner", audience: issuer, nowSeconds, jti: "j" },
    { subjectToken },
  );
  const proofOptions = { keysOf: () => [verification], audience: issuer, nowSeconds };
  expect(await tokens.verifyActorProof(proof, { subjectToken }, proofOptions)).toMatchObject({ ok: true });

  const sealed = await tokens.sealPrivateJwk(jwk, new Uint8Array(32));
  expect(await tokens.unsealPrivateJwk(sealed, signing.kid, new Uint8Array(32))).toEqual(jwk);
});
