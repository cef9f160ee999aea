import { mutationsOf, testsOf } from "./mutation.ts";

const received = testsOf("apps/control-plane/test/received-events.test.ts");
const polled = testsOf("apps/control-plane/test/polled-events.test.ts");
const transmitted = testsOf("apps/control-plane/test/transmitted-events.test.ts");
const pushed = testsOf("apps/control-plane/test/push-delivery.test.ts");

/** Security events of the identity provider, and ours to receivers. */
export const ofSignals = mutationsOf("apps/control-plane/src", [
  [
    "event-of-any-type",
    "identity-provider/security-events.ts",
    "issuer, audience, typ: setType, currentDate",
    "issuer, audience, currentDate",
    received("a hostile token is refused, and ends nothing > %s"),
  ],
  [
    "event-for-another-service",
    "identity-provider/security-events.ts",
    "algorithms, issuer, audience, typ",
    "algorithms, issuer, typ",
    received("a hostile token is refused, and ends nothing > %s"),
  ],
  [
    "event-with-two-readings",
    "identity-provider/security-events.ts",
    "if (decodeObject(header) === undefined || claims === undefined) {",
    "if (claims === null) {",
    received("a hostile token is refused, and ends nothing > %s"),
  ],
  [
    "event-taken-twice",
    "commands/signals/receive-event.ts",
    "  if (await deps.receivedSets.has(hash)) return nothing;",
    "",
    received("a token is good once: the second time it is acknowledged and ends nothing"),
  ],
  [
    "event-kept-before-its-effect",
    "commands/signals/receive-event.ts",
    "  if (await deps.receivedSets.has(hash)) return nothing;",
    "  if (await deps.receivedSets.has(hash)) return nothing;\n  await deps.receivedSets.add(hash);",
    received("an event is acknowledged after its commits alone > %s: 503, and the next delivery ends the rest"),
  ],
  [
    "subject-of-another-issuer",
    "commands/signals/event-subject.ts",
    "return person.iss === issuer",
    "return person.iss !== ''",
    received("the person > is not found by %s, which is refused"),
  ],
  [
    "polled-event-forgotten",
    "background/poll-events.ts",
    "      const taken = await receive(token);",
    "      const taken = await receive(token).catch(() => ({ kind: 'taken' }) as EventTaken);",
    polled("an event that could not have its effect is not acknowledged, and is taken with a later poll"),
  ],
  [
    "late-event-passed-over",
    "postgres/signal-positions.ts",
    "    and p.recorded_in < pg_snapshot_xmin(pg_current_snapshot())\n",
    "\n",
    transmitted("by poll > an event that commits late, after later ones, is sent too"),
  ],
  [
    "stream-of-another-receiver",
    "postgres/signal-streams.ts",
    "from signal_stream where receiver = ",
    "from signal_stream where true or receiver = ",
    transmitted(
      "a receiver's stream > is created, read, changed, replaced and deleted by the holder of its bearer's label alone",
    ),
  ],
  [
    "receiver-on-the-inside",
    "discovery/deliver-set.ts",
    "guardedFetch({ allowed, credentials",
    'guardedFetch({ allowed: [...allowed, { kind: "host", host: "localhost" }], credentials',
    pushed("an internal address is not reached"),
  ],
  [
    "event-lost-by-a-failure",
    "discovery/deliver-set.ts",
    "if (!isAnswered) throw",
    "if (signal.aborted) throw",
    pushed("a receiver that answers %j gets the event again, with the same identifier, and no other address gets it"),
  ],
  [
    "streams-one-by-one",
    "background/push-streams.ts",
    "push().catch(",
    "await push().catch(",
    pushed("a receiver that hangs delays no other"),
  ],
  [
    "two-processes-at-a-stream",
    "postgres/signal-streams.ts",
    "endpoint_url is not null and leased_until <= now() and retry_at",
    "endpoint_url is not null and retry_at",
    pushed("the lease of a process that died runs out"),
  ],
]);
