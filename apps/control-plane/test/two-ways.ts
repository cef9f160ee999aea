import { jwtTokenType, tokenExchangeGrantType } from "@svc/core";
import { createTelemetry } from "@svc/telemetry";
import { aManifest, aTool } from "@svc/test-support";
import type { Deps } from "../src/deps.ts";
import { createEvents, type Events } from "../src/events.ts";
import { submitter } from "./submitting.ts";
import { type Answer, query, startPlane, type TestApp, type TestPlane } from "./support.ts";

/** One hop as whoever takes it asks for it. */
export interface HopAsked {
  readonly token: string;
  readonly session: string;
  readonly target: string;
  readonly targetKind?: "tool" | "agent";
  readonly dataClass?: string;
  /** Members of the body besides. */
  readonly more?: Readonly<Record<string, unknown>>;
  /** For the exchange. */
  readonly actorToken?: string | undefined;
}

/** What came of it, however many trips it took. */
export interface Taken {
  readonly decision: Part;
  /** Undefined where there was nothing to exchange. */
  readonly exchange: Part | undefined;
}

interface Part {
  readonly status: number;
  readonly body: unknown;
}

/** The two ways to take a hop; `inOne` falls back to an ordinary exchange where the trip brought a decision alone. */
export const ways = { inTwo, inOne } as const;
export type WayName = keyof typeof ways;

async function inTwo(app: TestApp, asked: HopAsked): Promise<Taken> {
  const decision = partOf(await app.send("/v1/authorize", { token: asked.token, body: bodyOf(asked) }));
  return { decision, exchange: await exchangeAfter(app, asked, decision) };
}

async function inOne(app: TestApp, asked: HopAsked): Promise<Taken> {
  const body = { ...bodyOf(asked), ...(asked.actorToken !== undefined && { actor_token: asked.actorToken }) };
  const answer = await app.send("/v1/hop", { token: asked.token, body });
  if (answer.status !== 200) return { decision: partOf(answer), exchange: undefined };
  const decision = { status: 200, body: answer.json.decision };
  const exchange = answer.json.exchange as unknown as Part | null;
  return { decision, exchange: exchange ?? (await exchangeAfter(app, asked, decision)) };
}

const partOf = ({ status, json }: Answer): Part => ({ status, body: json });

const bodyOf = ({ session, target, targetKind = "tool", dataClass = "finance.entries", more }: HopAsked) => ({
  ...{ session_id: session, target, target_kind: targetKind, data_class: dataClass },
  ...more,
});

async function exchangeAfter(app: TestApp, asked: HopAsked, { body }: Part): Promise<Part | undefined> {
  const { decision, action_id } = body as { decision?: string; action_id?: string };
  if (decision !== "allow" || action_id === undefined) return undefined;
  const { token, target, dataClass = "finance.entries", actorToken } = asked;
  const form = new URLSearchParams({
    grant_type: tokenExchangeGrantType,
    subject_token: token,
    subject_token_type: jwtTokenType,
    resource: target,
    scope: dataClass,
    action_id,
    ...(typeof asked.more?.taint === "string" && { taint: asked.more.taint }),
    ...(actorToken !== undefined && { actor_token: actorToken, actor_token_type: jwtTokenType }),
  });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return partOf(await app.send("/v1/token/exchange", { token: "", headers, body: form.toString() }));
}

/** A control plane whose hops are taken in one way, and everything that they leave behind. */
export interface Way {
  readonly plane: TestPlane & TestApp;
  /** What is told here is kept. */
  readonly events: Events;
  readonly hop: (app: TestApp, asked: HopAsked) => Promise<Taken>;
  /** The app with its telemetry kept, some ports replaced. */
  with(changes?: (deps: Deps) => Partial<Deps>): TestApp;
  consent(): Promise<{ readonly session: string; readonly token: string }>;
  /** Rows, log lines and counters of what `act` did in one session. */
  left(session: string, act: () => Promise<unknown>): Promise<unknown>;
  stop(): Promise<void>;
}

