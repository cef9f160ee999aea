import { guaranteeLevels } from "@svc/core";
import type { Api } from "@svc/test-conformance/api";
import { readDocument } from "@svc/test-conformance/document";
import { enrolling, newKey } from "@svc/test-conformance/enrollment";
import { examples, prepare } from "@svc/test-conformance/examples";
import { clerkSession, ledgerHops, registerLedger } from "@svc/test-conformance/ledger";
import { asOwner } from "@svc/test-conformance/stack";
import { waitUntil } from "@svc/test-support";
import type { Surface } from "./surface.ts";

/** Direct requests to the control plane that cause everything it emits. */

const scope = "canary";
const hops = ledgerHops(scope);

/** Every operation of the API document, as its callers use it. */
export async function callEveryRoute({ api, database }: Surface): Promise<void> {
  await prepare(api);
  const { operations } = readDocument((await api.call("GET", "/openapi.json")).body);
  for (const { name } of operations) {
    const example = examples[name];
    if (example === undefined) throw new Error(`there is no example of ${name}: write one`);
    await example(api, database);
  }
}

export async function takeHops(surface: Surface): Promise<void> {
  const { api } = surface;
  await registerLedger(api, scope);
  await delegate(surface);
  await consentForHostileNames(api);
  await mint(api);
  await raiseTaint(api);
  await revokeOnTheWay(api);
  await enrollAndProve(surface);
  await callEveryGuaranteeLevel(api);
  await loseTheDatabase(surface);
}

async function delegate({ api, database }: Surface): Promise<void> {
  const { session, clerk } = await clerkSession(api, scope);
  const read = await api.hop(session, clerk.token, hops.read);
  await api.exchange(clerk.token, hops.read, read.action);
  await api.renew(clerk.token, 1);
  await api.chain(read.action);
  await api.chain("01a00000-0000-7000-8000-000000000000");
  await api.chain(await recordOfAnEarlierRelease(database, session));
  await api.authorize(session, read.token, hops.read);
  await api.authorize(session, "eyJ.canary.token", hops.read);
  const other = await api.consent(scope, { user_sub: "canary-user" });
  await api.authorize(other.session, other.token, { ...hops.read, target: "http:canary/nowhere" });
  await api.authorize(other.session, other.token, { ...hops.clerk, data_class: "canary.undeclared" });
  await api.authorize(other.session, other.token, { ...hops.read, data_class: "web" }, { enforced: false });
  await api.exchangeForm({ canary: "canary-form" });
  for (const headers of traceContexts)
    await api.call("POST", "/v1/authorize", {
      bearer: other.token,
      body: { session_id: other.session, ...hops.planner },
      raw: { headers },
    });
}
const traceContexts = [{ traceparent: "canary-traceparent" }, { baggage: "user=canary-baggage" }];

/** Names that would break a log line, colour a terminal or imitate a record; some are refused. */
const hostileNames = ["canary\r\nlevel=error", "\u001b[31mcanary\u001b[0m", '{"msg":"canary"}', "canary\u2028%s%j"];

async function consentForHostileNames(api: Api): Promise<void> {
  for (const user_sub of hostileNames) {
    const body = { scope, user_sub };
    const consent = await api.call("POST", "/v1/consent", { bearer: api.tokens.admin, body });
    if (consent.status === 201) await api.authorize(consent.body.session_id, consent.body.root_grant, hops.planner);
  }
}

/** A record from before records had a parent: its chain breaks there. */
async function recordOfAnEarlierRelease(database: Surface["database"], session: string): Promise<string> {
  const action = crypto.randomUUID();
  await asOwner(
    database,
    (sql) => sql`
      insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
        data_class, decision, recoverable, enforced, privileged, taint, policy_version, decided_at)
      values (${action}, 1, ${session}, 'authorize', 2, ${["canary-user", "canary-agent"]}, 'canary-agent', 'http:x/y',
        'tool', 'docs', 'allow', false, true, false, 'trusted_internal', 1, now())`,
  );
  return action;
}

async function mint(api: Api): Promise<void> {
  const { session, clerk } = await clerkSession(api, scope);
  const post = await api.hop(session, clerk.token, hops.post);
  const params = { note: "canary-param" };
  await api.mint(post.token, post.action, [params]);
  await api.mint(post.token, post.action, params);
  await api.mint(post.token, post.action, params);
}

