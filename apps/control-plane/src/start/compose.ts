import { randomBytes } from "node:crypto";
import type { Telemetry } from "@svc/telemetry";
import { type HopClaims, issueHopToken, rememberVerified, rootGrantClaims, type VerifiedTokens } from "@svc/tokens";
import { uuidv7 } from "uuidv7";
import type { HouseKeeper } from "../background/keep-house.ts";
import type { SealKeeper } from "../background/keep-sealing.ts";
import type { RestoreWatch } from "../background/watch-restore.ts";
import { verifySubject } from "../commands/hop/subject-token.ts";
import type { Probe } from "../commands/readiness.ts";
import { createDiscover } from "../discovery/discover.ts";
import type { Events } from "../events/events.ts";
import { createBearers, holdersOf } from "../http/bearers.ts";
import { callerLimits } from "../http/rate-limit.ts";
import { openIdProvider } from "../identity-provider/openid-provider.ts";
import type { Clock, Ids } from "../ports/clock.ts";
import type { IssuerKeys } from "../ports/issuer-keys.ts";
import type { SessionFacts } from "../ports/session-state.ts";
import { agentKeys } from "../postgres/agent-keys.ts";
import { type AuditReads, readsOver, standbyFirst } from "../postgres/audit-reads.ts";
import { blockStore } from "../postgres/blocks.ts";
import { decisionLog } from "../postgres/decisions.ts";
import { enrollmentStore } from "../postgres/enrollments.ts";
import { probeDatabase } from "../postgres/health.ts";
import { identityStore } from "../postgres/identities.ts";
import { issuerKeyStore, keyMaker } from "../postgres/key-store.ts";
import { manifestStore } from "../postgres/manifests.ts";
import { policyStore } from "../postgres/policies.ts";
import { sessionEnds } from "../postgres/session-ends.ts";
import { sessionStateReader } from "../postgres/session-state.ts";
import { sessionStore } from "../postgres/sessions.ts";
import { spendLedger } from "../postgres/spends.ts";
import type { Deps } from "../routes/deps.ts";
import type { Config } from "./config.ts";
import { consoleKeyOf, cursorKeyOf } from "./encryption-key.ts";
import { budgets, type Stores } from "./stores.ts";

export interface Parts {
  readonly config: Config;
  readonly version: string;
  readonly telemetry: Telemetry<"control_plane">;
  readonly events: Events;
  readonly stores: Stores;
  readonly keys: IssuerKeys;
  readonly clock: Clock;
  readonly encryptionKey: Uint8Array;
  readonly houseKeeper: Pick<HouseKeeper, "lastDoneMs">;
  readonly sealKeeper: Pick<SealKeeper, "oldestUnsealedMs">;
  readonly restoreWatch: RestoreWatch;
  /** The address it listens on: the issuer, where the settings name none. */
  readonly url: string;
  readonly isDraining: () => boolean;
}

/** How many verified tokens are remembered: some 1 KiB each. */
const rememberedTokens = 20_000;

