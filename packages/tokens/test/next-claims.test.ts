import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { actChain, callerOfToken, isNarrowed, nextAct, sha256Base64url, siblingClaims } from "../src/index.ts";
import {
  agentHop,
  issuance,
  issuer,
  nowSeconds,
  rootGrant,
  sessionExpiresAtSeconds,
  toolHop,
  transaction,
} from "./fixtures.ts";

describe("chain", () => {
  const rows = [
    ["a root grant", rootGrant(), ["ana"], "ana"],
    ["hop 2", agentHop(), ["ana", "planner"], "planner"],
    ["hop 3", agentHop(agentHop(), "auditor"), ["ana", "planner", "auditor"], "auditor"],
    ["a tool's token", toolHop(), ["ana", "planner", "mcp:ledger/post_entry"], "mcp:ledger/post_entry"],
  ] as const;

  test.each(rows)(
    "of %s leads from the human to its holder, and is as long as its hop",
    (_name, claims, chain, caller) => {
      expect(actChain(claims)).toEqual(chain);
      expect(claims.hop).toBe(chain.length);
      expect(callerOfToken(claims)).toBe(caller);
    },
  );

  test("the human is innermost, the caller outermost", () => {
    expect(nextAct(agentHop(agentHop(), "auditor"))).toEqual({
      sub: "auditor",
      act: { sub: "planner", act: { sub: "ana" } },
    });
  });

  test("a loop, or an agent named like the human, does not change the length", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("ana", "planner", "auditor"), { maxLength: 30 }), (agents) => {
        const claims = agents.reduce((subject, agent) => agentHop(subject, agent), rootGrant());
        expect(actChain(claims)).toEqual(["ana", ...agents]);
        expect(claims.hop).toBe(agents.length + 1);
      }),
    );
  });
});

describe("root grant", () => {
  test("is for the issuer alone, not narrowed, and lives as long as its session", () => {
    expect(rootGrant()).toMatchObject({
      aud: issuer,
      scope: "expenses",
      act: null,
      actionId: null,
      targetKind: null,
      privileged: false,
      exp: sessionExpiresAtSeconds,
    });
    expect(isNarrowed(rootGrant())).toBe(false);
  });
});

describe("exchange", () => {
  test("keeps the human, the session and its pinned policy; the rest is from the allow", () => {
    const subject = agentHop();
    const { jti, ...claims } = toolHop(subject);
    expect(claims).toEqual({
      iss: issuer,
      sub: "ana",
      aud: "mcp:ledger/post_entry",
      scope: "finance.entries",
      hop: 3,
      act: { sub: "planner", act: { sub: "ana" } },
      sessionId: subject.sessionId,
      policyVersion: subject.policyVersion,
      actionId: "action-2",
      taint: "untrusted_external",
      targetKind: "tool",
      privileged: true,
      renewed: false,
      iat: nowSeconds,
      exp: nowSeconds + 60,
    });
    expect(jti).not.toBe(subject.jti);
  });

  test("dates are whole seconds", () => {
    const fraction = { ...issuance(), nowSeconds: nowSeconds + 0.9, sessionExpiresAtSeconds: nowSeconds + 3600.5 };
    expect(siblingClaims(agentHop(), "trusted_internal", fraction)).toMatchObject({
      iat: nowSeconds,
      exp: nowSeconds + 60,
    });
  });

  test("no token outlives its session", () => {
    const soon = { ...issuance(), sessionExpiresAtSeconds: nowSeconds + 7.9 };
    expect(siblingClaims(agentHop(), "trusted_internal", soon).exp).toBe(nowSeconds + 7);
  });

  test("a token exchanged for a renewed one is not marked as renewed", () => {
    expect(toolHop(siblingClaims(agentHop(), "trusted_internal", issuance())).renewed).toBe(false);
  });
});

describe("renewal", () => {
  test("a sibling differs in jti, dates, taint and the renewed mark alone", () => {
    const subject = agentHop();
    const next = { ...issuance(), nowSeconds: nowSeconds + 50 };
    expect(siblingClaims(subject, "untrusted_external", next)).toEqual({
      ...subject,
      jti: next.jti,
      iat: nowSeconds + 50,
      exp: nowSeconds + 110,
      taint: "untrusted_external",
      renewed: true,
    });
  });

  test("a root grant's sibling lives as long as the session", () => {
    expect(siblingClaims(rootGrant(), "trusted_internal", issuance()).exp).toBe(sessionExpiresAtSeconds);
  });
});

describe("transaction", () => {
  test("is for one call: the hop token's subject, target, class, action and caller", () => {
    const hopToken = toolHop();
    expect(transaction(hopToken)).toMatchObject({
      sub: "ana",
      aud: hopToken.aud,
      target: hopToken.aud,
      scope: hopToken.scope,
      actionId: hopToken.actionId,
      caller: "planner",
      sessionId: hopToken.sessionId,
      hopJtiHash: sha256Base64url(hopToken.jti),
    });
  });

  test("lives no longer than its hop token", () => {
    const hopToken = { ...toolHop(), exp: nowSeconds + 12 };
    expect(transaction(hopToken).exp).toBe(nowSeconds + 12);
  });
});
