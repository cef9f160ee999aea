import { describe, expect, test } from "vitest";
import { decideAgain, type Hop, type Stage } from "../src/index.ts";
import { deny, given, hop, scriptedPorts, sibling, spent, success } from "./support/scripted-hop.ts";
import { refusal, type Scripted } from "./support/scripted-transport.ts";

describe("deciding again", () => {
  const again = async (decide: Scripted, more: Partial<Hop> = {}) => {
    const { ports, log, givenBack, sent } = scriptedPorts({ ...success, decide });
    return { result: await decideAgain(ports, { ...hop, ...more }), log, givenBack: givenBack(), sent };
  };

  test("an allow returns the token that was decided on; nothing is spent and no stage is reported", async () => {
    const stages: Stage[] = [];
    const { result, log, givenBack } = await again(success.decide, { onStage: (stage) => stages.push(stage) });
    expect(result).toEqual({ kind: "allowed", token: sibling });
    expect({ log, givenBack, stages }).toEqual({ log: ["lease", "decide"], givenBack: 1, stages: [] });
  });

  test.each<[string, Scripted, object, number]>([
    ["a deny", { status: 200, body: deny }, { kind: "denied", decision: { denyReason: "TAINT_BLOCKED" } }, given],
    ["a token that does not verify", refusal(401, "unauthorized"), { kind: "unauthorized" }, spent],
    ["no response", "timeout", { kind: "unusable", fault: "timeout" }, given],
  ])("%s is the same failure as of a first decision", async (_name, decide, want, givenBack) => {
    const decided = await again(decide);
    expect(decided.result).toMatchObject({ ...want, step: "decide" });
    expect(decided.givenBack).toBe(givenBack);
  });
});
