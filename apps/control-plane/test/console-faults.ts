import type { Deps } from "../src/routes/deps.ts";

/** The same ports, of which every read that a page makes throws an error with this code. */
export function failingReads(deps: Deps, { code }: { readonly code: string }): Deps {
  const fail = async (): Promise<never> => {
    throw Object.assign(new Error("secret-of-the-cause"), { code });
  };
  const failing = <Port extends object>(port: Port): Port => new Proxy(port, { get: () => fail });
  return {
    ...deps,
    decisions: failing(deps.decisions),
    wouldBlocks: failing(deps.wouldBlocks),
    decisionCounts: failing(deps.decisionCounts),
    declarations: failing(deps.declarations),
    manifests: failing(deps.manifests),
    policies: failing(deps.policies),
    sessions: failing(deps.sessions),
    identities: failing(deps.identities),
    blocks: failing(deps.blocks),
    administrativeEvents: failing(deps.administrativeEvents),
  };
}
