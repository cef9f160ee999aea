export {
  type AdmittingChange,
  admittingChange,
  admittingChanges,
  openReason,
  type WouldBlockGroup,
} from "./admitting-change.ts";
export { type Chain, type ChainBreakReason, chainBreakReasons, type RecordedHop, walkChain } from "./chain.ts";
export { compile, type ScopeDeclaration } from "./compile.ts";
export { isWithin, splitDataClasses } from "./data-class.ts";
export {
  type Block,
  callEffect,
  callEffects,
  decide,
  decideCaller,
  type PresentState,
  runChecks,
  type Verdict,
} from "./decide.ts";
export { type DecisionRecord, recordVersion, toDecisionRecord } from "./decision-record.ts";
export {
  changedMembers,
  type DefinitionChange,
  type DefinitionMember,
  type DefinitionPin,
  type Definitions,
  definitionMembers,
  definitionPartLength,
  type ToolDefinition,
} from "./definitions.ts";
export { admittedBy, explainedAt, remedyOfDeny } from "./denied-call.ts";
export {
  type CheckName,
  type DenyReason,
  denyReasons,
  denyReasonTable,
  isDataClassDeclared,
  isRecoverable,
} from "./deny-reason.ts";
export { discoveryReport, discoveryText } from "./discovery-report.ts";
export { type ErrorCode, errorCodes, type OAuthErrorCode } from "./error-code.ts";
export { allowLifetimeMs, allowMatches, type ExchangeRequest } from "./exchange.ts";
export { type ExplainedCheck, type Explanation, explain } from "./explain.ts";
export type { HopRequest } from "./hop.ts";
export * from "./kinds.ts";
export { entryAgents, isInGoodStanding, lendersOf, type PresentDenials } from "./lenders.ts";
export { type AgentManifest, type AgentManifestDocument, agentManifest, type DiscoverySource } from "./manifest.ts";
export { manifestSchema } from "./manifest-schema.ts";
export { capabilityMethods, firstModernRevision, isSessionMessage, mcpMeta } from "./mcp.ts";
export { isAgentName, isToolRef, mcpServerRef, protocolDataClass } from "./name-patterns.ts";
export {
  agentName,
  dataClass,
  dataClassList,
  quoted,
  scopeName,
  sentence,
  toolRef,
  userSub,
  withoutDirection,
} from "./names.ts";
export {
  type AcceptedNames,
  heldAgainstRecord,
  type NameOrigin,
  type NamesOnRecord,
  serverName,
  type ToolFact,
  toRecord,
} from "./owned-names.ts";
export { changedDefinitions, pinnedDefinitions, readDefinitions } from "./pinned-definitions.ts";
export {
  type CompiledPolicy,
  decodePolicyDocument,
  encodePolicyDocument,
  grantsNothing,
  grantsTheSame,
  type PolicyDocument,
  policySchemaVersion,
  toCatalog,
} from "./policy.ts";
export { indexPolicy, type PolicyIndex } from "./policy-index.ts";
export {
  type DiffEntry,
  type Discovered,
  type DiscoveredTool,
  type DiscoveryCredentials,
  diffKinds,
  discoveryCredentials,
  type Reconciliation,
  reconcile,
  type SourceAnswer,
} from "./reconcile.ts";
export { type RecordedPlace, recordedHop, recordedNarrowing } from "./recorded-hop.ts";
export { presentOf, type RecordedPresent, recordPresent } from "./recorded-present.ts";
export { type ChangedOutcome, type RecordedCall, redecide } from "./redecide.ts";
export type * from "./rows.ts";
export { credentialChanges, eventTypes, inconsequentialEvents, type SetError, setErrors } from "./security-events.ts";
export {
  type CallEffect,
  type CallEffects,
  classifySource,
  type Delegation,
  effectiveTaint,
  type MarkSource,
  type Marks,
  type NewMark,
  type NewSessionMark,
  newMarks,
  newSessionMarks,
  type SessionDelegation,
  type SessionMarks,
} from "./taint.ts";
export * from "./wire/admin.ts";
export * from "./wire/audit.ts";
export * from "./wire/enforcement-point.ts";
export * from "./wire/handle.ts";
export * from "./wire/hop.ts";
export * from "./wire/identity.ts";
export { noQuery, page, pagedQuery, reasonRequest } from "./wire/parts.ts";
export * from "./wire/public.ts";
export * from "./wire/push.ts";
export * from "./wire/sign-in.ts";
export * from "./wire/signals.ts";
export * from "./wire/sink.ts";
export { type CamelCase, type CamelCased, camelCase, fromWire, snakeCase, toWire } from "./wire/spelling.ts";
export { octalFault } from "./yaml-number.ts";
