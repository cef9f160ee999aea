import { mutationsOf, testsOf } from "./mutation.ts";

const discovery = testsOf("apps/control-plane/test/discovery.test.ts");
const reading = testsOf("apps/control-plane/test/http-reading.test.ts");
const clock = testsOf("apps/control-plane/test/steady-clock.test.ts");
const unwritable = testsOf("apps/control-plane/test/unwritable-record.test.ts");
const names = testsOf("apps/control-plane/test/stored-names.test.ts");
const restores = testsOf("apps/control-plane/test/watch-restore.test.ts");
const oneTrip = testsOf("apps/control-plane/test/hops.test.ts");
const races = testsOf("apps/control-plane/test/hop-races.test.ts")(
  "lines of hops race what ends their right, and > $name: no allow is written afterwards, and each one before has its record, its spend and its token",
);

export const ofControlPlane = mutationsOf("apps/control-plane/src", [
  ["session-epoch-unchecked", "postgres/decision-rows.ts", " and st.epoch = r.session_epoch", "", races],
  [
    "denial-epoch-unchecked",
    "postgres/decision-rows.ts",
    "join denial_epoch d on d.epoch = r.denial_epoch",
    "cross join denial_epoch d",
    races,
  ],
  [
    "silent-guard-claims",
    "commands/hop/take-hop.ts",
    'return { kind: "unavailable", fault };',
    "return undefined;",
    oneTrip("a line > whose guard is silent spends nothing, and there is no token"),
  ],
  [
    "spent-unasked",
    "postgres/hops.ts",
    "action_id in (select action_id from spent) as is_spent",
    "true as is_spent",
    oneTrip("a line > whose token is spent, though the guard forgot it, brings no token"),
  ],
  [
    "open-body-exchanged",
    "commands/hop/take-hop.ts",
    "(bodySettled || acceptsTaint(verdict));",
    "true;",
    testsOf("test/conformance/hops.test.ts")(
      "a call that is allowed and settled > of an open body is taken only where the target accepts taint",
    ),
  ],
  [
    "planes-mixed",
    "http/bearers.ts",
    'admin: ["admin"],',
    'admin: ["admin", "audit"],',
    testsOf("apps/control-plane/test/bearers.test.ts")("$name at $plane: $want"),
  ],
  [
    "two-bearers-accepted",
    "http/bearers.ts",
    "/^Bearer +([A-Za-z0-9._~+/-]+=*)$/i",
    "/^Bearer +([A-Za-z0-9._~+/-]+=*)/i",
    testsOf("apps/control-plane/test/bearers.test.ts")("an Authorization header with %s is 401"),
  ],
  [
    "cursors-unsigned",
    "http/page.ts",
    "return timingSafeEqual(bytes.subarray(0, macBytes), mac(key, use, position)) ? position : undefined;",
    "return position;",
    testsOf("apps/control-plane/test/cursor.test.ts")("a cursor is invalid for %s"),
  ],
  [
    "repeated-parameters-accepted",
    "http/form.ts",
    "return form.repeated === undefined",
    "return form !== undefined",
    reading("a form > with %s is rejected"),
  ],
  [
    "endless-bodies-read",
    "http/body.ts",
    "await readBounded(request.body, capBytes)",
    "await readBounded(request.body, 2 * capBytes)",
    reading("a body > over the cap is rejected while it streams"),
  ],
  [
    "internal-counts-as-public",
    "discovery/allow-list.ts",
    'if (parsed.range() !== "unicast" || address === platformServer) return false;',
    "if (address === platformServer) return false;",
    testsOf("apps/control-plane/test/discovery-guard.test.ts")("an address is not public > %s: %s"),
  ],
  [
    "names-resolved-again",
    "discovery/guarded-fetch.ts",
    "const addresses = pinned.get(host) ?? resolve(host);",
    "const addresses = resolve(host);",
    discovery("the guard > resolves a name once and connects to the address that it checked"),
  ],
  [
    "discovery-follows",
    "discovery/guarded-fetch.ts",
    'redirect: "manual", signal: within',
    'redirect: "follow", signal: within',
    discovery("an http source > that %s counts as unavailable, with a remedy"),
  ],
  [
    "discovery-without-end",
    "discovery/guarded-fetch.ts",
    'if (received > maxAnswerBytes) controller.error(fail(new DiscoveryFault("too_large")));',
    'if (received < 0) controller.error(fail(new DiscoveryFault("too_large")));',
    discovery("an http source > that %s counts as unavailable, with a remedy"),
  ],
  [
    "id-token-for-another-party",
    "identity-provider/openid-provider.ts",
    "[aud].flat().length === 1 || azp === audience;",
    "[aud].flat().length >= 1 || azp === audience;",
    testsOf("apps/control-plane/test/identity-provider.test.ts")("an ID token is rejected > %s"),
  ],
  [
    "clock-goes-back",
    "start/steady-clock.ts",
    "timeMs: Math.max(last.timeMs, shownMs)",
    "timeMs: shownMs",
    clock("a steady clock > never goes back, and waits a second at most, for any wall clock"),
  ],
  [
    "clock-gains-what-interrupts",
    "start/steady-clock.ts",
    "monotonicMs: monotonicMs() };",
    "monotonicMs: beforeMs };",
    clock(
      "a steady clock > is never ahead of the wall clock, wherever the process is interrupted, and never behind its call",
    ),
  ],
  [
    "transaction-pooling-accepted",
    "postgres/server-process.ts",
    "if (await sharesServerProcesses(url)) throw new SharedServerProcesses();",
    "await sharesServerProcesses(url);",
    testsOf("apps/control-plane/test/pooler.test.ts")(
      "a pooler > %s is refused with one line that names the setting and the remedy",
    ),
  ],
  [
    "expected-faults-alone",
    "postgres/database.ts",
    "/^[0-9A-Z_]+$/.test(codeOf(error))",
    "/^(?:08|28|3D|53|57|58)/.test(codeOf(error))",
    unwritable("while a table $name > %s is 503 with its own code, and succeeds afterwards"),
  ],
  [
    "ready-without-the-record",
    "postgres/health.ts",
    "    await insertEverywhere(tx, ids.next(), new Date(0));\n",
    "",
    unwritable("while a table $name > %s the process is not ready"),
  ],
  [
    "ready-on-one-key",
    "redis/guard.ts",
    "crypto.randomUUID()",
    '"one"',
    testsOf("apps/control-plane/test/guard-redis.test.ts")(
      "one node of a cluster that is given as a single server > rejects pings with a line that names the setting and the remedy",
    ),
  ],
  [
    "restore-unnoticed",
    "background/watch-restore.ts",
    "isBehind: now.count < seen.count",
    "isBehind: now.count > seen.count",
    restores("nothing is granted until it is above its mark"),
  ],
  [
    "restored-count-raised",
    "background/watch-restore.ts",
    'if (state !== "current" || seen === undefined) return;',
    "if (seen === undefined) return;",
    restores("its count is never raised, and one report is made"),
  ],
  [
    "fault-cause-in-response",
    "http/error-handling.ts",
    'new ApiError("internal", "The request could not be served.", { cause: error });',
    'new ApiError("internal", String(error), { cause: error });',
    testsOf("apps/control-plane/test/requests.test.ts")(
      "an unexpected fault > is 500 without its cause, and is reported",
    ),
  ],
  [
    "weak-secret-passes",
    "start/check.ts",
    "words.test(secret) ||",
    "",
    testsOf("apps/control-plane/test/check.test.ts")("%s looks guessable"),
  ],
  ...(
    [
      ["authorize", "lenders: (policy) => lendersOf(policy, hop),"],
      ["exchange", "lenders: (policy) => lendersOf(policy, calledBy(command, subject.claims, policy)),"],
      ["renew", "lenders: entryAgents,"],
      [
        "mint",
        "const state = await withLenders(deps, loaded, hop);",
        'const state = loaded as typeof loaded | "stale";',
      ],
    ] as const
  ).map(
    ([step, text, replacement = ""]) =>
      [
        `lenders-unread-at-${step}`,
        `commands/hop/${step}.ts`,
        text,
        replacement,
        testsOf("test/conformance/spec-lenders.test.ts")(
          "are denied from the next decision, exchange, mint, renewal and list of targets on",
        ),
      ] as const,
  ),
  [
    "consent-without-an-agent",
    "commands/sessions.ts",
    "if (!agents.some((agent) => isInGoodStanding(agent, present))) {",
    "if (agents.length < 0) {",
    testsOf("test/conformance/spec-lenders.test.ts")(
      "cannot be consented to: 409, which names the agents, and no session starts",
    ),
  ],
  [
    "proof-of-another-agent",
    "commands/hop/actor-proof.ts",
    "(expected.includes(agent) ? deps.agentKeys.keysOf(agent) : undefined)",
    "(expected ? deps.agentKeys.keysOf(agent) : undefined)",
    testsOf("test/conformance/identity-required.test.ts")(
      "a later hop > refuses the proof of %s, which is not the caller",
    ),
  ],
  [
    "a-token-spent-twice",
    "postgres/migrations/0001_initial.sql",
    "jti_hash bytea primary key,\n  action_id uuid unique,",
    "jti_hash bytea,\n  action_id uuid,",
    testsOf("test/conformance/exchange.test.ts")(
      "of 64 parallel exchanges of one token one succeeds and 63 are invalid_grant",
    ),
  ],
  [
    "record-can-be-changed",
    "postgres/migrations/0001_initial.sql",
    "    execute format('alter table %I enable always trigger append_only', record_table);\n",
    "",
    testsOf("test/conformance/record.test.ts")(
      "a replication role, which skips ordinary triggers, cannot delete decisions",
    ),
  ],
  [
    "forged-position-counted",
    "postgres/migrations/0019_would_block_counts.sql",
    "\n    and seq <= pg_sequence_last_value(pg_get_serial_sequence('decision', 'seq')::regclass)",
    "",
    testsOf("apps/control-plane/test/would-block-counts.test.ts")(
      "the service's role > cannot keep later rows from the list by a forged position",
    ),
  ],
  [
    "unmarked-policy-used",
    "postgres/authenticity.ts",
    "  marks.holds(mac, parts) || (listedHash",
    "  mac !== undefined || (listedHash",
    testsOf("apps/control-plane/test/stored-authority.test.ts")(
      "a policy that the service's role inserts > is 503 at the consent, never a policy",
    ),
  ],
  [
    "unmarked-owner-counts",
    "postgres/names-on-record.ts",
    "(isOurs ? proven : unproven).set(",
    "proven.set(",
    names("an owner that the service's role inserts > %s owns nothing beside the accepted one"),
  ],
  [
    "older-fact-counts",
    "postgres/names-on-record.ts",
    "if (isOurs && revision > (known?.revision ?? -1))",
    "if (isOurs && known === undefined)",
    names("a fact that the service's role inserts > %s weakens no tool"),
  ],
  [
    "foreign-seal-continued",
    "postgres/seals/head.ts",
    "return isOurs ? read : undefined;",
    "return read;",
    testsOf("apps/control-plane/test/seal-head.test.ts")(
      "a seal is continued > by nothing else: not under another secret and with other keys",
    ),
  ],
]);

export const ofEmbedded = mutationsOf("packages/embedded/src", [
  [
    "guard-forgets-early",
    "cache.ts",
    "expiresAtMs: nowMs + ttlSeconds * 1000",
    "expiresAtMs: nowMs + ttlSeconds",
    testsOf("apps/control-plane/test/guard-embedded.test.ts")(
      "the embedded guard > keeps an entry until it expires, and no longer",
    ),
  ],
]);

const signIn = testsOf("packages/console/test/sign-in.test.ts");

export const ofConsole = mutationsOf("packages/console/src", [
  [
    "cookie-unsigned",
    "sign-in.ts",
    "return holders.find((viewer) => timingSafeEqual(macOf(key, end, viewer), presented));",
    "return presented && holders[0];",
    signIn("the cookie > cannot be extended or forged"),
  ],
  [
    "cookie-never-expires",
    "sign-in.ts",
    "|| Number(end) <= nowSeconds()",
    "",
    signIn("the cookie > expires after one hour, to the second"),
  ],
]);
