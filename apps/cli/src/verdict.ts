import type { ChainHop } from "@svc/client";
import { colors } from "./colors.ts";

type Decided = Pick<ChainHop, "decision" | "denyReason" | "enforced">;

/** `allow`, `deny TARGET_BLOCKED` or `would deny TARGET_BLOCKED`, in color. */
export function verdict({ decision, denyReason: reason, enforced }: Decided): string {
  if (decision === "allow") return colors.green("allow");
  return enforced ? colors.red(`deny ${reason}`) : colors.yellow(`would deny ${reason}`);
}
