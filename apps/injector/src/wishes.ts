import { type OptionName, optionNames, type PodOptions, podOptions } from "./options.ts";
import type { Pod } from "./pod.ts";

export const injectLabel = "pep.svc/inject";
export const statusAnnotation = "pep.svc/status";
export const weakerLabel = "pep.svc/allow-weaker";

/** What a pod asks for; faults are sentences for whoever wrote it. */
export type Wishes =
  | { readonly kind: "inject"; readonly options: PodOptions; readonly weaker: readonly string[] }
  | { readonly kind: "leave" }
  | { readonly kind: "faulty"; readonly faults: readonly string[] };

/** Reads the pod's label and annotations over the defaults. `weaker` says in which ways it asks for less than those. */
export function readWishes({ metadata }: Pod, defaults: PodOptions): Wishes {
  const label = metadata.labels?.[injectLabel];
  if (label === "disabled") return { kind: "leave" };
  if (label !== undefined && label !== "enabled") {
    return { kind: "faulty", faults: [`label ${injectLabel} must be "enabled" or "disabled", not "${label}"`] };
  }
  const asked = Object.entries(metadata.annotations ?? {}).filter(
    ([name]) => name.startsWith("pep.svc/") && name !== statusAnnotation,
  );
  const faults: string[] = [];
  const weaker: string[] = [];
  const options: Record<string, unknown> = { ...defaults };
  for (const [name, text] of asked) {
    if (!isOption(name)) faults.push(`annotation ${name} is not known; known are ${optionNames.join(", ")}`);
    else {
      const read = podOptions[name].read.safeParse(text);
      if (read.success) options[name] = read.data;
      else faults.push(...read.error.issues.map(({ message }) => `annotation ${name} ${message}`));
      if (read.success && weakens(name, read.data, defaults)) weaker.push(`annotation ${name}: "${text}"`);
    }
  }
  const wished = options as unknown as PodOptions;
  if ((wished["pep.svc/agent-name"] === undefined) !== (wished["pep.svc/agent-key-secret"] === undefined)) {
    faults.push("annotations pep.svc/agent-name and pep.svc/agent-key-secret go together");
  }
  return faults.length > 0 ? { kind: "faulty", faults } : { kind: "inject", options: wished, weaker };
}

const isOption = (name: string): name is OptionName => Object.hasOwn(podOptions, name);

/** Whether the value enforces less than the default, or hands the choice of what is enforced to the pod. */
function weakens(name: OptionName, value: unknown, defaults: PodOptions): boolean {
  switch (name) {
    case "pep.svc/mode":
      return value === "observe" && defaults[name] !== "observe";
    case "pep.svc/observe-undecided":
      return value === "forward" && defaults[name] !== "forward";
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
