import type {
  agentIdentity,
  agentListItem,
  agentRegistration,
  auditEvent,
  blockRead,
  CamelCased,
  chainHop,
  chainRead,
  completionResponse,
  decisionRow,
  enrollTokenResponse,
  explanationRead,
  issuerEpoch,
  issuerKey,
  keyRotation,
  keySet,
  manifestRead,
  readinessRead,
  reconciliationReport,
  revocation,
  revocationPage,
  scopeCatalog,
  serverMetadata,
  sessionRead,
  sessionSummary,
  sessionTarget,
  wouldBlockGroup,
} from "@svc/core";
import type { z } from "zod";

/** Bodies of the planes as the methods return and take them: in `camelCase`, times in ISO 8601, UTC. */

type BodyOf<Schema extends z.ZodType> = CamelCased<z.output<Schema>>;

/** A query or request body. Times are a `Date`, or ISO 8601 text with an offset. */
export type RequestBody<Schema extends z.ZodType> = {
  readonly [Name in keyof BodyOf<Schema>]?:
    | (Name extends "since" | "until" ? string | Date : BodyOf<Schema>[Name])
    | undefined;
};

/** An accepted manifest version. `attested`: accepted by an override. */
export type AgentRegistration = BodyOf<typeof agentRegistration>;
/** A manifest version; `doc` as it was submitted, in wire spelling. */
export type ManifestRead = BodyOf<typeof manifestRead>;
/** One agent, and the result of its latest submission. */
export type AgentListItem = BodyOf<typeof agentListItem>;
/** The outcome of an agent's most recent submission. */
export type ReconciliationReport = BodyOf<typeof reconciliationReport>;
/** What consenting to a scope grants. */
export type ScopeCatalog = BodyOf<typeof scopeCatalog>;
/** An emergency block; `until` is null for one that must be lifted. */
export type BlockRead = BodyOf<typeof blockRead>;
/** A signing key of the issuer. */
export type IssuerKey = BodyOf<typeof issuerKey>;
/** The key that signs next, and from when on. */
export type KeyRotation = BodyOf<typeof keyRotation>;
/** The new epoch: tokens issued before `notBefore` are refused. */
export type IssuerEpoch = BodyOf<typeof issuerEpoch>;

/** The delegation chain of an action back to the consenting human; `break` names the hop where it ends early. */
export type ChainRead = BodyOf<typeof chainRead>;
/** One recorded hop of a delegation chain. */
export type ChainHop = BodyOf<typeof chainHop>;
/** One recorded decision. */
export type DecisionRow = BodyOf<typeof decisionRow>;
/** Every check of a decision with its facts, and what would admit the call. */
export type ExplanationRead = BodyOf<typeof explanationRead>;
/** An event of the record that is no decision. */
export type AuditEvent = BodyOf<typeof auditEvent>;
/** Like calls that observe mode let pass and enforcement would have blocked. */
export type WouldBlock = BodyOf<typeof wouldBlockGroup>;
/** A session without its tokens. */
export type SessionSummary = BodyOf<typeof sessionSummary>;
/** A session with its taint marks; an `agent` of null is the human. */
export type SessionRead = BodyOf<typeof sessionRead>;

/** An agent's pinned identity: `anchorVersion` 0 and no keys until it first enrolled. */
export type AgentIdentity = BodyOf<typeof agentIdentity>;
/** A revoked agent, and the time from which a verifier refuses it. */
export type Revocation = BodyOf<typeof revocation>;
/** A page of revoked agents. Later revocations are of `asOf` or after: pass it as `since`. */
export type Revocations = BodyOf<typeof revocationPage>;
/** How an enrollment ended; `quarantined` carries the reason why the agent is not bound to a person. */
export type EnrollmentOutcome = BodyOf<typeof completionResponse>;
/** A token for one enrollment. */
export type EnrollToken = BodyOf<typeof enrollTokenResponse>;

/** A target that a decision would allow now. */
export type SessionTarget = BodyOf<typeof sessionTarget>;
/** Readiness, with when housekeeping last ran and the time of the oldest row that is not sealed. */
export type Readiness = RequestBody<typeof readinessRead>;
/** The issuer's metadata (RFC 8414 section 2). */
export type ServerMetadata = BodyOf<typeof serverMetadata>;
/** Public keys (RFC 7517 section 5). */
export type JsonWebKeySet = BodyOf<typeof keySet>;
