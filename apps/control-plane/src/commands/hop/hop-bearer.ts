import { isNarrowed } from "@svc/tokens";
import { type VerifyDeps, verifySubject } from "./standing.ts";

/** `current_hop`: a root grant or an agent's token. `narrowed`: what an exchange answered, a tool's token among them. */
export type HopBearerKind = "current_hop" | "narrowed";

/**
 * Whether a bearer is at least a token of this issuer and of that kind, so that nothing of a stranger's request is read.
 * Where the keys cannot be read just now it is let through: the command asks again, and tells the fault in its own words.
 */
export async function isHopBearer(deps: VerifyDeps, token: string, kind: HopBearerKind): Promise<boolean> {
  const claims = await verifySubject(deps, token).catch(() => "unknown" as const);
  if (claims === "unknown") return true;
  return claims !== undefined && (kind === "narrowed" ? isNarrowed(claims) : claims.targetKind !== "tool");
}
