import type { ChainMember, Taint, TargetKind } from "./kinds.ts";

/** What a caller requests, and its place in the chain by its verified token. */
export interface HopRequest {
  /** 1 where the human calls; one more for each exchange since. */
  readonly hop: number;
  /** The agents up to the caller, the target not among them; empty at hop 1. */
  readonly chain: readonly string[];
  readonly target: string;
  readonly targetKind: TargetKind;
  /** One data class; for an agent several, separated by spaces. */
  readonly dataClass: string;
  /** The data classes the subject token was narrowed to; undefined for a root grant, whose scope is the consent's. */
  readonly narrowedTo: readonly string[] | undefined;
  /** The token's claim. */
  readonly tokenTaint: Taint;
  /** Declared by the request: it raises, never lowers. */
  readonly declaredTaint: Taint | undefined;
}

/** The last agent of the chain, or null for the human at hop 1. */
export const callerOf = (hop: Pick<HopRequest, "chain">): ChainMember => hop.chain.at(-1) ?? null;
