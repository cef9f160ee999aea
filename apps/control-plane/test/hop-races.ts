import { aManifest, aTool, type Random } from "@svc/test-support";
import type { DecisionLog } from "../src/ports/decision-log.ts";
import type { Deps } from "../src/routes/deps.ts";
import { call, hops, lineOf } from "./hop-callers.ts";
import { type Interleaving, interleaving } from "./interleaving.ts";
import { type Json, registerAgent, type TestApp, type TestPlane } from "./support.ts";

type Plane = TestPlane & TestApp;

/** Of one race: a session of its own, whose person calls tools that one agent lends. */
interface Stage {
  readonly scope: string;
  readonly agentId: string;
  readonly session: string;
  readonly user: string;
  readonly tokens: readonly string[];
}

const readOf = (scope: string) => `http:${scope}/read`;
const browseOf = (scope: string) => `http:${scope}/browse`;
const lenderOf = (scope: string) => `lender-${scope}`;
const blockPath = (kind: string, ref: string) => `/v1/blocks/${kind}/${encodeURIComponent(ref)}`;

interface Ending {
  readonly name: string;
  readonly end: (plane: Plane, stage: Stage) => Promise<{ status: number }>;
  /** Blocks are global, and every call reads them. */
  readonly lift?: (stage: Stage) => string;
}

const block = (kind: string, refOf: (scope: string) => string): Ending => ({
  name: `${kind} blocked`,
  end: (plane, { scope }) => plane.send(blockPath(kind, refOf(scope)), { method: "PUT", body: { reason: "a race" } }),
  lift: ({ scope }) => blockPath(kind, refOf(scope)),
});

/** Each turns every allow of the session's next calls into a deny. */
export const endings: readonly Ending[] = [
  { name: "session ended", end: (plane, { session }) => plane.send(`/v1/sessions/${session}/revoke`, { body: {} }) },
  {
    name: "sessions of the person ended",
    end: (plane, { user }) => plane.send("/v1/sessions/revoke", { body: { user_sub: user } }),
  },
  {
    name: "agent revoked",
    end: (plane, { agentId }) => plane.send(`/v1/agents/${agentId}/revoke`, { body: { reason: "a race" } }),
  },
  block("tool", readOf),
  block("agent", lenderOf),
  block("scope", (scope) => scope),
  {
    name: "untrusted data read",
    end: (plane, { session, scope, tokens: [token = ""] }) =>
      plane.send("/v1/authorize", {
        token,
        body: { session_id: session, ...call, target: browseOf(scope) },
      }),
  },
];

/** A write that would record an allow. */
interface AllowWrite {
  /** It began after the ending had returned. */
  readonly isLate: boolean;
  readonly wasWritten: boolean;
}

interface Line {
  /** Its request began after the ending had returned. */
  readonly isLate: boolean;
  readonly answer: Json;
}

interface Row {
  readonly actionId: string;
  readonly decision: string;
  readonly isSpent: boolean;
}

export interface Race {
  readonly lines: readonly Line[];
  readonly writes: readonly AllowWrite[];
  readonly rows: readonly Row[];
  /** Siblings that lines brought and that are allowed afterwards. */
  readonly goodAfterwards: number;
}

const racingLines = 4;

/** Races some lines, in one or more requests, with one ending; and sends one more after the ending returned. */
export async function raceOnce(plane: Plane, ending: Ending, random: Random): Promise<Race> {
  const stage = await prepare(plane);
  const { step } = interleaving(random);
  const ended = { isEnded: false };
  const writes: AllowWrite[] = [];
  const app = plane.with(gated(plane.deps, step, writes, ended));
  const send = async (tokens: readonly string[]): Promise<readonly Line[]> => {
    const isLate = ended.isEnded;
    return (await sendLines(app, stage, tokens)).map((answer) => ({ isLate, answer }));
  };
  const returned = step(async () => {
    const { status } = await ending.end(plane, stage);
    if (status !== 200) throw new Error(`${ending.name}: ${status}`);
    ended.isEnded = true;
  });
  const [, ...tokens] = stage.tokens;
  const raced = await Promise.all(
    inParts(tokens.slice(0, racingLines), random).map((part) => step(async () => ({ answered: send(part) }))),
  );
  const lines = (await Promise.all(raced.map(({ answered }) => answered))).flat();
  await returned;
  lines.push(...(await send(tokens.slice(racingLines, racingLines + 1))));
  const rows = await rowsOf(plane, stage);
  const siblings = lines.flatMap(({ answer: { sibling } }) => (sibling ? [String(sibling.token)] : []));
  const afterwards = siblings.length === 0 ? [] : await sendLines(plane, stage, siblings);
  if (ending.lift !== undefined) await plane.send(ending.lift(stage), { method: "DELETE" });
  return { lines, writes, rows, goodAfterwards: afterwards.filter(isAllowed).length };
}

