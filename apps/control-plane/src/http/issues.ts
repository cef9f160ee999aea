import { z } from "zod";
import { ApiError } from "./api-error.ts";

/** One thing wrong with a request: where, and what. */
export interface RequestIssue {
  /** `scopes.expenses.tools[0].ref`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

const maxIssues = 50;
/** Paths and messages name members of the request, which may be of any length. */
const maxLength = 300;

/** 400 `invalid_request` with `details.issues` (docs/reference/conventions.md#errors). */
export const invalidRequest = (message: string, issues: readonly RequestIssue[] = []): ApiError =>
  new ApiError("invalid_request", message, issues.length === 0 ? {} : { details: { issues } });

/** Schema messages name members and rules, never values. */
export const toIssues = (error: z.ZodError): readonly RequestIssue[] =>
  error.issues.slice(0, maxIssues).map(({ path, message }) => ({
    path: z.core.toDotPath(path).slice(0, maxLength),
    message: message.slice(0, maxLength),
  }));
