import { setTimeout as delay } from "node:timers/promises";
import type { Api } from "@svc/test-conformance/api";
import { clerkSession, ledgerHops, registerLedger } from "@svc/test-conformance/ledger";
import type { Random } from "@svc/test-support";

/** An act that ends a right, for good or for a while. */
export type Ending = "session ended" | "scope blocked" | "agent revoked" | "agent blocked";

/** Whose token makes the calls: of an agent, or the root grant of the person to whom one agent lends its tools. */
export type Caller = "agent" | "person";

export interface Right {
  readonly caller: Caller;
  readonly ending: Ending;
}

/** Every caller with the endings of its right. */
export const rights: readonly Right[] = [
  { caller: "agent", ending: "session ended" },
  { caller: "agent", ending: "scope blocked" },
  { caller: "agent", ending: "agent revoked" },
  { caller: "person", ending: "agent revoked" },
  { caller: "person", ending: "agent blocked" },
];

/** An operation that races it, on another process. `hop`: decided and exchanged in one trip. */
export const acts = ["authorize", "exchange", "hop", "renew", "mint"] as const;
export type Act = (typeof acts)[number];

export interface Interleaving {
  readonly ending: Ending;
  readonly act: Act;
  /** The operation started after the ending had returned. */
  readonly isLate: boolean;
  readonly wasGranted: boolean;
  /** Its grant passed a later check. */
  readonly wasGoodAfterwards: boolean;
}

export interface Race {
  /** The process that ends the right, and the one that uses it. */
  readonly one: Api;
  readonly other: Api;
  readonly caller: Caller;
  readonly scope: string;
  readonly random: Random;
}

const spreadMs = 8;

/** Races every operation with one ending, each at its own moment; and repeats each once after the ending's return. */
export async function raceOnce(lane: Race, ending: Ending): Promise<readonly Interleaving[]> {
  const race = ending.startsWith("agent") ? await withFreshAgents(lane) : lane;
  const { random } = race;
  const { session, racing, late } = await atLast(() => prepare(race));
  let isEnded = false;
  const ended = delay(random.below(spreadMs)).then(async () => {
    await atLast(() => endRight(race, ending, session));
    isEnded = true;
  });
  const raced = await Promise.all(
    acts.map(async (act) => {
      await delay(random.below(spreadMs));
      return { act, isLate: isEnded, ...(await racing[act]()) };
    }),
  );
  await ended;
  const tooLate = await Promise.all(acts.map(async (act) => ({ act, isLate: true, ...(await late[act]()) })));
  const interleavings = await Promise.all(
    [...raced, ...tooLate].map(async ({ act, isLate, wasGranted, passesAgain }) => {
      return { ending, act, isLate, wasGranted, wasGoodAfterwards: wasGranted && (await passesAgain()) };
    }),
  );
  if (ending === "scope blocked") await atLast(() => lift(race));
  return interleavings;
}

/** Nothing that started after the end is granted, and every earlier grant fails its next check. */
export const isBroken = ({ isLate, wasGranted, wasGoodAfterwards }: Interleaving): boolean =>
  (isLate && wasGranted) || wasGoodAfterwards;

const tries = 20;

/** On a busy machine some calls return 503; calls outside the race are then repeated. */
async function atLast<T>(act: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await act();
    } catch (fault) {
      if (count === tries) throw fault;
    }
  }
}

interface Attempt {
  readonly wasGranted: boolean;
  /** Whether the next check accepts the grant. */
  readonly passesAgain: () => Promise<boolean>;
}
type Acts = Readonly<Record<Act, () => Promise<Attempt>>>;

