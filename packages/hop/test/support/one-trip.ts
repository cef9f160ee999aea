import type { HopAnswer } from "@svc/core";
import { type Hop, type HopPorts, TransportFault, takeHop } from "../../src/index.ts";
import { hop, type Script, scriptedPorts, success } from "./scripted-hop.ts";

export type ScriptedLine = HopAnswer | TransportFault;

interface Around {
  readonly isOffered?: boolean;
  readonly maySpend?: boolean;
  readonly paramsJson?: string;
  /** Of the body. */
  readonly refusal?: string;
  readonly change?: Partial<Hop>;
}

/** A hop in one trip, where the public endpoints would succeed too. */
export async function takeOnce(
  scripted: ScriptedLine,
  { isOffered = true, maySpend = true, change = {}, ...read }: Around = {},
) {
  const lines: unknown[] = [];
  let isWithdrawn = false;
  const ports: Partial<HopPorts> = {
    lines: {
      offer: { holds: () => isOffered, withdrawn: () => (isWithdrawn = true) },
      hops: {
        async take(line) {
          lines.push(line);
          if (scripted instanceof TransportFault) throw scripted;
          return scripted;
        },
      },
    },
  };
  const { refusal, paramsJson } = read;
  const body: Script["body"] =
    refusal !== undefined
      ? { kind: "refused", refusal }
      : { kind: "ready", ...(paramsJson !== undefined && { paramsJson }) };
  const script = { ...success, body, ...(!maySpend && { spend: "leased" as const }) };
  const run = scriptedPorts(script, ports);
  const stages: string[] = [];
  const result = await takeHop(run.ports, { ...hop, onStage: (stage) => stages.push(stage), ...change }, async () => {
    run.log.push("body");
    return script.body;
  });
  const end =
    run.replaced.length > 0
      ? "replaced"
      : run.rejected() > 0
        ? "rejected"
        : run.givenBack() > 0
          ? "given back"
          : "spent";
  return { result, log: run.log, lines, stages, end, isWithdrawn, replaced: run.replaced };
}
