import { randomBytes } from "node:crypto";
import { isLoopback } from "@svc/host";
import type { Telemetry } from "@svc/telemetry";
import { rememberVerified } from "@svc/tokens";
import { uuidv7 } from "uuidv7";
import { pushEvents } from "../background/push-events.ts";
import { tokenSigner, verifySubject } from "../commands/hop/hop-tokens.ts";
import { readinessProbes } from "../commands/readiness.ts";
import { clientDocuments } from "../discovery/client-document.ts";
import { createDiscover } from "../discovery/discover.ts";
import { callerLimits } from "../http/authentication.ts";
import { createBearers, holdersOf } from "../http/bearers.ts";
import { identityAssertions } from "../identity-provider/identity-assertions.ts";
import { openIdProvider } from "../identity-provider/openid-provider.ts";
import { securityEvents } from "../identity-provider/security-events.ts";
import { consentWebhook } from "../people/consent-webhook.ts";
import { questionsOf } from "../people/questions.ts";
import type { AuditReads } from "../ports/audit-reads.ts";
import type { Clock, Ids } from "../ports/clock.ts";
import type { IssuerKeys } from "../ports/issuer-keys.ts";
import type { RestoreWatch } from "../ports/restore-watch.ts";
import { auditReads, standbyFirst } from "../postgres/audit-reads.ts";
import type { Authenticity } from "../postgres/authenticity.ts";
import { blocks } from "../postgres/blocks.ts";
import { consents } from "../postgres/consents.ts";
import { decisionLog } from "../postgres/decisions.ts";
import { denialChanges } from "../postgres/denial-changes.ts";
import { enrollments } from "../postgres/enrollments.ts";
import { probeDatabase } from "../postgres/health.ts";
import { hopLedger } from "../postgres/hops.ts";
import { agentKeys, identities } from "../postgres/identities.ts";
import { issuerKeyStore, keyMaker } from "../postgres/issuer-keys.ts";
import { manifests } from "../postgres/manifests.ts";
import { policyStore } from "../postgres/policies.ts";
import { pushedEvents } from "../postgres/pushed-events.ts";
import { receivedSets } from "../postgres/received-sets.ts";
import { sessionStateReader } from "../postgres/session-state.ts";
import { sessions } from "../postgres/sessions.ts";
import { signIns } from "../postgres/sign-ins.ts";
import { signalStreams } from "../postgres/signal-streams.ts";
import { spendLedger } from "../postgres/spends.ts";
import type { Deps } from "../routes/deps.ts";
import type { Config } from "./config.ts";
import { derivedKey } from "./encryption-key.ts";
import { peopleOf } from "./people.ts";
import { sinksOf } from "./sinks.ts";
import type { Stores } from "./stores.ts";

interface Parts extends Pick<Deps, "version" | "events" | "clock" | "lastHousekeepingMs" | "oldestUnsealedMs"> {
  readonly config: Config;
  readonly telemetry: Telemetry<"control_plane">;
  readonly stores: Stores;
  readonly issuerKeys: IssuerKeys;
  readonly encryptionKey: Uint8Array;
  readonly authenticity: Authenticity;
  readonly restoreWatch: RestoreWatch;
  /** The address it listens on: the issuer, unless the settings name one. */
  readonly url: string;
  readonly sealsAreProven: () => boolean;
  readonly isDraining: () => boolean;
}

/** Some 1 KiB each. */
const rememberedTokens = 20_000;

