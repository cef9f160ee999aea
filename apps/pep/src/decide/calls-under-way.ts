import { unorderedList } from "@svc/hop";
import { type Concern, type Concerned, concerns } from "./pushed-acts.ts";

/** A call from its token to its end. */
export interface CallUnderWay extends Concerned {
  /** Decides again, and ends the call on anything but an allow. Never rejects. */
  again(): Promise<void>;
}

export type CallsUnderWay = ReturnType<typeof createCallsUnderWay>;

interface CallsUnderWayPorts {
  /** Milliseconds on a clock that never steps. */
  readonly monotonicMs: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  /** Runs once after `ms`. */
  readonly after: (ms: number, run: () => void) => unknown;
}

/** Decisions that acts cause, at once: a further one waits, so that the control plane's pace is theirs. */
const maxAtOnce = 8;

/** Enforcement points hear of an act together: where it concerns every call, their decisions are spread over this. */
const spreadMs = 500;

/** An act may arrive between a call's decision and its answer, and no hop takes longer. */
const rememberedMs = 5_000;
const maxRemembered = 256;

/** Calls under way, of which those are decided again that a pushed act may concern. */
export function createCallsUnderWay({ monotonicMs, random, after }: CallsUnderWayPorts) {
  const calls = unorderedList<CallUnderWay>();
  const waiting = new Set<CallUnderWay>();
  const spread = new Set<CallUnderWay>();
  let acts: { readonly act: Concern; readonly atMs: number }[] = [];
  let atOnce = 0;

  const next = (): void => {
    for (const call of waiting) {
      if (atOnce === maxAtOnce) return;
      waiting.delete(call);
      atOnce += 1;
      void call.again().finally(() => {
        atOnce -= 1;
        next();
      });
    }
  };
  const decideAgain = (call: CallUnderWay): void => {
    waiting.add(call);
    next();
  };
  const decideSoon = (call: CallUnderWay): void => {
    if (spread.has(call)) return;
    spread.add(call);
    after(random() * spreadMs, () => {
      if (spread.delete(call)) decideAgain(call);
    });
  };
  const schedule = (act: Concern, call: CallUnderWay): void => (act.kind === "every" ? decideSoon : decideAgain)(call);
  const remember = (act: Concern): void => {
    const atMs = monotonicMs();
    acts = acts.filter((each) => atMs - each.atMs < rememberedMs);
    if (acts.length < maxRemembered) acts.push({ act, atMs });
    else acts = [{ act: { kind: "every" }, atMs }];
  };

  return {
    /** Adds a call that was just decided; @returns ends it */
    add(call: CallUnderWay): () => void {
      const leave = calls.add(call);
      if (acts.length > 0) {
        const sinceMs = monotonicMs() - rememberedMs;
        for (const { act, atMs } of acts) if (atMs >= sinceMs && concerns(act, call)) schedule(act, call);
      }
      return () => {
        leave();
        for (const set of [waiting, spread]) set.delete(call);
      };
    },
    /** Decides again, once, on each call that the act may concern. @returns how many there are */
    take(act: Concern): number {
      remember(act);
      const concerned = calls.members().filter((call) => concerns(act, call));
      for (const call of concerned) schedule(act, call);
      return concerned.length;
    },
  };
}