/** Every port with its adapter. */
export function compose(parts: Parts): Deps {
  const { config, version, telemetry, events, stores, keys, clock, encryptionKey, url } = parts;
  const ids: Ids = { next: uuidv7 };
  const issuer = config.issuer ?? url;
  const verified = rememberVerified("hop", { capacity: rememberedTokens });
  const verifyHopToken = verified.verify;
  const audit = auditReads(stores, clock);
  const verifying = { verifyHopToken, issuerKeys: keys, issuer, clock };
  return {
    clock,
    ids,
    version,
    issuer,
    events,
    issuerKeys: keys,
    agentKeys: agentKeys(stores.reader, budgets.read),
    verifyHopToken,
    issueHopToken: (claims) => issueVouched(keys, verified, claims),
    sessionState: sessionStateReader(stores.reader, budgets.read),
    policies: policyStore(stores.reader, budgets.read),
    decisionLog: decisionLog(stores.writer, budgets.commit),
    decisions: audit.decisions,
    spends: spendLedger(stores.writer, budgets.commit),
    guard: stores.guard,
    hopSettings: { identityRequired: config.identityRequired, mayObserve: config.mayObserve },
    bearers: createBearers(config.bearers),
    verifySubject: (token) => verifySubject(verifying, token),
    limits: callerLimits(stores.rateLimits),
    cursorKey: cursorKeyOf(config.issuerPrivateKey ?? encryptionKey),
    manifests: manifestStore({
      submissions: stores.submissions,
      reader: stores.reader,
      submitDeadlineMs: budgets.submit,
      readDeadlineMs: budgets.read,
    }),
    sessions: {
      ...sessionStore({
        writer: stores.writer,
        reader: stores.reader,
        audit: stores.audit,
        commitDeadlineMs: budgets.commit,
        readDeadlineMs: budgets.read,
        auditReadDeadlineMs: budgets.auditRead,
      }),
      ...audit.sessions,
    },
    sessionEnds: sessionEnds({
      writer: stores.writer,
      commitDeadlineMs: budgets.commit,
      batchDeadlineMs: budgets.endBatch,
    }),
    blocks: blockStore({
      writer: stores.writer,
      reader: stores.reader,
      commitDeadlineMs: budgets.commit,
      readDeadlineMs: budgets.read,
    }),
    issuerKeyStore: issuerKeyStore(stores.writer, budgets.commit),
    makeKey: config.issuerPrivateKey === undefined ? keyMaker(encryptionKey) : undefined,
    identities: identityStore({
      writer: stores.writer,
      reader: stores.reader,
      commitDeadlineMs: budgets.commit,
      readDeadlineMs: budgets.read,
    }),
    enrollments: enrollmentStore(stores.writer, budgets.commit),
    identityProvider: config.identityProvider && openIdProvider({ ...config.identityProvider, clock }),
    secrets: { next: () => randomBytes(32).toString("base64url") },
    administrativeEvents: audit.administrativeEvents,
    wouldBlocks: audit.wouldBlocks,
    decisionCounts: audit.decisionCounts,
    declarations: audit.declarations,
    console: {
      key: consoleKeyOf(config.issuerPrivateKey ?? encryptionKey),
      holders: holdersOf(config.bearers, "audit"),
      isSecure: !isPlain(config, url),
    },
    discover: createDiscover({ allowed: config.discoveryAllow }),
    consentTtlSeconds: config.consentTtlSeconds,
    issueRootGrant: (session, denialEpoch) => issueRootGrant({ session, denialEpoch, issuer, keys, clock, ids }),
    probes: probesOf(parts),
    restoreWatch: parts.restoreWatch,
    requireAcknowledged: parts.restoreWatch.requireAcknowledged,
    lastHousekeepingMs: parts.houseKeeper.lastDoneMs,
    oldestUnsealedMs: parts.sealKeeper.oldestUnsealedMs,
    renderMetrics: () => telemetry.render(),
  };
}

function auditReads({ audit, standby }: Stores, clock: Clock): AuditReads {
  const primary = readsOver(audit, budgets.auditRead);
  return standby === undefined
    ? primary
    : standbyFirst(primary, readsOver(standby.sql, budgets.auditRead), standby.watch, clock);
}

/** Where a browser reaches the console without TLS: in development, and on loopback unless a proxy ends TLS before it. */
const isPlain = ({ dev, issuer }: Config, url: string): boolean =>
  dev || (/^http:\/\/(?:127\.|localhost\b|\[::1\])/.test(url) && !issuer?.startsWith("https:"));

/** What will be presented here again needs no check then: this process knows its own signature. */
async function issueVouched(keys: IssuerKeys, verified: VerifiedTokens<"hop">, claims: HopClaims): Promise<string> {
  const { signingKey, lookup } = keys.current();
  const token = await issueHopToken(signingKey, claims);
  const key = lookup.get(signingKey.kid);
  // A tool's token comes back for a mint alone.
  if (key !== undefined && (claims.targetKind !== "tool" || claims.privileged)) verified.prime(token, key);
  return token;
}

interface RootGrant {
  readonly session: SessionFacts;
  readonly denialEpoch: string;
  readonly issuer: string;
  readonly keys: IssuerKeys;
  readonly clock: Clock;
  readonly ids: Ids;
}

async function issueRootGrant({ session, denialEpoch, issuer, keys, clock, ids }: RootGrant): Promise<string> {
  const { signingKey } = await keys.asOf(denialEpoch);
  return issueHopToken(
    signingKey,
    rootGrantClaims(
      { ...session, issuer },
      { jti: ids.next(), nowSeconds: clock.nowMs() / 1000, sessionExpiresAtSeconds: session.expiresAtMs / 1000 },
    ),
  );
}

const probesOf = ({ stores, events, restoreWatch, isDraining }: Parts): readonly Probe[] => [
  { name: "database", check: () => probeDatabase(stores.health, budgets.probe) },
  {
    name: "cache_store",
    check: async () => {
      await probeGuard(stores, events);
      if ((await restoreWatch.look()) === "unknown") throw new Error("it has not told yet what it saw of the database");
    },
  },
  {
    name: "restore",
    check: async () => {
      if ((await restoreWatch.look()) === "behind") throw new Error("the database is older than one that was served");
    },
  },
  {
    name: "draining",
    check: async () => {
      if (isDraining()) throw new Error("this process is draining");
    },
  },
];

/** An evicting store could forget a spend, so it is as good as none (contract: the single use). */
async function probeGuard({ guard }: Stores, events: Events): Promise<void> {
  await guard.ping();
  const policy = await guard.evictionPolicy();
  if (policy === "evicts") throw new Error("the cache store may evict live entries");
  if (policy === "unknown") events.evictionUnknown();
}
