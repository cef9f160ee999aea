import type { Completed } from "../commands/identity/complete-enrollment.ts";

/** Counts finished enrollments only. */
export function completionEvent(result: Completed) {
  switch (result.kind) {
    case "enrolled":
      return { count: { svc_enrollments: { status: "enrolled" } }, log: ["info", "agent enrolled"] } as const;
    case "quarantined":
      return { count: { svc_enrollments: { status: "quarantined" } }, log: ["info", "agent quarantined"] } as const;
    case "invalid_proof":
      return { log: ["info", "enrollment refused: the proof is not valid"] } as const;
    default:
      return { log: ["info", "enrollment refused: it is over"] } as const;
  }
}
