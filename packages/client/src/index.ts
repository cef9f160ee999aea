export type {
  AdminPlane,
  AgentListItem,
  AgentRegistration,
  Blocked,
  IssuerEpoch,
  IssuerKey,
  KeyRotation,
  ManifestPreview,
  ManifestRead,
  Reason,
  ReconciliationReport,
  RegisterAgent,
  ScopeCatalog,
  SubmitManifest,
} from "./admin-plane.ts";
export type {
  AgentVerdicts,
  AuditEvent,
  AuditPlane,
  BlockRead,
  ChainHop,
  ChainRead,
  DecisionFilters,
  DecisionRow,
  ExplanationRead,
  ReplayChange,
  ReplayPage,
  ReplayRequest,
  ScopeRead,
  SessionRead,
  SessionSummary,
  SignInRead,
  SinkRead,
  WouldBlock,
} from "./audit-plane.ts";
export type { AuthorizeRequest } from "./authorize-hop.ts";
export {
  type AuthorizedMcp,
  authorizedMcpTransport,
  type McpFetch,
  type McpTransport,
} from "./authorized-mcp-transport.ts";
export type { Params, ToolRequest } from "./authorized-request.ts";
export { authorizedTool, type ToolHop, type ToolOptions } from "./authorized-tool.ts";
export {
  AuthzClient,
  type CallRequest,
  type Consent,
  type JsonWebKeySet,
  type Readiness,
  type ServerMetadata,
  type SessionTarget,
} from "./client.ts";
export type { DataClass } from "./data-class.ts";
export {
  ControlPlaneRejected,
  ControlPlaneUnavailable,
  type DenyFacts,
  ManifestRejected,
  PolicyDenied,
  type RequestLine,
  TransactionParamsRequired,
  type UnavailableFault,
} from "./errors.ts";
export { type FetchTransportOptions, fetchTransport } from "./fetch-transport.ts";
export type { FollowFrom, PushedEvent } from "./follow-events.ts";
export { type Grant, type HopContext, hopContext, type Session } from "./hop-context.ts";
export type {
  AgentIdentity,
  Enroll,
  EnrollmentOutcome,
  EnrollToken,
  IdentityPlane,
  Revocation,
  Revocations,
} from "./identity-plane.ts";
export type { LabeledResult } from "./label.ts";
export type { AuthzClientOptions } from "./options.ts";
export { type CallOptions, everyRow, type Page, type PageQuery, type RequestBody } from "./plane.ts";
