import { splitDataClasses } from "@svc/core";
import type { TraceRecorder } from "@svc/drift/recorder";
import type { Allowed, Hop, RecordedDeny } from "@svc/hop";
import { actChain, callerOfToken, isNarrowed } from "@svc/tokens";
import { presentedClaims } from "./inbound-credentials.ts";

/** Records one edge for a call that was put to the control plane; `decision` is undefined where none was usable. */
export type RecordEdge = (hop: Pick<Hop, "credential" | "call">, decision: Allowed | RecordedDeny | undefined) => void;

/** Only a root grant names the consented scope (docs/reference/drift.md#scope-of-an-edge). */
export const edgeRecorder =
  (recorder: TraceRecorder): RecordEdge =>
  ({ credential, call }, decision) => {
    const claims = presentedClaims(credential.token);
    // No hop token: it names no caller, and the control plane refuses it.
    if (!claims) return;
    const { target, targetKind, dataClass } = call;
    recorder.record({
      scope: isNarrowed(claims) ? null : claims.scope,
      chain: actChain(claims).slice(1),
      caller: callerOfToken(claims),
      target,
      targetKind,
      dataClass,
      narrowedTo: isNarrowed(claims) ? splitDataClasses(claims.scope) : null,
      hop: claims.hop,
      taint: decision?.taint ?? claims.taint,
      outcome: decision?.outcome ?? "undecided",
    });
  };
