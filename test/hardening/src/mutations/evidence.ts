import { mutationsOf, testsOf } from "./mutation.ts";

const admit = testsOf("packages/verifier/test/admit.test.ts");
const view = testsOf("packages/verifier/test/identity-view.test.ts");
const seals = testsOf("packages/seals/test/seals.test.ts");
const afterAttack = "the record after an attack > by the %s > to $name";
const attacksOnRows = testsOf("apps/control-plane/test/attacks-on-rows.test.ts")(afterAttack);
const attacksOnTables = testsOf("apps/control-plane/test/attacks-on-tables.test.ts")(afterAttack);

export const ofVerifier = mutationsOf("packages/verifier/src", [
  [
    "renewed-admitted",
    "admit.ts",
    'if (claims.renewed) throw new AdmissionRefused("type");',
    "",
    admit("the token > %s: refused"),
  ],
  [
    "any-audience",
    "admit.ts",
    "if (!audiences.includes(claims.aud) || !isNarrowed(claims))",
    "if (!isNarrowed(claims))",
    admit("the token > %s: refused"),
  ],
  [
    "another-session-admitted",
    "admit.ts",
    'if (credentials.sessionId !== claims.sessionId) throw new AdmissionRefused("session_mismatch");',
    "",
    admit("without a session header the call is refused"),
  ],
  [
    "stale-view-accepted",
    "admit.ts",
    'if (view.ageSeconds() > freshnessSeconds) throw new AdmissionRefused("stale_identity_view");',
    "",
    view("a view that is too old > admits no call until it is read again"),
  ],
  [
    "revoked-admitted",
    "admit.ts",
    "if (agents.some(view.isRevoked) || ",
    "if (",
    view("a revoked agent > is refused from the next refresh on, also one of a later page, and stays refused"),
  ],
  [
    "rollback-accepted",
    "revocation-list.ts",
    'if (asOf !== undefined && Date.parse(read.as_of) < Date.parse(asOf)) throw new RefreshFault("rolled back");',
    "",
    view("%s is no refresh: the view becomes stale"),
  ],
  [
    "late-lift-admits",
    "pushed-denials.ts",
    "if ((denials.get(name)?.ts ?? ts) < ts) denials.delete(name);",
    "if (ts > 0) denials.delete(name);",
    testsOf("packages/verifier/test/pushed-denials.test.ts")(
      "events in any order, each any number of times, refuse at least what they refuse in order",
    ),
  ],
  [
    "other-parameters-admitted",
    "admit.ts",
    'if (claims.paramsHash !== hashOf(params)) throw new AdmissionRefused("params_mismatch");',
    "",
    admit("a privileged call > with %s parameters: refused"),
  ],
  [
    "another-calls-transaction",
    "admit.ts",
    "transaction.hopJtiHash === sha256Base64url(hop.jti)",
    "transaction.hopJtiHash.length > 0",
    admit("a privileged call > with %s: refused"),
  ],
  [
    "replay-admitted",
    "admit.ts",
    'if (!isFirst) throw new AdmissionRefused("replayed");',
    "",
    admit("a privileged call > is admitted once, in any spelling of its parameters"),
  ],
]);

export const ofSeals = mutationsOf("packages/seals/src", [
  [
    "chain-unchecked",
    "chain.ts",
    "seal.previous === hash &&",
    "",
    seals("the chain > is broken where a seal was made again, by the same key"),
  ],
  [
    "seal-signature-unchecked",
    "chain.ts",
    "key.algs.includes(header.alg) && (await key.check(statement)) ? undefined",
    "key.algs.includes(header.alg) ? undefined",
    seals("the chain > a seal that names the key without its signature is rejected"),
  ],
  [
    "running-month-excused",
    "retirements.ts",
    'if (later.length === 0) return faulty("retirement_early");',
    "if (later.length === 0) return { fault: undefined, sealedByMs: undefined };",
    attacksOnRows,
  ],
  [
    "unsealed-event-excuses",
    "retirements.ts",
    'if (sealedByMs < nowMs || eventMs > nowMs + maxClockDifferenceMs) return faulty("retirement_unsealed");',
    "",
    attacksOnRows,
  ],
  [
    "hidden-rows-unseen",
    "schema.ts",
    '(hides === "true" ? [{ kind: "row_security" as const, table }] : [])',
    "[]",
    attacksOnTables,
  ],
]);

export const ofTelemetry = mutationsOf("packages/telemetry/src", [
  [
    "names-for-pseudonyms",
    "pseudonym.ts",
    "return disclose\n    ? (",
    "return !disclose\n    ? (",
    testsOf("packages/telemetry/test/pseudonym.test.ts")("identities are pseudonyms by default"),
  ],
]);

const gate = testsOf("packages/drift/test/gate.test.ts");

export const ofDrift = mutationsOf("packages/drift/src", [
  [
    "undecided-passes",
    "gate.ts",
    "...trace.edges.filter((edge) => edge.undecided > 0).map(undecidedError),",
    "",
    gate("is an error where a call was not decided, also beside the same call that was"),
  ],
  [
    "empty-run-passes",
    "aggregate.ts",
    '...(ended === 0 && seen.size === 0 ? [fault("run_empty", 0)] : []),',
    "",
    gate("is an error where a run recorded nothing, also beside one that did"),
  ],
  [
    "edge-narrowing-ignored",
    "gate.ts",
    "narrowedTo: narrowedTo ?? undefined,",
    "narrowedTo: undefined,",
    gate("is judged by what its token was narrowed to"),
  ],
  [
    "allowed-call-excused",
    "expected-denials.ts",
    'edge.outcomes.every((outcome) => outcome === "deny")',
    'edge.outcomes.some((outcome) => outcome === "deny")',
    testsOf("packages/drift/test/expected-denials.test.ts")("only where every call of the edge was denied"),
  ],
]);
