export { type AgentProver, type AgentProverOptions, agentProver } from "./agent-prover.ts";
export { filePoolStore } from "./pool/file-pool-store.ts";
export {
  type Lease,
  type LeaseOptions,
  type LeaseResult,
  type PoolFault,
  poolFaults,
  type Unleased,
} from "./pool/lease.ts";
export type { PoolSnapshot, PoolStore } from "./pool/pool-store.ts";
export { createRenewalPool, type RenewalPool, type RenewalPoolOptions } from "./pool/renewal-pool.ts";
export { type RenewalSource, renewalSource } from "./pool/renewal-source.ts";
export {
  type Allowed,
  type DecideRequest,
  type DecideResult,
  type Decision,
  type Denied,
  decide,
} from "./steps/decide.ts";
export { type ExchangeRequest, type ExchangeResult, exchange, type NarrowedToken } from "./steps/exchange.ts";
export { type MintRequest, type MintResult, mint } from "./steps/mint.ts";
export { maxRenewalCount, type RenewResult, renew } from "./steps/renew.ts";
export {
  type ErrorResponse,
  parseBody,
  send,
  type Unusable,
  type UnusableFault,
  unusable,
  unusableFaults,
} from "./steps/send.ts";
export {
  type ActorProver,
  type HopCredential,
  type Stage,
  type StepOptions,
  type StepPorts,
  stages,
  type TraceHeaders,
} from "./steps/step.ts";
export {
  decideAgain,
  type Hop,
  type HopFailure,
  type HopLimits,
  type HopPorts,
  type HopResult,
  type HopStep,
  type HopTaken,
  type SettledBody,
  takeHop,
} from "./take-hop.ts";
export {
  type Transport,
  TransportFault,
  type TransportFaultCode,
  type TransportRequest,
  type TransportResponse,
  transportFaultCodes,
} from "./transport.ts";
