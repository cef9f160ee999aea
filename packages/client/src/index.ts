export type { AdminPlane, Blocked, Reason, RegisterAgent, SubmitManifest } from "./admin-plane.ts";
export type { AuditPlane, DecisionFilters } from "./audit-plane.ts";
export type { AuthorizeRequest } from "./authorize-hop.ts";
export {
  type AuthorizedMcp,
  authorizedMcpTransport,
  type McpFetch,
  type McpTransport,
} from "./authorized-mcp-transport.ts";
export type { ToolRequest } from "./authorized-request.ts";
export { authorizedTool, type ToolHop, type ToolOptions } from "./authorized-tool.ts";
export type {
  AgentIdentity,
  AgentListItem,
  AgentRegistration,
  AuditEvent,
  BlockRead,
  ChainHop,
  ChainRead,
  DecisionRow,
  EnrollmentOutcome,
  EnrollToken,
  ExplanationRead,
  IssuerEpoch,
  IssuerKey,
  JsonWebKeySet,
  KeyRotation,
  ManifestRead,
  Readiness,
  ReconciliationReport,
  RequestBody,
  Revocation,
  Revocations,
  ScopeCatalog,
  ServerMetadata,
  SessionRead,
  SessionSummary,
  SessionTarget,
  WouldBlock,
} from "./bodies.ts";
export type { Params } from "./bound-params.ts";
export { AuthzClient, type CallRequest, type Consent } from "./client.ts";
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
export type { Grant } from "./grant.ts";
export { type HopContext, hopContext } from "./hop-context.ts";
export type { Enroll, IdentityPlane } from "./identity-plane.ts";
export type { LabeledResult } from "./label.ts";
export type { AuthzClientOptions } from "./options.ts";
export { everyRow, type Page, type PageQuery } from "./pages.ts";
export type { CallOptions } from "./plane.ts";
export type { Session } from "./session.ts";
