import { openStand, type Stand } from "@svc/test-conformance/stand";
import { type Arrival, type ObservedUpstream, startObserved } from "./recording-upstream.ts";
import { routes } from "./upstream-reading.ts";

/** A real control plane and enforcement point, with recording upstreams. */
export interface FuzzStand {
  readonly port: number;
  /** Begins a session of the one agent. */
  consent(): Promise<{ session: string; token: string }>;
  /** Upstream requests since the last call. */
  take(): Arrival[];
  /** An upstream's response, in bytes, to a request with this name in `X-Case`. */
  readonly answers: Map<string, string>;
  /** A session's allowed and spent actions. */
  spentActions(session: string): Promise<Set<string>>;
  /** Faults of the enforcement point itself. */
  faults(): Promise<string[]>;
  stop(): Promise<void>;
}

const scope = "fuzz";
const operations = routes.map(({ operation }) => operation);
const tool = (ref: string, privileged = false) => ({ ref, data_classes: ["docs"], privileged });
const tools = [
  ...["ledger", "deep"].flatMap((at) => operations.map((name) => tool(`http:${at}/${name}`, name === "post"))),
  ...["read_file", "write_file"].map((name) => tool(`mcp:files/${name}`)),
  tool("mcp:files/delete_file", true),
  tool("mcp:files#resources/read"),
];

export async function openFuzzStand(): Promise<FuzzStand> {
  const answers = new Map<string, string>();
  const answerFor = (name: string) => answers.get(name);
  const observed = await Promise.all(["ledger", "deep", "files"].map((at) => startObserved(at, answerFor)));
  const [ledger, deep, files] = observed.map(({ url }) => url);
  const routesOf = (at: string) =>
    routes.map(({ methods, path, operation }) => ({
      methods,
      path,
      target: `http:${at}/${operation}`,
      data_class: "docs",
    }));
  const stand = await openStand({
    scopes: { [scope]: { hop_budget: 2, tools } },
    upstreams: () => [
      { name: "ledger", url: ledger, hosts: ["ledger.internal"], routes: routesOf("ledger") },
      { name: "deep", url: `${deep}/base`, hosts: ["deep.internal"], routes: routesOf("deep") },
      { name: "files", url: `${files}/mcp`, protocol: "mcp", data_class: "docs", tools: { "#resources/read": "docs" } },
    ],
  });
  const series = await seriesOf(stand);
  return {
    port: stand.port,
    consent: () => stand.api.consent(scope),
    take: () => observed.flatMap((upstream) => upstream.take()),
    answers,
    spentActions: (session) => spentActions(stand, session),
    faults: () => faultsOf(stand, observed, series),
    async stop() {
      await stand.stop();
      await Promise.all(observed.map((upstream) => upstream.stop()));
    },
  };
}

async function spentActions({ api }: Stand, session: string): Promise<Set<string>> {
  const spent = new Set<string>();
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { body } = await api.decisions(`session_id=${session}&outcome=allow&limit=200${more}`);
    for (const { action_id, spent_at } of body.data) if (spent_at !== null) spent.add(action_id);
    cursor = body.page.next_cursor;
  } while (cursor !== null);
  return spent;
}

/** Every series of the enforcement point, without its value. */
async function seriesOf({ enforcementPoint }: Stand): Promise<ReadonlySet<string>> {
  const text = await (await fetch(`${enforcementPoint.adminUrl}/__svc/metrics`)).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Set(lines.map((line) => line.slice(0, line.lastIndexOf(" "))));
}

async function faultsOf(
  stand: Stand,
  observed: readonly ObservedUpstream[],
  first: ReadonlySet<string>,
): Promise<string[]> {
  const { enforcementPoint } = stand;
  if (enforcementPoint.hasExited()) return [`the enforcement point ended:\n${enforcementPoint.output().slice(-2_000)}`];
  const series = await seriesOf(stand).catch(() => undefined);
  return [
    ...(series ? [] : ["the enforcement point does not respond"]),
    ...[...(series ?? [])].filter((name) => !first.has(name)).map((name) => `a call added the series ${name}`),
    ...observed.flatMap(({ garbled }) => garbled.map((what) => `an upstream received what is no request: ${what}`)),
  ];
}
