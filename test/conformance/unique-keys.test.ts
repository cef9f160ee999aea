import { capabilitiesOf, startEchoUpstream } from "@svc/test-support";
import { afterAll, describe, expect, test } from "vitest";
import { type Answer, refusalCode, whenDecided } from "./src/api.ts";
import { newKey } from "./src/enrollment.ts";
import { hop, requiringIdentities } from "./src/identity-required.ts";
import { all, atOnce, oneOf, type ParallelOperation } from "./src/parallel.ts";
import { parallelPeople } from "./src/parallel-people.ts";
import { startPeopleStack } from "./src/people-stack.ts";

const { stack, api, proofOf, actionFor, take, clerkToken, renew, mint, keyOf } = await requiringIdentities();

const admin = (method: string, path: string, body?: object) =>
  api.call(method, path, { bearer: api.tokens.admin, ...(body !== undefined && { body }) });

let names = 0;
const newName = (): string => `crowded-${++names}`;
const scopesOf = (scope: string, tool: string) => ({
  [scope]: { hop_budget: 2, tools: [{ ref: `http:${tool}`, data_classes: ["finance"] }] },
});

/** Of an MCP server. */
const answers = {
  "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
  "tools/list": { tools: [{ name: "pay", inputSchema: { type: "object" } }] },
};
type Method = keyof typeof answers;

const people = await startPeopleStack();
afterAll(() => people.stop());