async function raiseTaint(api: Api): Promise<void> {
  const { session, clerk } = await clerkSession(api, scope);
  const [first = "", second = "", third = ""] = (await api.renew(clerk.token, 3)).body.tokens;
  await api.hop(session, first, hops.browse);
  await api.authorize(session, second, hops.post);
  await api.hop(session, third, hops.read);
}

async function revokeOnTheWay(api: Api): Promise<void> {
  const name = "canary-leaver";
  const tool = { ref: "http:canary-leaver/read", data_classes: ["docs"] };
  await api.attest(name, { leaving: { hop_budget: 3, tools: [tool] } });
  const { session, token } = await api.consent("leaving");
  const leaver = await api.hop(session, token, { target: name, target_kind: "agent", data_class: "docs" });
  const read = { target: tool.ref, target_kind: "tool", data_class: "docs" } as const;
  const { action_id: action } = (await api.authorize(session, leaver.token, read)).body;
  await enrolling(api).revoke(name, { reason: "canary-reason" });
  await api.exchange(leaver.token, read, action);
  await api.authorize(session, leaver.token, read);
}

/** Enrolled and not, and every way in which a proof of possession fails. */
async function enrollAndProve({ api, strict, provider }: Surface): Promise<void> {
  const { begin, complete, prove, actorToken } = enrolling(api);
  const audience = { audience: "https://issuer.test" };
  const completedAs = async (status: string, agent: string, person?: string) => {
    const key = await newKey();
    const vouched = person !== undefined && { principal_assertion: await provider.idToken(person, key.kid) };
    // On a busy machine the provider may time out.
    await waitUntil(`${agent} to be ${status}`, async () => {
      const { body } = await begin(agent, { key, ...vouched });
      const done = await complete(body.enrollment_id, await prove(agent, key, body.challenge, audience));
      return done.body.status === status;
    });
    return key;
  };
  const key = await completedAs("enrolled", hops.clerk.target, "canary-person");
  await api.attest("canary-stranger", { aside: { hop_budget: 2 } });
  await completedAs("quarantined", "canary-stranger");

  const stray = await newKey();
  const proofs: ((subject: string) => Promise<string>)[] = [
    async () => "canary-proof",
    (subject) => actorToken(hops.planner.target, stray, subject),
  ];
  for (const prover of [...proofs, (subject: string) => actorToken(hops.clerk.target, key, subject)]) {
    const { session, token } = await api.consent(scope);
    const planner = await api.hop(session, token, hops.planner);
    const { action_id: action } = (await api.authorize(session, planner.token, hops.clerk)).body;
    const actor = { actor_token: await prover(planner.token), actor_token_type: tokenType };
    await api.exchange(planner.token, hops.clerk, action, actor);
    await api.authorize(session, planner.token, hops.clerk, { actor_token: "canary-proof" });
  }
  const { session, token } = await strict.consent(scope);
  const { action_id: action } = (await strict.authorize(session, token, hops.planner)).body;
  await strict.exchange(token, hops.planner, action);
}
const tokenType = "urn:ietf:params:oauth:token-type:jwt";

async function callEveryGuaranteeLevel(api: Api): Promise<void> {
  const tools = guaranteeLevels.map((level) => ({
    ref: `http:canary-levels/${level}`,
    data_classes: ["docs"],
    guarantee_level: level,
  }));
  await api.attest("canary-levels", { levels: { hop_budget: 2, tools } });
  const { session, token } = await api.consent("levels");
  for (const { ref } of tools)
    await api.authorize(session, token, { target: ref, target_kind: "tool", data_class: "docs" });
}

async function loseTheDatabase({ api, databaseLine }: Surface): Promise<void> {
  const { session, clerk } = await clerkSession(api, scope);
  const [first = "", second = ""] = (await api.renew(clerk.token, 2)).body.tokens;
  const post = await api.hop(session, first, hops.post);
  const { action_id: action } = (await api.authorize(session, second, hops.read)).body;
  await databaseLine.refuse();
  await api.authorize(session, second, hops.read);
  await api.exchange(second, hops.read, action);
  await api.mint(post.token, post.action, { note: "canary-param" });
  await api.renew(second, 1);
  await api.call("GET", "/v1/agents", { bearer: api.tokens.admin });
  await api.call("GET", "/readyz");
  await databaseLine.accept();
}
