export { type AgentProver, type AgentProverOptions, agentProver } from "./agent-prover.ts";
export { type FetchTransportOptions, fetchTransport } from "./fetch-transport.ts";
export { type HopContext, hopContext } from "./hop-context.ts";