/** A session, and for each operation its own tokens and allows, twice. */
async function prepare({ other, scope, caller }: Race): Promise<{ session: string; racing: Acts; late: Acts }> {
  const { session, token } = caller === "person" ? await other.consent(scope) : await clerkToken(other, scope);
  const { read, post } = ledgerHops(scope);
  const [first = "", ...siblings]: string[] = (await other.renew(token, 8)).body.tokens;
  siblings.push(...(await other.renew(first, 3)).body.tokens);
  const next = () => siblings.pop() ?? "";
  const isAllowed = async (token: string) => (await other.authorize(session, token, read)).body.decision === "allow";
  const actsOf = async (): Promise<Acts> => {
    const [authorized, exchanged, taken, renewed, posted] = [next(), next(), next(), next(), next()];
    const allow = await other.authorize(session, exchanged, post);
    const privileged = await other.hop(session, posted, post);
    return {
      async authorize() {
        const { body } = await other.authorize(session, authorized, read);
        const passesAgain = async () => (await other.exchange(authorized, read, body.action_id)).status === 200;
        return { wasGranted: body.decision === "allow", passesAgain };
      },
      async exchange() {
        const { status, body } = await other.exchange(exchanged, post, allow.body.action_id);
        const passesAgain = async () =>
          (await other.mint(body.access_token, allow.body.action_id, { amount: 1 })).status === 200;
        return { wasGranted: status === 200, passesAgain };
      },
      async hop() {
        const [answer] = await other.hops([{ session_id: session, token: taken, ...read, body_settled: true }]);
        const passesAgain = () => isAllowed(answer?.sibling?.token ?? "");
        return { wasGranted: answer?.exchange?.status === 200, passesAgain };
      },
      async renew() {
        const { status, body } = await other.renew(renewed, 1);
        return { wasGranted: status === 200, passesAgain: () => isAllowed(body.tokens[0]) };
      },
      async mint() {
        const { status } = await other.mint(privileged.token, privileged.action, { amount: 1 });
        // The tool alone uses it, and verifies it offline.
        return { wasGranted: status === 200, passesAgain: async () => false };
      },
    };
  };
  return { session, racing: await actsOf(), late: await actsOf() };
}

async function clerkToken(api: Api, scope: string) {
  const { session, clerk } = await clerkSession(api, scope);
  return { session, token: clerk.token };
}

/** Revocation is final, so every race has its own agents. */
async function withFreshAgents(lane: Race): Promise<Race> {
  const scope = `${lane.scope}-${crypto.randomUUID().slice(0, 8)}`;
  const register = lane.caller === "person" ? registerClerk : registerLedger;
  await atLast(() => register(lane.one, scope));
  return { ...lane, scope };
}

/** The one agent of the scope: while it is denied, no agent lends its tools to the person. */
async function registerClerk(api: Api, scope: string): Promise<void> {
  const { read, post } = ledgerHops(scope);
  const tools = [
    { ref: read.target, data_classes: [read.data_class] },
    { ref: post.target, data_classes: [post.data_class], access: "write", privileged: true },
  ];
  const { status, text } = await api.attest(`clerk-${scope}`, { [scope]: { hop_budget: 4, tools } });
  if (status !== 201) throw new Error(`registration: ${status} ${text}`);
}

async function endRight(race: Race, ending: Ending, session: string): Promise<void> {
  const { one, scope, random, caller } = race;
  const involved = caller === "person" ? (["clerk"] as const) : (["clerk", "planner"] as const);
  const call = (method: string, path: string, body?: unknown) =>
    one.call(method, path, { bearer: one.tokens.admin, body });
  const { status, text } = await {
    "session ended": () => call("POST", `/v1/sessions/${session}/revoke`, {}),
    "scope blocked": () => call("PUT", `/v1/blocks/scope/${scope}`, { reason: "a race" }),
    "agent blocked": () => call("PUT", `/v1/blocks/agent/${random.of(involved)}-${scope}`, { reason: "a race" }),
    // The acting agent, or the one that delegated to it.
    "agent revoked": async () => {
      const name = `${random.of(involved)}-${scope}`;
      const { body } = await call("GET", `/v1/agents/resolve?name=${name}`);
      return call("POST", `/v1/agents/${body.agent_id}/revoke`, { reason: "a race" });
    },
  }[ending]();
  if (status !== 200) throw new Error(`the ending failed: ${status} ${text}`);
}

async function lift({ one, scope }: Race): Promise<void> {
  const { status, text } = await one.call("DELETE", `/v1/blocks/scope/${scope}`, { bearer: one.tokens.admin });
  if (status !== 204) throw new Error(`lifting the block failed: ${status} ${text}`);
}
