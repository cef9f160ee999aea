export { type AgentProver, type AgentProverOptions, agentProver } from "../agent-prover.ts";
export { type FetchTransportOptions, fetchTransport } from "../fetch-transport.ts";
export { type HopContext, hopContext } from "../hop-context.ts";
export { filePoolStore } from "../renewal/file-pool-store.ts";
export type { PoolSnapshot, PoolStore } from "../renewal/pool-store.ts";
export { renewalSource } from "../renewal/renewal-source.ts";
export {
  createRenewalPool,
  type Lease,
  type LeaseOptions,
  type LeaseResult,
  type PoolFault,
  poolFaults,
  type RenewalPool,
  type RenewalPoolOptions,
  type RenewalSource,
} from "../renewal-pool.ts";
export { type Answer, type Unusable, type UnusableFault, unusableFaults } from "./answer.ts";
export {
  type Allowed,
  type DecideRequest,
  type DecideResult,
  type Decision,
  type Denied,
  decide,
} from "./decide.ts";
export { type ExchangeRequest, type ExchangeResult, exchange, type NarrowedToken } from "./exchange.ts";
export { type MintRequest, type MintResult, mint } from "./mint.ts";
export { isReady } from "./ready.ts";
export { maxRenewalCount, type RenewResult, renew } from "./renew.ts";
export {
  type ActorProver,
  type HopCredential,
  type Stage,
  type StepOptions,
  type StepPorts,
  stages,
  type TraceHeaders,
} from "./step.ts";
export {
  type Transport,
  TransportFault,
  type TransportFaultCode,
  type TransportRequest,
  type TransportResponse,
  transportFaultCodes,
} from "./transport.ts";
