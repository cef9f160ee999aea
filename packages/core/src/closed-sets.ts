/** The closed sets without any schema, for programs that only offer a choice of them. */
export { type DenyReason, denyReasons } from "./deny-reason.ts";
export * from "./kinds.ts";