export const scope = "books";

export async function startWay(name: WayName, redisUrl: string): Promise<Way> {
  const plane = await startPlane({ REDIS_URL: redisUrl, SVC_ONE_TRIP_HOPS: String(name === "inOne") });
  const lines: string[] = [];
  const telemetry = createTelemetry({
    app: "control_plane",
    version: "1.2.3",
    config: { key: "k", dev: true, discloseIdentities: false, logLevel: "debug", otel: {} },
    io: { logDestination: { write: (line) => void lines.push(line) } },
  });
  const events = createEvents(telemetry);
  await register(plane);
  return {
    plane,
    events,
    hop: ways[name],
    with: (changes = () => ({})) => plane.with({ events, ...changes(plane.deps) }),
    async consent() {
      const { json } = await plane.send("/v1/consent", { body: { scope, user_sub: "ada" } });
      return { session: String(json.session_id), token: String(json.root_grant) };
    },
    async left(session, act) {
      const before = countersIn((await telemetry.render()).body);
      lines.length = 0;
      await act();
      const after = countersIn((await telemetry.render()).body);
      return {
        rows: await rowsOf(plane, session),
        logged: lines.map((line) => JSON.parse(line)),
        counted: [...after]
          .map(([series, value]) => [series, value - (before.get(series) ?? 0)] as const)
          .filter(([, rise]) => rise !== 0),
      };
    },
    async stop() {
      await telemetry.shutdown();
      await plane.stop();
    },
  };
}

async function register(plane: TestPlane & TestApp): Promise<void> {
  const { register } = submitter(plane);
  const tools = [
    aTool("http:books/read"),
    aTool("http:books/strict", { accepts_taint: false }),
    aTool("http:books/pay", { access: "write", privileged: true }),
    aTool("http:books/web", { result_taint: "untrusted_external" }),
    aTool("http:books/blocked"),
  ];
  const clerk = aManifest(scope, { tools, downstream_agents: ["auditor"] });
  const elsewhere = { archive: { hop_budget: 2, tools: [aTool("http:archive/read")] } };
  await register("clerk", { scopes: { ...clerk.scopes, ...elsewhere } });
  await register("auditor", aManifest(scope, { tools: [aTool("http:books/read")] }));
  await plane.send("/v1/blocks/tool/http:books%2Fblocked", { method: "PUT", body: { reason: "hostile" } });
}

/** Samples by series. Of a histogram only how often it was observed: the rest is time. */
const countersIn = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .split("\n")
      .filter((line) => /^svc_/.test(line) && !/^\w+_(bucket|sum)\b/.test(line))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );

const tables = { decision: "seq", spend: "spent_at", mint: "minted_at", taint_mark: "marked_at, member" } as const;

async function rowsOf({ database }: TestPlane, session: string): Promise<unknown> {
  const each = Object.entries(tables).map(
    ([table, order]) =>
      `'${table}', (select json_agg(to_jsonb(r) order by ${order}) from ${table} r where session_id = $1)`,
  );
  const [row] = await query<{ rows: unknown }>(
    database.superuserUrl,
    `select json_build_object(${each.join()}) as rows`,
    [session],
  );
  return row?.rows;
}

/** In a few words: `allow, 200`, `deny TARGET_BLOCKED`, `401 unauthorized`. */
export function outcomeOf({ decision, exchange }: Taken): string {
  const { error, ...told } = decision.body as {
    decision?: string;
    deny_reason?: string | null;
    error?: { code: string };
  };
  if (error !== undefined) return `${decision.status} ${error.code}`;
  if (exchange === undefined) return `${told.decision} ${told.deny_reason}`;
  const refused = (exchange.body as { error?: string }).error;
  return `${told.decision}, ${exchange.status}${refused === undefined ? "" : ` ${refused}`}`;
}