const parallelOperations: Readonly<Record<string, ParallelOperation>> = {
  ...(await parallelPeople(people)),
  "register one name": {
    keys: ["agent_name_key", "agent_pkey", "reconciliation_report_pkey"],
    async run() {
      const [name, scope] = [newName(), newName()];
      return atOnce(() => api.attest(name, scopesOf(scope, newName())));
    },
    expected: oneOf("201", "409 agent_exists"),
  },
  "register agents that share a tool and a scope": {
    keys: ["claimed_name_pkey", "compiled_policy_pkey", "tool_fact_pkey"],
    async run() {
      const [scope, tool] = [newName(), newName()];
      return atOnce(() => api.attest(newName(), scopesOf(scope, tool)));
    },
    expected: all("201"),
  },
  "register agents whose tools one origin advertises": {
    keys: ["server_origin_pkey"],
    async run() {
      const scopes = scopesOf(newName(), newName());
      const source = await startEchoUpstream((_request, response) => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(capabilitiesOf({ scopes })));
      });
      const manifest = { discovery: { kind: "http", url: source.url }, scopes };
      return atOnce(() => admin("POST", "/v1/agents", { name: newName(), manifest })).finally(source.stop);
    },
    expected: all("201"),
  },
  "register agents whose server defines one tool": {
    keys: ["tool_definition_pkey"],
    async run() {
      const server = await startEchoUpstream(({ body }, response) => {
        const { id, method } = JSON.parse(String(body));
        const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...answers[method as Method] };
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      });
      const discovery = { kind: "mcp", name: newName(), url: server.url };
      const tools = [{ ref: `mcp:${discovery.name}/pay`, data_classes: ["finance"] }];
      const manifest = { discovery, scopes: { [newName()]: { hop_budget: 2, tools } } };
      return atOnce(() => admin("POST", "/v1/agents", { name: newName(), manifest })).finally(server.stop);
    },
    expected: all("201"),
  },
  "submit manifests of one agent": {
    keys: ["manifest_version_pkey", "manifest_scope_pkey", "compiled_policy_pkey"],
    async run() {
      const [agent, scope] = [newName(), newName()];
      await api.attest(agent, scopesOf(scope, newName()));
      return atOnce(() =>
        admin("POST", "/v1/manifests", { agent, manifest: { scopes: scopesOf(scope, newName()) }, override: {} }),
      );
    },
    expected: all("201"),
  },
  "consent to one scope": {
    keys: ["session_pkey", "session_state_pkey", "administrative_event_pkey"],
    run: () => atOnce(() => admin("POST", "/v1/consent", { scope: "books", user_sub: "ada" })),
    expected: all("201"),
  },
  "authorize one hop": {
    keys: ["decision_pkey"],
    async run() {
      const { session, clerk } = await clerkToken();
      return atOnce(() => api.authorize(session, clerk, hop.read));
    },
    expected: all("200"),
  },
  "authorize one hop under taint, which marks": {
    keys: ["taint_mark_once", "decision_pkey"],
    async run() {
      const { session, clerk } = await clerkToken();
      return atOnce(() => api.authorize(session, clerk, hop.read, { taint: "untrusted_external" }));
    },
    expected: all("200"),
  },
  "exchange one token and one allow": {
    keys: ["spend_pkey", "spend_action_id_key", "spend_proof_jti_hash_key"],
    async run() {
      const { session, clerk } = await clerkToken();
      const action = await actionFor(session, clerk, hop.read);
      const proof = await proofOf("clerk", clerk);
      return atOnce(() => whenDecided(() => api.exchange(clerk, hop.read, action, proof)));
    },
    expected: oneOf("200", "400 invalid_grant"),
  },
  "exchange one token under taint, which marks": {
    keys: ["spend_pkey", "taint_mark_once"],
    async run() {
      const { session, clerk } = await clerkToken();
      const action = await actionFor(session, clerk, hop.read);
      const more = { ...(await proofOf("clerk", clerk)), taint: "untrusted_external" };
      return atOnce(() => whenDecided(() => api.exchange(clerk, hop.read, action, more)));
    },
    expected: oneOf("200", "400 invalid_grant"),
  },
  "renew one token": {
    keys: ["spend_pkey", "spend_proof_jti_hash_key", "spend_renewals"],
    async run() {
      const { clerk } = await clerkToken();
      const { actor_token } = await proofOf("clerk", clerk);
      return atOnce(() => whenDecided(() => renew(clerk, { actor_token })));
    },
    expected: oneOf("200", "409 token_spent"),
  },
  "mint for one action": {
    keys: ["mint_pkey", "mint_proof_jti_hash_key"],
    async run() {
      const { session, clerk } = await clerkToken();
      const { token, action } = await take(session, clerk, hop.post, "clerk");
      const { actor_token } = await proofOf("clerk", token);
      return atOnce(() => whenDecided(() => mint(token, action, { actor_token })));
    },
    expected: oneOf("200", "409 already_minted"),
  },
  "issue enroll tokens of one agent": {
    keys: ["enroll_token_pkey"],
    async run() {
      const agent = await stack.newAgent();
      return atOnce(() => admin("POST", "/v1/identity/enroll-tokens", { agent }));
    },
    expected: all("201"),
  },
  "begin an enrollment with one enroll token": {
    keys: ["enrollment_enroll_token_hash_key", "enrollment_pkey"],
    async run() {
      const agent = await stack.newAgent();
      const { enroll_token } = (await admin("POST", "/v1/identity/enroll-tokens", { agent })).body;
      return atOnce(() => stack.begin(agent, { key: keyOf("idle"), enroll_token }, ""));
    },
    expected: oneOf("201", "401 unauthorized"),
  },
  "sign people in at their callbacks": {
    keys: ["sign_in_pkey", "sign_in_cookie_hash_key"],
    run: () => atOnce((n) => signedIn(`person-${n}`)),
    expected: all("303"),
  },
  "complete one enrollment": {
    keys: ["agent_identity_pkey"],
    async run() {
      const { id, proof } = await begun(await stack.newAgent(), keyOf("idle"));
      return atOnce(() => stack.complete(id, proof));
    },
    expected: oneOf("200", "409 enrollment_expired"),
  },
  "complete enrollments of one agent": {
    keys: ["agent_identity_pkey", "agent_identity_agent_key", "agent_identity_thumbprint_key"],
    async run() {
      const agent = await stack.newAgent();
      const enrollments = await atOnce(() => begun(agent, keyOf("idle")));
      return Promise.all(enrollments.map(({ id, proof }) => stack.complete(id, proof)));
    },
    expected: all("200"),
  },
  "bind one key to many agents": {
    keys: ["agent_identity_thumbprint_key"],
    async run() {
      const key = await newKey();
      const enrollments = await atOnce(async () => begun(await stack.newAgent(), key));
      return Promise.all(enrollments.map(({ id, proof }) => stack.complete(id, proof)));
    },
    expected: all("200"),
  },
  "revoke one agent": {
    keys: ["revocation_pkey", "revocation_agent_key"],
    async run() {
      const agent = await stack.newAgent();
      return atOnce(() => stack.revoke(agent));
    },
    expected: all("200"),
  },
  "set one block": {
    keys: ["block_pkey"],
    async run() {
      const path = `/v1/blocks/tool/${newName()}`;
      return atOnce((n) => admin("PUT", path, { reason: `reason ${n}` }));
    },
    expected: all("200"),
  },
  "end one user's sessions": {
    keys: ["administrative_event_pkey"],
    async run() {
      await admin("POST", "/v1/consent", { scope: "books", user_sub: "grace" });
      return atOnce(() => admin("POST", "/v1/sessions/revoke", { user_sub: "grace" }));
    },
    expected: all("200"),
  },
  "rotate the keys": {
    keys: ["signing_key_pkey"],
    run: () => atOnce((n) => admin("POST", "/v1/keys/rotate", { now: n % 2 === 0 })),
    expected: all("200"),
  },
  // Last: it ends every session.
  "raise the issuer epoch": {
    keys: ["issuer_epoch_pkey", "denial_epoch_pkey", "signing_key_pkey", "witness_pkey"],
    run: () => atOnce(() => admin("POST", "/v1/issuer-epoch", {})),
    expected: all("200"),
  },
};

