import { runChecks } from "@svc/core";
import { type DecisionVector, decisionTables, toQuestion } from "@svc/test-vectors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStage, type Stage } from "./src/inserted-state.ts";

const vectors = (decisionTables["single faults"] ?? []).filter(({ overHttp }) => overHttp !== false);
const isRequired = ({ present }: DecisionVector): boolean => present?.identityRequired ?? false;

describe.each([false, true])("with identity required: %s", (identityRequired) => {
  const rows = vectors.filter((vector) => isRequired(vector) === identityRequired);
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(rows[0]?.manifests ?? {}, identityRequired);
  });
  afterAll(() => stage.stop());

  test.each(rows)("the record of $name explains the decision after the state has changed back", async (vector) => {
    const { session, token } = await stage.set(vector);
    const hop = { target: vector.target, target_kind: vector.targetKind, data_class: vector.dataClass };
    const decided = await stage.api.authorize(session, token, hop);
    await stage.set({ ...vector, present: { identityRequired } });
    const { body } = await stage.api.call("GET", `/v1/audit/actions/${decided.body.action_id}/explanation`, {
      bearer: stage.api.tokens.audit,
    });
    const { policy, hop: call, present } = toQuestion(vector);
    const failing = runChecks(policy, call, present).find(({ reason }) => reason !== undefined);
    expect([body.decision, body.deny_reason]).toEqual([vector.want.outcome, failing?.reason ?? null]);
    expect(body.checks.find(({ passed }: { passed: boolean }) => !passed)?.check).toBe(failing?.name);
    expect(body.remedy === null).toBe(failing === undefined);
  });
});
