import { runDriftCheck } from "@svc/drift";
import type { Api } from "@svc/test-conformance/api";
import { clerkSession, ledgerHops } from "@svc/test-conformance/ledger";
import { waitUntil } from "@svc/test-support";
import { type CounterSample, createVerifier, type VerifierSink } from "@svc/verifier";
import { readScrape, type Scrape } from "./exposition.ts";
import { type LogLine, readLog } from "./log-lines.ts";

/** Telemetry of the libraries: the verifier's sink, the drift gate's file. */
export interface Libraries {
  readonly counted: readonly (readonly [name: string, labels: Readonly<Record<string, string>>])[];
  readonly gauges: ReadonlySet<string>;
  readonly spans: readonly { readonly name: string; readonly attributes: object }[];
  readonly logs: readonly LogLine[];
  readonly drift: Scrape;
}

const scope = "canary";

/** Needs the scope's ledger. */
export async function driveLibraries(api: Api): Promise<Libraries> {
  const counted: Libraries["counted"][number][] = [];
  const gauges = new Set<string>();
  const spans: Libraries["spans"][number][] = [];
  const records: object[] = [];
  const sink: VerifierSink = {
    count: (...sample: CounterSample) => void counted.push(sample),
    gauge: (name) => void gauges.add(name),
    span: (span) => void spans.push(span),
    log: ({ level, message, fields }) =>
      void records.push({ level, time: new Date().toISOString(), ...fields, msg: message }),
  };
  const hops = ledgerHops(scope);
  const verifier = createVerifier({
    issuer: "https://issuer.test",
    audience: [hops.read.target, hops.post.target],
    jwksUrl: `${api.url}/.well-known/jwks.json`,
    identityView: { url: api.url, token: api.tokens.identity, refreshSeconds: 1 },
    sink,
  });
  const { session, clerk } = await clerkSession(api, scope);
  const [first = "", second = ""] = (await api.renew(clerk.token, 2)).body.tokens;
  for (const [token, hop] of [
    [first, hops.read],
    [second, hops.post],
  ] as const) {
    const { token: narrowed } = await api.hop(session, token, hop);
    const headers = { authorization: `Bearer ${narrowed}`, "x-svc-session": session };
    await verifier.admit({ headers, dataClass: hop.data_class }).catch(() => {});
  }
  await verifier.admit({ headers: { authorization: "Bearer canary" }, dataClass: "docs" }).catch(() => {});
  await waitUntil("the view's age", () => gauges.size > 0);
  verifier.close();
  return {
    counted,
    gauges,
    spans,
    logs: readLog(records.map((record) => JSON.stringify(record)).join("\n")),
    drift: readScrape(runDriftCheck({ traces: ["/nowhere"], manifests: [] }).metrics),
  };
}
