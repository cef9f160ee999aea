import type { RestoreWatch } from "../../background/watch-restore.ts";
import type { KeyChange } from "../../ports/issuer-keys.ts";
import type { SessionEnds } from "../../ports/session-ends.ts";
import { endSessions } from "../session/revoke-sessions.ts";
import type { KeyDeps } from "./issuer-key.ts";

export interface EpochDeps extends KeyDeps {
  readonly sessionEnds: SessionEnds;
  readonly restoreWatch: Pick<RestoreWatch, "seen" | "lookAfresh">;
}

export interface RaiseIssuerEpoch {
  readonly reason: string | null;
  readonly actor: string;
}

export interface Raised {
  /** Tokens issued before are refused. */
  readonly notBeforeMs: number;
  /** The key that signs from now on. */
  readonly kid: string;
  /** Sessions that this call ended. */
  readonly ended: number;
}

/**
 * For the time after a restore, which forgets spends and revocations: every older token is refused, by its time here and
 * by its key everywhere, and every session ends. That acknowledges the restore: from then on this database grants. Asked
 * again after a fault it goes on where it stopped.
 */
export async function raiseIssuerEpoch(deps: EpochDeps, { reason, actor }: RaiseIssuerEpoch): Promise<Raised> {
  const { clock, ids, restoreWatch } = deps;
  const seen = await restoreWatch.seen();
  const notBeforeMs = await deps.issuerKeyStore.change(async (change) => {
    const nowMs = clock.nowMs();
    await change.raiseEpoch(nowMs);
    await change.acknowledgeRestore(seen);
    await replaceKeys(deps, change, nowMs);
    await change.record({
      eventId: ids.next(),
      kind: "issuer_epoch_raised",
      atMs: nowMs,
      actor,
      sessionId: null,
      agent: null,
      reason,
      details: { not_before: new Date(nowMs).toISOString() },
    });
    return nowMs;
  });
  const { signingKey } = await deps.issuerKeys.recheck();
  const ended = await endSessions(deps, { filter: {}, reason: reason ?? "the issuer epoch was raised", actor });
  await restoreWatch.lookAfresh();
  return { notBeforeMs, kid: signingKey.kid, ended };
}

/** A key of the settings is the operator's to replace; the epoch alone refuses what it signed. */
async function replaceKeys({ makeKey }: KeyDeps, change: KeyChange, nowMs: number): Promise<void> {
  if (makeKey === undefined) return;
  for (const { kid } of change.keys) await change.remove(kid, nowMs);
  await change.add(await makeKey(), nowMs, nowMs);
}
