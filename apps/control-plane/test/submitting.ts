import type { Discovered, PolicyDocument } from "@svc/core";
import { capabilitiesOf, type ManifestDocument } from "@svc/test-support";
import { query, type TestApp, type TestPlane } from "./support.ts";

export const override = { reason: "reviewed by hand" };
/** A source for `discovering`, which answers in its place. */
export const source = { kind: "http", url: "http://capabilities.test/" };

/** What tests of manifests do and look up. */
export const submitter = (plane: TestPlane & TestApp) => {
  const rows = <Row extends object>(text: string, ...values: string[]) =>
    query<Row>(plane.database.appUrl, text, values);
  return {
    rows,
    register: (name: string, manifest: object, app: TestApp = plane) =>
      app.send("/v1/agents", { body: { name, manifest, override } }),
    resubmit: (agent: string, manifest: object, app: TestApp = plane) =>
      app.send("/v1/manifests", { body: { agent, manifest, override } }),
    /** The app whose every source advertises what this manifest declares. */
    discovering(advertised: ManifestDocument): TestApp {
      const { tools, downstream_agents } = capabilitiesOf(advertised);
      const discovered: Discovered = { ok: true, tools, downstreamAgents: downstream_agents };
      return plane.with({ discover: async (sources) => sources.map((asked) => ({ source: asked, discovered })) });
    },
    async versionsOf(scope: string): Promise<number[]> {
      const text = "select version from compiled_policy where scope = $1 order by version";
      return (await rows<{ version: number }>(text, scope)).map(({ version }) => version);
    },
    async policyOf(scope: string): Promise<PolicyDocument> {
      const text = "select document from compiled_policy where scope = $1 order by version desc limit 1";
      const [row] = await rows<{ document: string }>(text, scope);
      return JSON.parse(row?.document ?? "null");
    },
    async reportOf(name: string) {
      const { json } = await plane.send(`/v1/agents/resolve?name=${name}`);
      return plane.send(`/v1/agents/${json.agent_id}/reconciliation`);
    },
  };
};
