/** The closed sets without any schema, for programs that only offer a choice of them. */
export { type DenyReason, denyReasons } from "./deny-reason.ts";
export {
  type BlockKind,
  blockKinds,
  type ManifestStatus,
  manifestStatuses,
  type Outcome,
  outcomes,
  type SessionStatus,
  sessionStatuses,
  type TargetKind,
  targetKinds,
} from "./kinds.ts";
export { type Taint, taints } from "./taint-level.ts";
