import type { KeyChange } from "../../ports/issuer-keys.ts";
import type { CommandDeps } from "../deps.ts";
import { endSessions } from "../session/revoke-sessions.ts";
import type { KeyDeps } from "./rotate-key.ts";

type EpochDeps = KeyDeps & Pick<CommandDeps, "sessionEnds" | "restoreWatch">;

export interface RaiseIssuerEpoch {
  readonly reason: string | null;
  readonly actor: string;
}

export interface Raised {
  /** Earlier tokens are refused. */
  readonly notBeforeMs: number;
  /** The key that signs from now on. */
  readonly kid: string;
  /** How many sessions this call ended. */
  readonly ended: number;
}

/**
 * For the time after a restore, which forgets spends and revocations. Refuses every earlier token, by its time here and
 * by its key everywhere, ends every session, and acknowledges the restore. A repeated call completes a failed one.
 */
export async function raiseIssuerEpoch(deps: EpochDeps, { reason, actor }: RaiseIssuerEpoch): Promise<Raised> {
  const { clock, ids, restoreWatch } = deps;
  const seen = await restoreWatch.seen();
  const notBeforeMs = await deps.issuerKeyStore.change(async (change) => {
    const nowMs = clock.nowMs();
    await change.raiseEpoch(nowMs);
    await change.acknowledgeRestore(seen);
    await replaceKeys(deps, change, nowMs);
    const details = { not_before: new Date(nowMs).toISOString() };
    await change.record({ eventId: ids.next(), kind: "issuer_epoch_raised", atMs: nowMs, actor, reason, details });
    return nowMs;
  });
  const { signingKey } = await deps.issuerKeys.recheck();
  const ended = await endSessions(deps, { filter: {}, reason: reason ?? "the issuer epoch was raised", actor });
  await restoreWatch.lookAfresh();
  return { notBeforeMs, kid: signingKey.kid, ended };
}

/** The operator replaces a key of the settings. The epoch alone refuses what it signed. */
async function replaceKeys({ makeKey }: KeyDeps, change: KeyChange, nowMs: number): Promise<void> {
  if (makeKey === undefined) return;
  for (const { kid } of change.keys) await change.remove(kid, nowMs);
  await change.add(await makeKey(), nowMs, nowMs);
}
