export { type AgentProver, agentProver } from "./agent-prover.ts";
export { type Deadlines, sharedDeadlines } from "./deadlines.ts";
export { decideAgain } from "./decide-again.ts";
export type {
  Hop,
  HopFailure,
  HopPorts,
  HopResult,
  HopStep,
  HopTaken,
  RecordedDeny,
  SettledBody,
} from "./hop.ts";
export { type HopLines, hopLines } from "./hop-lines.ts";
export { type HopsOffer, hopsOffer } from "./hops-offer.ts";
export { filePoolStore, type PoolStore } from "./pool/file-pool-store.ts";
export { type Lease, type LeaseResult, type PoolFault, poolFaults } from "./pool/lease.ts";
export { createRenewalPool, type RenewalPool, type RenewalPoolOptions } from "./pool/renewal-pool.ts";
export { type RenewalSource, renewalSource } from "./pool/renewal-source.ts";
export { unpooled } from "./pool/unpooled.ts";
export { unreferenced } from "./pool/waiters.ts";
export { type Allowed, type Decision, decide } from "./steps/decide.ts";
export { exchange } from "./steps/exchange.ts";
export { mint } from "./steps/mint.ts";
export { type RenewResult, renew } from "./steps/renew.ts";
export {
  type ErrorResponse,
  errorResponse,
  isProofRefused,
  isRefusal,
  namesMember,
  parseBody,
  send,
  type Unusable,
  type UnusableFault,
  unusable,
  unusableFaults,
} from "./steps/send.ts";
export {
  type HopCredential,
  type Stage,
  type StepOptions,
  type StepPorts,
  stages,
  type TraceHeaders,
} from "./steps/step.ts";
export { takeHop } from "./take-hop.ts";
export {
  lineSplitter,
  type Transport,
  TransportFault,
  type TransportFaultCode,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";
export { unorderedList } from "./unordered-list.ts";
