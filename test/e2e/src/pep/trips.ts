import { type SpanReceiver, startSpanReceiver } from "@svc/test-conformance/span-receiver";
import { asOwner } from "@svc/test-conformance/stack";
import type { Stand } from "@svc/test-conformance/stand";
import { freePort, type OwnRedis, startFaultProxy, waitUntil } from "@svc/test-support";
import { type Answer, ask } from "../telemetry/ask.ts";
import { readScrape, rising } from "../telemetry/exposition.ts";
import { readLog } from "../telemetry/log-lines.ts";
import { headersOf, openGuarded, routes, scope } from "./guarded.ts";

const tool = (name: string, more: object = {}) => ({ ref: `http:app/${name}`, data_classes: ["docs"], ...more });

/** Beside the tools of `guarded.ts`: one that refuses taint, one that brings it. */
const tools = [
  tool("read"),
  tool("write", { privileged: true }),
  tool("any"),
  tool("strict", { accepts_taint: false }),
  tool("web", { result_taint: "untrusted_external" }),
];

const moreRoutes = ["strict", "web", "none"].map((name) => ({
  methods: ["GET"],
  path: `/${name}`,
  target: `http:app/${name}`,
  data_class: "docs",
}));

/** A stand whose hops take one trip or two, and everything that its processes tell. */
export interface Trips {
  readonly stand: Stand;
  readonly receiver: SpanReceiver;
  /** How often the enforcement point has asked the control plane for this path. */
  asked(path: string): number;
  stop(): Promise<void>;
}

export async function openTrips(inOne: boolean, redis: OwnRedis): Promise<Trips> {
  const receiver = await startSpanReceiver();
  const port = await freePort();
  const line = await startFaultProxy(port);
  const upstream = (name: string, url: string, more: object) => ({
    name,
    url,
    routes: [...routes, ...moreRoutes],
    ...more,
  });
  const stand = await openGuarded({
    scopes: { [scope]: { hop_budget: 2, tools } },
    upstreams: (url) => [upstream("app", url, {}), upstream("watched", url, { mode: "observe" })],
    controlPlane: {
      ...receiver.env,
      PORT: String(port),
      SVC_ISSUER: "https://issuer.test",
      SVC_ONE_TRIP_HOPS: String(inOne),
      REDIS_URL: redis.url,
      SVC_LOG_LEVEL: "debug",
    },
    enforcementPoint: {
      ...receiver.env,
      SVC_CONTROL_PLANE_URL: `http://127.0.0.1:${line.port}`,
      SVC_PEP_ONE_TRIP: String(inOne),
      SVC_LOG_LEVEL: "debug",
    },
  });
  return {
    stand,
    receiver,
    asked: (path) => line.sent().toString("latin1").split(`POST ${path} HTTP/1.1`).length - 1,
    async stop() {
      await stand.stop();
      await line.stop();
      await receiver.stop();
    },
  };
}

/** One session and its agent, who calls one thing after the other. */
export async function actingIn({ stand }: Trips) {
  const headers = await headersOf(stand);
  const answers: Pick<Answer, "status" | "json">[] = [];
  return {
    session: headers["x-svc-session"],
    answers: answers as readonly Pick<Answer, "status" | "json">[],
    /** A call with the agent's credentials, unless told otherwise. */
    async call(path: string, options: { method?: string; body?: string; headers?: Record<string, string> } = {}) {
      const method = options.method ?? (options.body === undefined ? "GET" : "POST");
      const sent = options.headers ?? { ...headers, "content-type": "application/json" };
      const { status, json } = await ask(stand.enforcementPoint.url, path, {
        method,
        headers: sent,
        body: options.body,
      });
      answers.push({ status, json });
    },
  };
}

/** Spans come in the order in which they ended, so when those of the last call have come, all have. It was an allow. */
export async function settled({ receiver }: Trips, calls: number): Promise<void> {
  await waitUntil("the spans of every call", () => {
    const forwards = receiver.spans.filter(({ name }) => name === "pep.forward");
    const ofLast = receiver.spans.filter(({ traceId }) => traceId === forwards.at(-1)?.traceId);
    return forwards.length === calls && ofLast.length === 3;
  });
}

/** A renewal runs ahead of need, beside the calls: when, is a matter of time. */
const isOfRenewal = ({ msg }: Readonly<Record<string, unknown>>): boolean => /renew/.test(String(msg));

/** Everything that was left behind: rows, what upstream was sent, counters, log lines, and spans by trace. */
export async function leftIn({ stand, receiver }: Trips, session: string) {
  const { controlPlane, enforcementPoint, upstream, database } = stand;
  return {
    rows: await rowsOf(database, session),
    forwarded: upstream.requests.map(({ method, url, rawHeaders, body }) => ({
      ...{ method, url, body: body.toString("utf8") },
      credentials: rawHeaders
        .filter((_, at) => /^(authorization|txn-token|x-svc-)/i.test(rawHeaders[at - (at % 2)] ?? ""))
        .map((text) => text.replace(/^Bearer /, "")),
    })),
    counted: await Promise.all(
      [`${controlPlane.url}/metrics`, `${enforcementPoint.adminUrl}/__svc/metrics`].map(countersAt),
    ),
    logged: [controlPlane, enforcementPoint].map((app) =>
      readLog(app.stdout())
        .map(({ record }) => record)
        .filter((record) => !isOfRenewal(record)),
    ),
    traced: tracesOf(receiver),
  };
}

const countersAt = async (url: string) =>
  rising(readScrape(await (await fetch(url)).text()))
    .filter(({ name }) => !/_(bucket|sum)$/.test(name))
    .map(({ series, value }) => [series, value]);

const rowsOf = (database: Stand["database"], session: string) =>
  asOwner(
    database,
    (sql) => sql`
      select
        (select json_agg(to_jsonb(r) order by r.seq) from decision r where session_id = ${session}) as decisions,
        (select json_agg(to_jsonb(r) order by r.action_id) from spend r
          where session_id = ${session} and kind = 'exchange') as spends,
        (select json_agg(to_jsonb(r) order by r.action_id) from mint r where session_id = ${session}) as mints,
        (select json_agg(to_jsonb(r) order by r.member) from taint_mark r where session_id = ${session}) as marks`,
  );

/** By trace, in the order of the calls: whose child each span is, and all that it says. */
function tracesOf({ spans }: SpanReceiver) {
  const forwards = spans.filter(({ name }) => name === "pep.forward");
  return forwards.map(({ traceId }) =>
    spans
      .filter((span) => span.traceId === traceId)
      .map(({ name, parentSpanId, attributes, extras, hasFailed, resource }) => {
        const parent = spans.find(({ spanId }) => spanId === parentSpanId)?.name;
        return { name, parent, attributes, extras, hasFailed, resource };
      })
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
  );
}
