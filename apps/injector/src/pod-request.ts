import { isBelow, limits, type OptionName, optionNames, type PodOptions, podOptions } from "./options.ts";
import type { Pod } from "./pod.ts";

export const injectLabel = "pep.svc/inject";
export const statusAnnotation = "pep.svc/status";
export const weakerLabel = "pep.svc/allow-weaker";

/** What a pod's label and annotations request. */
export type PodRequest =
  /** `weaker`: the annotations that enforce less than the defaults. */
  | { readonly kind: "inject"; readonly options: PodOptions; readonly weaker: readonly string[] }
  | { readonly kind: "decline" }
  /** One sentence per fault, for the author of the pod. */
  | { readonly kind: "invalid"; readonly faults: readonly string[] };

/** Reads the pod's label and annotations over the defaults. */
export function readPodRequest({ metadata }: Pod, defaults: PodOptions): PodRequest {
  const label = metadata.labels?.[injectLabel];
  if (label === "disabled") return { kind: "decline" };
  if (label !== undefined && label !== "enabled") {
    return { kind: "invalid", faults: [`label ${injectLabel} must be "enabled" or "disabled", not "${label}"`] };
  }
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([name]) => name.startsWith("pep.svc/") && name !== statusAnnotation,
  );
  const faults: string[] = [];
  const weaker: string[] = [];
  const values: Record<string, unknown> = { ...defaults };
  for (const [name, text] of annotations) {
    if (!isOption(name)) {
      faults.push(`annotation ${name} is unknown; the known ones are ${optionNames.join(", ")}`);
      continue;
    }
    const read = podOptions[name].read.safeParse(text);
    if (!read.success) faults.push(...read.error.issues.map(({ message }) => `annotation ${name} ${message}`));
    else {
      values[name] = read.data;
      if (weakens(name, read.data, defaults)) weaker.push(`annotation ${name}: "${text}"`);
    }
  }
  const options = values as unknown as PodOptions;
  if ((options["pep.svc/agent-name"] === undefined) !== (options["pep.svc/agent-key-secret"] === undefined)) {
    faults.push("annotations pep.svc/agent-name and pep.svc/agent-key-secret go together");
  }
  if (options["pep.svc/public-url"] !== undefined && options["pep.svc/enforcement-secret"] === undefined) {
    faults.push("annotation pep.svc/public-url needs pep.svc/enforcement-secret");
  }
  for (const [limit, request] of limits) {
    if (isBelow(options[limit], options[request]))
      faults.push(
        `${limit} (${options[limit]}) is below ${request} (${options[request]}): raise the one or lower the other`,
      );
  }
  return faults.length > 0 ? { kind: "invalid", faults } : { kind: "inject", options, weaker };
}

const isOption = (name: string): name is OptionName => Object.hasOwn(podOptions, name);

/** Whether the value enforces less than the default, or lets the pod choose what is enforced. */
function weakens(name: OptionName, value: unknown, defaults: PodOptions): boolean {
  switch (name) {
    case "pep.svc/mode":
      return value === "observe" && defaults[name] !== "observe";
    case "pep.svc/observe-undecided":
      return value === "forward" && defaults[name] !== "forward";
    case "pep.svc/observe-unlisted":
      return value === "forward" && defaults[name] === "block";
    case "pep.svc/config":
    case "pep.svc/secret":
      return value !== defaults[name];
    case "pep.svc/proxy-env":
      return value === false && defaults[name];
    case "pep.svc/redirect-ports":
      return (defaults[name] ?? []).some((port) => !(value as readonly number[]).includes(port));
    default:
      return false;
  }
}
