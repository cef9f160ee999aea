import type { ControlPlane } from "../control-plane.ts";
import { colors } from "../output.ts";

/** Of the end of a session: a control plane that does not respond must not hold the terminal. */
const revokeMs = 10_000;

/** Where it fails, standard error names the session, and the exit code is not 0. @param reason for the record */
export async function revokeSession(plane: ControlPlane, sessionId: string, reason: string): Promise<void> {
  const signal = AbortSignal.timeout(revokeMs);
  try {
    await plane.call("admin", (svc) => svc.admin.revokeSession(sessionId, { reason }, { signal }));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const command = `svc sessions revoke ${sessionId}`;
    process.stderr.write(`${colors.red("error:")} the session is not revoked: ${why}\nRevoke it: ${command}\n`);
    process.exitCode ||= 1;
  }
}