let raceCount = 0;

async function prepare(plane: Plane): Promise<Stage> {
  const scope = `race-${++raceCount}`;
  const user = `person-${raceCount}`;
  const tools = [
    aTool(readOf(scope), { accepts_taint: false }),
    aTool(browseOf(scope), { result_taint: "untrusted_external" }),
  ];
  const agent = await registerAgent(plane, lenderOf(scope), aManifest(scope, { tools }));
  const { json } = await plane.send("/v1/consent", { body: { scope, user_sub: user } });
  const renewed = await plane.send("/v1/token/renew", {
    token: String(json.root_grant),
    body: { count: racingLines + 2 },
  });
  return {
    ...{ scope, user, agentId: String(agent.json.agent_id), session: String(json.session_id) },
    tokens: renewed.json.tokens as unknown as string[],
  };
}

/** In one to three requests. */
function inParts<T>(values: readonly T[], random: Random): readonly (readonly T[])[] {
  const parts: T[][] = [[], [], []];
  for (const value of values) parts[random.below(3)]?.push(value);
  return parts.filter((part) => part.length > 0);
}

/** Every access to a store is a step, and what becomes of each write of an allow is kept. */
function gated(
  deps: Deps,
  step: Interleaving["step"],
  writes: AllowWrite[],
  ended: { readonly isEnded: boolean },
): Partial<Deps> {
  const { sessionState, guard, hops, decisionLog } = deps;
  const written = async <T>(write: () => Promise<T>, wasWritten: (outcome: T) => boolean): Promise<T> => {
    const isLate = ended.isEnded;
    const outcome = await write();
    writes.push({ isLate, wasWritten: wasWritten(outcome) });
    return outcome;
  };
  const append: DecisionLog["append"] = (record, ...rest) =>
    record.decision === "allow"
      ? written(
          () => decisionLog.append(record, ...rest),
          (outcome) => outcome !== "stale",
        )
      : decisionLog.append(record, ...rest);
  return {
    sessionState: { ...sessionState, read: (query) => step(() => sessionState.read(query)) },
    guard: {
      ...guard,
      claim: (claim) => step(() => guard.claim(claim)),
      release: (claim) => step(() => guard.release(claim)),
    },
    hops: {
      take: (...args) =>
        step(() =>
          written(
            () => hops.take(...args),
            ({ kind }) => kind !== "stale",
          ),
        ),
    },
    decisionLog: { ...decisionLog, append: (...args) => step(() => append(...args)) },
  };
}

const sendLines = (app: TestApp, { session, scope }: Stage, tokens: readonly string[]) =>
  hops(app, ...tokens.map((token) => lineOf({ session, token }, { target: readOf(scope) })));

const rowsOf = (plane: Plane, { session, scope }: Stage): Promise<readonly Row[]> =>
  plane.stores.reader.run(
    (sql) => sql<Row[]>`
      select d.action_id as "actionId", d.decision, s.action_id is not null as "isSpent"
      from decision d left join spend s using (action_id)
      where d.session_id = ${session} and d.target = ${readOf(scope)}`,
  );

const isAllowed = (answer: Json): boolean => String(answer.authorize?.body?.decision) === "allow";
const isTaken = ({ exchange, sibling }: Json): boolean => Number(exchange?.status) === 200 || sibling !== undefined;

/** What no race may show. */
export function faultsOf({ lines, writes, rows, goodAfterwards }: Race): readonly string[] {
  const told = (is: (answer: Json) => boolean) =>
    lines.filter(({ answer }) => is(answer)).map(({ answer }) => String(answer.authorize?.body?.action_id));
  const recorded = (is: (row: Row) => boolean) => rows.filter(is).map(({ actionId }) => actionId);
  const same = (some: readonly string[], others: readonly string[]) =>
    JSON.stringify(some.toSorted()) === JSON.stringify(others.toSorted());
  const faults = {
    "a line after the end is allowed or taken": lines.some(
      ({ isLate, answer }) => isLate && (isAllowed(answer) || isTaken(answer)),
    ),
    "an allow was written after the end": writes.some(({ isLate, wasWritten }) => isLate && wasWritten),
    "a line has no decision": lines.some(({ answer }) => Number(answer.authorize?.status) !== 200),
    "records and answers differ": !same(
      told(() => true),
      recorded(() => true),
    ),
    "records and answers differ in what is allowed": !same(
      told(isAllowed),
      recorded(({ decision }) => decision === "allow"),
    ),
    "spends and tokens differ": !same(
      told(isTaken),
      recorded(({ isSpent }) => isSpent),
    ),
    "an allow is unspent": rows.some(({ decision, isSpent }) => (decision === "allow") !== isSpent),
    "a sibling is good after the end": goodAfterwards > 0,
  };
  return Object.entries(faults).flatMap(([fault, isFound]) => (isFound ? [fault] : []));
}
