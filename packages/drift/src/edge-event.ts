import { agentName, scopeName, taints, targetKinds } from "@svc/core";
import { z } from "zod";
import { type Edge, edgeEventVersion, edgeOutcomes } from "./edge.ts";

const ordinal = z.int().min(1);
const run = z.string().min(1);

/** Target and data class as requested, however odd: the verdict refuses them. */
const edgeEvent = z
  .strictObject({
    v: z.literal(edgeEventVersion),
    run,
    seq: ordinal,
    ts: z.iso.datetime({ offset: true }),
    scope: scopeName.nullable(),
    chain: z.array(agentName),
    caller: z.string().min(1),
    target: z.string(),
    target_kind: z.enum(targetKinds),
    data_class: z.string(),
    narrowed_to: z.exactOptional(z.array(z.string()).nullable()),
    hop: ordinal,
    taint: z.enum(taints),
    outcome: z.enum(edgeOutcomes),
  })
  .refine(({ chain, caller }) => chain.length === 0 || chain.at(-1) === caller);

const endEvent = z.strictObject({
  v: z.literal(edgeEventVersion),
  run,
  end: z.literal(true),
  events: z.int().min(0),
});

const event = z.union([
  edgeEvent.transform(({ v: _, run, seq, ts: __, target_kind, data_class, narrowed_to, ...same }) => {
    const narrowed = narrowed_to === undefined ? {} : { narrowedTo: narrowed_to };
    const edge: Edge = { ...same, targetKind: target_kind, dataClass: data_class, ...narrowed };
    return { kind: "edge" as const, run, seq, edge };
  }),
  endEvent.transform(({ run, events }) => ({ kind: "end" as const, run, events })),
]);

/** Undefined for anything but an event of this version: such a line is a lost event. */
export function readEvent(line: string): z.output<typeof event> | undefined {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  return event.safeParse(json).data;
}
