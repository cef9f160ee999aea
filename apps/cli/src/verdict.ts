import type { ChainHop } from "./audit-rows.ts";
import { colors } from "./colors.ts";

type Decided = Pick<ChainHop, "decision" | "deny_reason" | "enforced">;

/** `allow`, `deny TARGET_BLOCKED`, `would deny TARGET_BLOCKED`: the same words and colours everywhere. */
export function verdict({ decision, deny_reason: reason, enforced }: Decided): string {
  if (decision === "allow") return colors.green("allow");
  return enforced ? colors.red(`deny ${reason}`) : colors.yellow(`would deny ${reason}`);
}
