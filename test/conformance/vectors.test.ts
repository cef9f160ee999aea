import { type DecisionVector, decisionTables } from "@svc/test-vectors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStage, type Stage } from "./src/inserted-state.ts";

/** Rows of one set of manifests share a control plane. */
interface Group {
  readonly name: string;
  readonly manifests: DecisionVector["manifests"];
  readonly identityRequired: boolean;
  readonly rows: { readonly name: string; readonly vector: DecisionVector }[];
}

const groups = new Map<string, Group>();
for (const [table, vectors] of Object.entries(decisionTables)) {
  for (const vector of vectors.filter(({ overHttp }) => overHttp !== false)) {
    const identityRequired = vector.present?.identityRequired ?? false;
    const key = JSON.stringify([vector.manifests, identityRequired]);
    const group = groups.get(key) ?? {
      name: `${table}${identityRequired ? ", identity required" : ""}`,
      manifests: vector.manifests,
      identityRequired,
      rows: [],
    };
    group.rows.push({ name: `${table}: ${vector.name}`, vector });
    groups.set(key, group);
  }
}

describe.each([...groups.values()])("$name", ({ manifests, identityRequired, rows }) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(manifests, identityRequired);
  });
  afterAll(() => stage.stop());

  test.each(rows)("the decision point: $name", async ({ vector }) => {
    const { want } = vector;
    const { session, token } = await stage.set(vector);
    const { status, body } = await stage.api.authorize(session, token, hopOf(vector), {
      ...(vector.declaredTaint && { taint: vector.declaredTaint }),
    });
    expect(status).toBe(200);
    expect({
      decision: body.decision,
      deny_reason: body.deny_reason,
      recoverable: body.recoverable,
      consentable_scopes: body.consentable_scopes ?? [],
      taint: body.taint,
      taint_source: body.taint_source,
      privileged: body.privileged,
      ...(want.guaranteeLevel !== undefined && { guarantee_level: body.guarantee_level }),
    }).toEqual({
      decision: want.outcome,
      deny_reason: want.reason ?? null,
      recoverable: want.reason === "SCOPE_NOT_CONSENTED",
      consentable_scopes: want.consentableScopes ?? [],
      taint: want.taint ?? "trusted_internal",
      taint_source: want.taintSource ?? null,
      privileged: want.privileged ?? false,
      ...(want.guaranteeLevel !== undefined && { guarantee_level: want.guaranteeLevel }),
    });
  });

  test.each(rows)("a line of hops: $name", async ({ vector }) => {
    const { want } = vector;
    const { session, token } = await stage.set(vector);
    const call = { session_id: session, token, ...hopOf(vector), body_settled: true };
    const [answer] = await stage.api.hops([{ ...call, ...(vector.declaredTaint && { taint: vector.declaredTaint }) }]);
    const { body } = answer?.authorize ?? {};
    expect([body.decision, body.deny_reason]).toEqual([want.outcome, want.reason ?? null]);
    expect([body.taint, body.taint_source]).toEqual([want.taint ?? "trusted_internal", want.taintSource ?? null]);
    if (want.outcome === "deny")
      expect(answer).toEqual({ line: 0, authorize: answer?.authorize, stages: answer?.stages });
  });

  // With identity required every exchange needs a proof, which identity-required.test.ts tests.
  test.each(identityRequired ? [] : rows)("the exchange: $name", async ({ vector }) => {
    const { want } = vector;
    const { session, token } = await stage.set(vector);
    const action = await stage.recordAllow(vector, session);
    const { status, body } = await stage.api.exchange(token, hopOf(vector), action, {
      ...(vector.declaredTaint && { taint: vector.declaredTaint }),
    });
    if (want.outcome === "allow") return expect([status, body.error]).toEqual([200, undefined]);
    expect([status, body.error]).toEqual([403, "invalid_target"]);
    expect(body.error_description).toContain(want.reason);
  });
});

const hopOf = (vector: DecisionVector) => ({
  target: vector.target,
  target_kind: vector.targetKind,
  data_class: vector.dataClass,
});
