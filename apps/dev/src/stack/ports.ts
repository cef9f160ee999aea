import { freePort, isFree } from "@svc/host/child-program";
import { StartError } from "../start-error.ts";

/** Default ports of the two apps' listeners (docs/reference/settings.md#dev---json). */
const preferred = { controlPlane: 8080, pep: 16_001, pepAdmin: 16_020 } as const;

export type StackPorts = Readonly<Awaited<ReturnType<typeof choosePorts>>>;

/** The preferred ports where they are free, others where not. @param given the control plane's; 0: free ones throughout */
export async function choosePorts(given: number | undefined) {
  const chosen = new Set<number>();
  const take = async (wanted = 0): Promise<number> => {
    const isWanted = wanted !== 0 && given !== 0 && (await isFree(wanted));
    const port = isWanted ? wanted : await freePort(chosen);
    chosen.add(port);
    return port;
  };
  if (given !== undefined && given !== 0 && !(await isFree(given))) {
    throw new StartError(`port ${given} is in use`, "Choose another with --port, or any free one with --port 0.");
  }
  return {
    controlPlane: await take(given ?? preferred.controlPlane),
    pep: await take(preferred.pep),
    pepAdmin: await take(preferred.pepAdmin),
    exampleMcp: await take(),
    exampleHttp: await take(),
  };
}
