import type { HopCredential } from "@svc/hop";
import { type Block, blockedFor } from "../protocols/blocks.ts";
import type { ChangeChoice, DefinitionWatch } from "../protocols/protocol.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { SessionTargetStore } from "./session-targets.ts";
import type { ToolDefinitions } from "./tool-definitions.ts";

interface DefinitionPorts {
  readonly sessionTargets: Pick<SessionTargetStore, "pinsOf">;
  readonly definitions: ToolDefinitions;
}

type Guarded = Pick<Upstream, "name" | "mode"> & { readonly protocol: Pick<Upstream["protocol"], "onChange"> };

const onChangeOf = ({ mode, protocol }: Guarded): ChangeChoice =>
  protocol.onChange ?? (mode === "enforce" ? "deny" : "report");

/** For a list that an upstream sends to this caller. */
export async function watchDefinitions(
  { sessionTargets, definitions }: DefinitionPorts,
  upstream: Guarded,
  credential: HopCredential,
): Promise<DefinitionWatch | undefined> {
  const pins = await sessionTargets.pinsOf(credential);
  if (!pins || ![...pins.keys()].some((target) => target.startsWith(`mcp:${upstream.name}/`))) return undefined;
  return {
    onChange: onChangeOf(upstream),
    isChanged(target, read) {
      const pin = pins.get(target);
      return pin !== undefined && definitions.note(upstream.name, target, pin, read()) !== undefined;
    },
  };
}

const unreadPins = { fault: "what the session pinned cannot be read" };

/**
 * Why a call of a tool is refused that changed since the caller's session pinned it. Where the pin cannot be read, a
 * tool that changed for any session is refused.
 */
export async function changedToolBlock(
  { sessionTargets, definitions }: DefinitionPorts,
  upstream: Guarded,
  credential: HopCredential,
  target: string,
): Promise<Block | undefined> {
  const pins = await sessionTargets.pinsOf(credential);
  const isDenied = onChangeOf(upstream) === "deny";
  if (!pins) return isDenied && definitions.hasChanged(target) ? blockedFor("no_decision", unreadPins) : undefined;
  const pin = pins.get(target);
  const changed = pin && definitions.changeOf(upstream.name, target, pin);
  return changed && isDenied ? blockedFor("changed_tool", { target, changed: changed.join(", ") }) : undefined;
}
