export { type AdmissionOptions, admissionOf } from "./adapters/admit-request.ts";
export { type ExpressLikeRequest, type ExpressLikeResponse, expressAdmission } from "./adapters/express.ts";
export { type FastifyLikeReply, type FastifyLikeRequest, fastifyAdmission } from "./adapters/fastify.ts";
export { fetchAdmission, type HonoLikeContext, honoAdmission } from "./adapters/fetch.ts";
export { type McpAdmissionOptions, mcpExpressAdmission, mcpFetchAdmission } from "./adapters/mcp.ts";
export {
  type Admission,
  AdmissionRefused,
  type RefusalCause,
  refusalCauses,
  type TransactionRejectionCause,
  transactionRejectionCauses,
} from "./admission.ts";
export type { RequestHeaders } from "./credentials.ts";
export type { IdentityViewOptions } from "./identity-view.ts";
export type { AdmitRequest, CallParams, VerifierOptions } from "./options.ts";
export type { VerifierPorts } from "./ports.ts";
export { type MemoryReplayStoreOptions, memoryReplayStore, type ReplayStore } from "./replay-store.ts";
export type { AdmitAttributes, AdmitSpan, CounterSample, VerifierLogRecord, VerifierSink } from "./sink.ts";
export { createVerifier, type Verifier } from "./verifier.ts";
