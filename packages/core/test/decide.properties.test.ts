import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { callEffect, decide, decideCaller, type PresentState, runChecks } from "../src/decide.ts";
import { checkNames, denyReasons } from "../src/deny-reason.ts";
import type { HopRequest } from "../src/hop.ts";
import { indexPolicy, type PolicyIndex, pathKey } from "../src/policy-index.ts";
import { agents, compiled, declarations, question, quiet, targets } from "./arbitraries.ts";
import { decideByHand } from "./decide-by-hand.ts";

const runs = { numRuns: 500 };

test("decide is total, allows exactly what every check passes, and denies for the first that fails", () => {
  fc.assert(
    fc.property(question, ([index, hop, present]) => {
      const verdict = decide(index, hop, present);
      const results = runChecks(index, hop, present);
      expect(results.map(({ name }) => name)).toEqual(checkNames);
      const first = results.find(({ reason }) => reason !== undefined)?.reason;
      expect(verdict.outcome === "deny" ? verdict.reason : undefined).toBe(first);
    }),
    runs,
  );
});

test("the verdict is that of the decision table, read row by row over the stored document", () => {
  fc.assert(
    fc.property(question, ([index, hop, present]) => {
      const verdict = decide(index, hop, present);
      const answer = verdict.outcome === "deny" ? verdict.reason : "allow";
      expect(answer).toBe(decideByHand(index.policy.document, hop, present));
    }),
    { numRuns: 1_500 },
  );
});

test("the generated inputs reach every deny reason and an allow", () => {
  const seen = new Set<string>();
  for (const [index, hop, present] of fc.sample(question, { numRuns: 2_000, seed: 1 })) {
    const verdict = decide(index, hop, present);
    seen.add(verdict.outcome === "deny" ? verdict.reason : "allow");
  }
  expect([...denyReasons, "allow"].filter((answer) => !seen.has(answer))).toEqual([]);
});

test("only SCOPE_NOT_CONSENTED names scopes, sorted, and each of them would admit the call", () => {
  fc.assert(
    fc.property(question, ([index, hop, present]) => {
      const verdict = decide(index, hop, present);
      if (verdict.outcome === "allow") return;
      if (verdict.reason !== "SCOPE_NOT_CONSENTED") expect(verdict.consentableScopes).toEqual([]);
      expect([...verdict.consentableScopes].sort()).toEqual(verdict.consentableScopes);
      for (const scope of verdict.consentableScopes) {
        const other = present.otherScopes.find((candidate) => candidate.scope === scope);
        if (other === undefined) throw new Error("a consentable scope is one of the caller's others");
        const trusting = {
          ...hop,
          narrowedTo: undefined,
          tokenTaint: "trusted_internal",
          declaredTaint: undefined,
        } as const;
        expect(decide(other, trusting, quiet).outcome).toBe("allow");
      }
    }),
    runs,
  );
});

/** Ways in which the present state can get worse. */
const worse: fc.Arbitrary<(present: PresentState) => PresentState> = fc.oneof(
  fc.constant((present: PresentState) => ({ ...present, session: { ...present.session, revoked: true } })),
  fc.constant((present: PresentState) => ({ ...present, identityRequired: true })),
  fc.constantFrom(...agents).map((agent) => (present: PresentState) => ({
    ...present,
    identities: new Map([...present.identities, [agent, "revoked"] as const]),
  })),
  fc.constantFrom(...targets).map((ref) => (present: PresentState) => ({
    ...present,
    blocks: [...present.blocks, { kind: "tool" as const, ref }],
  })),
  fc.constantFrom(null, ...agents).map((member) => (present: PresentState) => ({
    ...present,
    marks: new Map([...present.marks, [member, "declared"] as const]),
  })),
);

const allowed = (index: Parameters<typeof decide>[0], hop: HopRequest, present: PresentState) =>
  decide(index, hop, present).outcome === "allow";

test("no denial, block or mark ever turns a deny into an allow", () => {
  fc.assert(
    fc.property(
      question,
      worse,
      ([index, hop, present], change) => allowed(index, hop, present) || !allowed(index, hop, change(present)),
    ),
    runs,
  );
});

test("no taint, claimed or declared, ever turns a deny into an allow", () => {
  const tainted = fc.constantFrom(
    { tokenTaint: "untrusted_external" } as const,
    { declaredTaint: "untrusted_external" } as const,
  );
  fc.assert(
    fc.property(
      question,
      tainted,
      ([index, hop, present], claim) => allowed(index, hop, present) || !allowed(index, { ...hop, ...claim }, present),
    ),
    runs,
  );
});

test("no narrower token ever turns a deny into an allow", () => {
  fc.assert(
    fc.property(question, ([index, hop, present]) => {
      const narrower = { ...hop, narrowedTo: (hop.narrowedTo ?? ["finance"]).map((name) => `${name}.drafts`) };
      return allowed(index, hop, present) || !allowed(index, narrower, present);
    }),
    runs,
  );
});