/** Keys of inserts that no request causes: the owner's, or a background process's, one at a time. */
const ofNoRequest = [
  "seal_pkey",
  "housekeeping_pkey",
  "retention_pkey",
  "retired_month_pkey",
  "schema_migration_pkey",
  "sink_pkey",
  "unmarked_pkey",
  "would_block_count_pkey",
  "would_block_group_in_order",
  "would_block_group_pkey",
  "would_block_place_pkey",
  "would_block_progress_pkey",
  "would_block_slice_pkey",
];

async function begun(agent: string, key: Parameters<typeof stack.vouched>[0] & ReturnType<typeof keyOf>) {
  const { body } = await stack.begin(agent, { key, ...(await stack.vouched(key)) });
  return { id: String(body.enrollment_id), proof: await stack.prove(agent, key, body.challenge) };
}

/** A person's way to the provider and back. */
async function signedIn(person: string): Promise<Answer> {
  const { headers } = await api.call("GET", "/sign-in", { raw: {} });
  const { pathname, search } = await stack.provider.logIn(new URL(headers.get("location") ?? ""), person);
  const [cookie = ""] = (headers.get("set-cookie") ?? "").split(";");
  return api.call("GET", `${pathname}${search}`, { raw: { headers: { cookie } } });
}

/** Without 503: on a busy machine some of twenty that wait for one row get Retry-After. */
const tally = (answers: readonly Pick<Answer, "status" | "body">[]): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(answers, (answer) => [answer.status, refusalCode(answer)].filter(Boolean).join(" "))]
      .filter(([result]) => !result.startsWith("503 "))
      .map(([result, given]) => [result, given.length]),
  );

describe("of twenty parallel requests to", () => {
  test.each(Object.entries(parallelOperations))(
    "%s each gets its result, and no request is a server error",
    async (_, { run, expected }) => {
      const counted = tally(await run());
      const others = expect.any(Number);
      expect(counted).toEqual({ ...(expected.one !== undefined && { [expected.one]: 1 }), [expected.others]: others });
    },
  );
});

test("the parallel requests cover every unique key of the schema", async () => {
  const rows = await stack.sql<{ name: string }[]>`
    select c.relname::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indisunique and c.relnamespace = 'public'::regnamespace and not c.relispartition order by 1`;
  const met = new Set(Object.values(parallelOperations).flatMap(({ keys }) => keys));
  expect(rows.map(({ name }) => name)).toEqual([...new Set([...met, ...ofNoRequest])].sort());
});
