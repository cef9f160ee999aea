import { expect, test } from "vitest";
import { createVerifier, type VerifierSink } from "../src/index.ts";
import { controlPlane } from "./support/control-plane.ts";
import {
  callHeaders,
  dataClass,
  headersOf,
  hopClaims,
  issuer,
  jwks,
  params,
  sessionId,
  sign,
  target,
  transactionOf,
} from "./support/tokens.ts";

function recording() {
  const emitted: { kind: string; value: unknown }[] = [];
  const note =
    (kind: string) =>
    (...value: readonly unknown[]) =>
      void emitted.push({ kind, value });
  const sink: VerifierSink = { count: note("count"), gauge: note("gauge"), span: note("span"), log: note("log") };
  const of = (kind: string) => emitted.flatMap((each) => (each.kind === kind ? [each.value] : []));
  return { sink, emitted, of };
}

const verifierWith = (sink: VerifierSink) =>
  createVerifier({ issuer, audience: target, jwks, identityView: "off", sink });

test("an admission is one span and one count", async () => {
  const { sink, of } = recording();
  const claims = hopClaims();
  await verifierWith(sink).admit({ headers: headersOf(await sign(claims)), dataClass });
  expect(of("count")).toEqual([["svc_admissions", { result: "admitted" }]]);
  expect(of("span")).toMatchObject([
    [
      {
        name: "verify.admit",
        attributes: {
          "authz.action_id": claims.actionId,
          "authz.session_id": sessionId,
          "authz.hop": 3,
          "authz.target_kind": "tool",
          "authz.data_class": dataClass,
          "authz.privileged": false,
          "authz.taint": "trusted_internal",
          "authz.policy_version": 3,
        },
      },
    ],
  ]);
  expect(of("log")).toEqual([]);
});

test("a refusal is counted and logged at INFO, with the session only of a verified token", async () => {
  const { sink, of } = recording();
  const verifier = verifierWith(sink);
  await expect(verifier.admit({ headers: {}, dataClass })).rejects.toThrow();
  await expect(verifier.admit({ headers: await callHeaders(), dataClass: "hr" })).rejects.toThrow();
  expect(of("count")).toEqual([
    ["svc_admissions", { result: "refused" }],
    ["svc_admissions", { result: "refused" }],
  ]);
  expect(of("span")).toMatchObject([
    [{ attributes: { "error.type": "AdmissionRefused" } }],
    [{ attributes: { "authz.session_id": sessionId } }],
  ]);
  const line = { level: "info", message: "admission refused" };
  expect(of("log")).toEqual([
    [{ ...line, fields: { "authz.component": "verifier", "error.type": "AdmissionRefused" } }],
    [
      expect.objectContaining({
        ...line,
        fields: expect.objectContaining({ "authz.session_id": sessionId, "authz.hop": 3 }),
      }),
    ],
  ]);
});

test("a transaction's rejection is counted by its cause", async () => {
  const { sink, of } = recording();
  const verifier = verifierWith(sink);
  const claims = hopClaims({ privileged: true });
  const headers = headersOf(await sign(claims), { "txn-token": await transactionOf(claims) });
  await verifier.admit({ headers, dataClass, params });
  await expect(verifier.admit({ headers, dataClass, params })).rejects.toThrow();
  expect(of("count")).toContainEqual(["svc_transaction_rejections", { cause: "replayed" }]);
});

test("a view that cannot be read is logged as a warning without address, credential or cause", async () => {
  const { sink, of } = recording();
  const plane = controlPlane();
  plane.state.failure = 500;
  const identityView = { url: plane.url, token: "secret-reader" };
  const verifier = createVerifier({ issuer, audience: target, jwksUrl: plane.jwksUrl, identityView, sink });
  await verifier.ready();
  verifier.close();
  const fields = { "authz.component": "verifier", "error.type": "RefreshFault" };
  expect(of("log").flat()).toEqual(
    expect.arrayContaining([
      { level: "warn", message: "issuer keys not refreshed", fields },
      { level: "warn", message: "identity view not refreshed", fields },
    ]),
  );
});

test("no telemetry contains a token, a jti, an audience, a name or parameters", async () => {
  const { sink, emitted } = recording();
  const verifier = verifierWith(sink);
  const claims = hopClaims({ privileged: true });
  const token = await sign(claims);
  const transaction = await transactionOf(claims);
  const headers = headersOf(token, { "txn-token": transaction });
  await verifier.admit({ headers, dataClass, params });
  await expect(verifier.admit({ headers, dataClass, params })).rejects.toThrow();
  const text = JSON.stringify(emitted);
  for (const secret of [token, transaction, claims.jti, target, "planner", "user-1", "12.5"]) {
    expect(text).not.toContain(secret);
  }
});

test("a sink that throws changes no admission", async () => {
  const fail = () => {
    throw new Error("sink");
  };
  const verifier = verifierWith({ count: fail, gauge: fail, span: fail, log: fail });
  expect(await verifier.admit({ headers: await callHeaders(), dataClass })).toMatchObject({ sub: "user-1" });
  await expect(verifier.admit({ headers: {}, dataClass })).rejects.toMatchObject({ cause: "missing_token" });
});