test("what other scopes declare never turns a deny into an allow", () => {
  fc.assert(
    fc.property(
      question,
      ([index, hop, present]) => allowed(index, hop, present) === allowed(index, hop, { ...present, otherScopes: [] }),
    ),
    runs,
  );
});

test("the verdict on an undeclared target does not depend on whether it is revoked, quarantined or blocked", () => {
  fc.assert(
    fc.property(question, ([index, hop, present]) => {
      const caller = hop.chain.at(-1);
      const declares = caller === undefined ? index.human : index.agents.get(caller);
      fc.pre(!hop.chain.includes(hop.target) && hop.target !== index.scope);
      fc.pre(!(hop.targetKind === "tool" ? declares?.tools.has(hop.target) : declares?.downstream.has(hop.target)));
      const answer = decide(index, hop, present);
      const identities = (status: "revoked" | "quarantined") =>
        new Map([...present.identities, [hop.target, status] as const]);
      const blocked = (kind: "tool" | "agent") => ({
        ...present,
        blocks: [...present.blocks, { kind, ref: hop.target }],
      });
      for (const known of [
        { ...present, identities: identities("revoked") },
        { ...present, identities: identities("quarantined") },
        blocked("tool"),
        blocked("agent"),
      ]) {
        expect(decide(index, hop, known)).toEqual(answer);
      }
    }),
    runs,
  );
});

test("every allowed delegation leads to a compiled chain within its budget", () => {
  fc.assert(
    fc.property(declarations, (declared) => {
      const index = indexPolicy({ scope: "s", version: 1, document: compiled(declared) });
      const walk = (chain: readonly string[]): number => {
        if (chain.length > 0) expect(index.budgets.get(pathKey(chain))).toBeGreaterThanOrEqual(chain.length);
        const steps = agents.filter((target) => {
          const classes = index.agents.get(target)?.reachableClasses ?? [];
          return allowed(index, { ...asking(chain, target), dataClass: classes.join(" ") }, quiet);
        });
        return 1 + steps.reduce((count, target) => count + walk([...chain, target]), 0);
      };
      const withData = index.policy.document.paths.filter(({ path }) =>
        path.every((name) => index.agents.get(name)?.reachableClasses.length),
      );
      expect(walk([])).toBe(1 + withData.length);
    }),
  );
});

const asking = (chain: readonly string[], target: string): HopRequest => ({
  hop: chain.length + 1,
  chain,
  target,
  targetKind: "agent",
  dataClass: "finance",
  narrowedTo: undefined,
  tokenTaint: "trusted_internal",
  declaredTaint: undefined,
});

describe("the caller's checks", () => {
  const standing = denyReasons.slice(0, denyReasons.indexOf("PATH_NOT_DECLARED"));
  const reasonOf = (index: PolicyIndex, hop: HopRequest, present: PresentState) => {
    const verdict = decide(index, hop, present);
    return verdict.outcome === "deny" && standing.includes(verdict.reason) ? verdict.reason : undefined;
  };
  const withoutTarget = (hop: HopRequest) => ({ ...hop, target: "http:no/where", targetKind: "tool" }) as const;

  test("give what checks 1-4 give for a call to an undeclared target", () => {
    fc.assert(
      fc.property(question, ([index, hop, present]) => {
        fc.pre(hop.chain.length > 0);
        expect(decideCaller(index, hop, present)).toBe(reasonOf(index, withoutTarget(hop), present));
      }),
      runs,
    );
  });

  test("deny the person where they deny every entry agent, for the first reason that one of them has", () => {
    fc.assert(
      fc.property(question, ([index, asked, present]) => {
        const hop = { ...asked, chain: [] };
        const alone = { ...present, blocks: present.blocks.filter(({ kind }) => kind === "agent") };
        const reasons = [...index.human.downstream].map((target) =>
          reasonOf(index, { ...hop, target, targetKind: "agent" }, alone),
        );
        const [first] = standing.filter((reason) => reasons.includes(reason));
        const isDenied = reasons.length > 0 && !reasons.includes(undefined);
        expect(decideCaller(index, hop, present)).toBe(isDenied ? first : reasonOf(index, withoutTarget(hop), present));
      }),
      runs,
    );
  });
});

describe("the effect of a call", () => {
  test("is none exactly where it was refused; a delegation only to a declared agent; else results, untrusted unless declared trusted", () => {
    fc.assert(
      fc.property(question, fc.boolean(), ([index, hop, present], enforced) => {
        const verdict = decide(index, hop, present);
        const effect = callEffect(index, hop, verdict, enforced);
        const caller = hop.chain.at(-1);
        const declares = caller === undefined ? index.human : index.agents.get(caller);
        expect(effect.kind === "none").toBe(verdict.outcome === "deny" && enforced);
        if (effect.kind === "delegation")
          expect(hop.targetKind === "agent" && declares?.downstream.has(hop.target)).toBe(true);
        if (effect.kind === "results" && effect.taint === "trusted_internal") {
          expect(hop.targetKind === "tool" && declares?.tools.get(hop.target)?.resultTaint).toBe("trusted_internal");
        }
      }),
      runs,
    );
  });
});