/** Connects every port to its adapter. */
export function compose({
  config,
  telemetry,
  stores,
  encryptionKey,
  authenticity,
  url,
  sealsAreProven,
  isDraining,
  ...parts
}: Parts): Deps {
  const { events, issuerKeys, clock, restoreWatch } = parts;
  const { writer, reader, guard } = stores;
  const denials = denialChanges(writer);
  const ids: Ids = { next: uuidv7 };
  const issuer = config.issuer ?? url;
  const verified = rememberVerified("hop", { capacity: rememberedTokens });
  const verifiedSiblings = rememberVerified("sibling", { capacity: rememberedTokens, once: true });
  const verifiers = { verifyHopToken: verified.verify, verifySibling: verifiedSiblings.verify };
  const verifyDeps = { ...verifiers, issuerKeys, issuer, clock };
  const derivedFrom = config.issuerPrivateKey ?? encryptionKey;
  return {
    ...parts,
    ...verifyDeps,
    audit: auditReadsOf(stores, clock),
    ids,
    signer: tokenSigner({ issuerKeys, issuer, clock, ids, verified, verifiedSiblings }),
    verifySubject: (token) => verifySubject(verifyDeps, token),
    agentKeys: agentKeys(reader),
    sessionState: sessionStateReader(reader),
    policies: policyStore(reader, authenticity, events.authorityUnproven),
    decisionLog: decisionLog(writer),
    spends: spendLedger(writer),
    hops: hopLedger(writer),
    denialHold: denials,
    guard,
    hopSettings: { identityRequired: config.identityRequired, mayObserve: config.mayObserve },
    bearers: createBearers(config.bearers),
    limits: callerLimits(stores.rateLimits),
    cursorKey: derivedKey(derivedFrom, "svc page cursor"),
    manifests: manifests(stores, authenticity, events.authorityUnproven),
    sessions: sessions(stores),
    blocks: blocks(stores, denials),
    issuerKeyStore: issuerKeyStore(denials),
    makeKey: config.issuerPrivateKey === undefined ? keyMaker(encryptionKey) : undefined,
    identities: identities(stores, denials),
    enrollments: enrollments(writer, denials),
    identityProvider: config.identityProvider && openIdProvider({ ...config.identityProvider, clock }),
    identityAssertions: config.signIn && identityAssertions({ issuer: config.signIn.issuer, clock }),
    signIns: signIns(stores),
    people: config.signIn && peopleOf(config.signIn, { clock, issuer, derivedFrom, isSecure: !isPlain(config, url) }),
    secrets: { next: () => randomBytes(32).toString("base64url") },
    console: {
      key: derivedKey(derivedFrom, "svc console sign-in"),
      holders: holdersOf(config.bearers, "audit"),
      isSecure: !isPlain(config, url),
    },
    traceUrl: config.traceUrl,
    discover: createDiscover({ allowed: config.discoveryAllow, credentials: config.discoveryCredentials }),
    consentTtlSeconds: (scope) => config.consentTtlByScope.get(scope) ?? config.consentTtlSeconds,
    consents: consents(stores),
    questions: questionsOf(derivedKey(derivedFrom, "svc consent question"), issuer, clock),
    oauth: {
      clients: config.oauthClients,
      resources: config.oauthResources,
      readClientDocument: clientDocuments(config.discoveryAllow),
    },
    askPerson:
      config.consentWebhook &&
      consentWebhook({ ...config.consentWebhook, clock, onFailed: events.consentWebhookFailed }),
    securityEvents: config.signals && securityEvents({ ...config.signals, clock }),
    receivedSets: receivedSets(stores),
    signalStreams: signalStreams(stores),
    receiverKey: derivedKey(derivedFrom, "svc signal receiver"),
    push: pushEvents({ events: pushedEvents(stores), clock }),
    sinks: sinksOf(stores, authenticity, issuerKeys),
    probes: readinessProbes({
      probeDatabase: () => probeDatabase(stores.health, ids),
      guard,
      restoreWatch,
      sealsAreProven,
      isDraining,
      onEvictionUnknown: events.evictionUnknown,
      onDatabaseFailing: events.storeUnavailable,
    }),
    requireAcknowledged: restoreWatch.requireAcknowledged,
    renderMetrics: () => telemetry.render(),
  };
}

function auditReadsOf({ audit, standby }: Stores, clock: Clock): AuditReads {
  const primary = auditReads(audit);
  return standby === undefined ? primary : standbyFirst(primary, auditReads(standby.pool), standby.watch, clock);
}

/** A browser reaches the console without TLS: in development, and on loopback unless a proxy in front ends TLS. */
const isPlain = ({ dev, issuer }: Config, url: string): boolean =>
  dev || (isLoopback(new URL(url).hostname) && !url.startsWith("https:") && !issuer?.startsWith("https:"));
