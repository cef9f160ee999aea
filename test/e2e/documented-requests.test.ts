import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { enrolling, newKey } from "@svc/test-conformance/enrollment";
import { heldHandle } from "@svc/test-conformance/handles";
import { insertSignIn } from "@svc/test-conformance/inserted-sign-in";
import { insertSink } from "@svc/test-conformance/inserted-sink";
import { asOwner, startOne } from "@svc/test-conformance/stack";
import { testBearers } from "@svc/test-support";
import { afterAll, expect, test } from "vitest";

/** The requests that the API reference shows, sent one after the other as a shell sends them. */
const { api, database, stop } = await startOne();
afterAll(stop);

interface Sample {
  readonly lang: string;
  readonly source: string;
}
// biome-ignore lint/suspicious/noExplicitAny: a black-box test reads what came.
type Body = any;

const document: Body = (await api.call("GET", "/openapi.json")).body;
const samples = new Map<string, readonly Sample[]>(
  Object.entries<Body>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Body>(methods).map(([method, operation]) => [
      `${method.toUpperCase()} ${path}`,
      operation["x-codeSamples"] ?? [],
    ]),
  ),
);
const sourceOf = (route: string, lang: string): string =>
  samples.get(route)?.find((sample) => sample.lang === lang)?.source ?? "";

const key = await newKey();
const { x = "", y = "" }: { x?: string; y?: string } = key.publicJwk;
const variables: Record<string, string> = {
  SVC_CONTROL_PLANE_URL: api.url,
  SVC_ADMIN_TOKEN: testBearers.admin,
  SVC_AUDIT_TOKEN: testBearers.audit,
  SVC_IDENTITY_TOKEN: testBearers.identity,
  SVC_ENFORCEMENT_TOKEN: testBearers.enforcement,
  JWK_X: x,
  JWK_Y: y,
};

/** In the order of a first use; what a response brings for later requests. */
const story: readonly (readonly [route: string, brings?: (body: Body) => Promise<object> | object])[] = [
  ["GET /livez"],
  ["GET /readyz"],
  ["GET /metrics"],
  ["GET /openapi.json"],
  ["GET /docs"],
  ["GET /docs/start.js"],
  ["GET /docs/reference.js"],
  ["GET /.well-known/jwks.json"],
  ["GET /.well-known/oauth-authorization-server"],
  ["POST /v1/agents", ({ agent_id: AGENT_ID }) => ({ AGENT_ID })],
  ["GET /v1/agents"],
  ["GET /v1/agents/resolve"],
  ["GET /v1/agents/{agent_id}/reconciliation"],
  ["POST /v1/manifests/preview"],
  ["POST /v1/manifests"],
  ["GET /v1/manifests/{scope}"],
  ["GET /v1/scopes"],
  ["GET /v1/scopes/{scope}/catalog"],
  ["GET /v1/audit/verdicts"],
  ["POST /v1/consent", ({ session_id: SESSION_ID, root_grant: ROOT_GRANT }) => ({ SESSION_ID, ROOT_GRANT })],
  ["GET /v1/session/targets"],
  ["POST /v1/authorize", ({ action_id: ACTION_ID }) => ({ ACTION_ID })],
  ["POST /v1/token/exchange", ({ access_token: TOOL_TOKEN }) => ({ TOOL_TOKEN })],
  ["POST /v1/token/transaction", async () => ({ RENEWABLE_TOKEN: (await api.consent("expenses")).token })],
  [
    "POST /v1/token/renew",
    async () => {
      const { session, token } = await api.consent("expenses");
      return { SESSION_ID: session, NEXT_TOKEN: token };
    },
  ],
  [
    "POST /v1/hops",
    // No person can sign in here, so the client's access token is made as rows.
    async () => ({
      ACCESS_TOKEN: (await heldHandle(api, database, { scope: "expenses", agent: "planner" })).handle,
    }),
  ],
  [
    "POST /v1/handles/redeem",
    async ({ session_id: session, root_grant: root, data_class: classes }) => {
      const hop = { target: "planner", target_kind: "agent", data_class: classes } as const;
      return { HOP_TOKEN: (await api.hop(session, root, hop)).token };
    },
  ],
  ["POST /v1/session/consents"],
  ["GET /v1/sessions"],
  ["GET /v1/sessions/{session_id}"],
  ["GET /v1/audit/decisions"],
  ["GET /v1/decisions"],
  ["GET /v1/audit/actions/{action_id}/chain"],
  ["GET /v1/audit/actions/{action_id}/explanation"],
  ["GET /v1/audit/events"],
  ["GET /v1/audit/would-block"],
  ["POST /v1/audit/replay"],
  ["PUT /v1/blocks/{kind}/{ref}"],
  ["GET /v1/blocks"],
  ["DELETE /v1/blocks/{kind}/{ref}"],
  ["POST /v1/sessions/{session_id}/revoke"],
  ["POST /v1/sessions/revoke"],
  ["GET /v1/sign-ins", async () => ({ SIGN_IN_ID: await asOwner(database, (sql) => insertSignIn(sql)) })],
  ["POST /v1/sign-ins/{sign_in_id}/end"],
  ["POST /v1/sign-ins/end"],
  [
    "GET /v1/sinks",
    async () => {
      await asOwner(database, (sql) => insertSink(sql));
      return {};
    },
  ],
  ["POST /v1/sinks/{sink}/replay"],
  ["POST /v1/identity/enroll-tokens"],
  [
    "POST /v1/identity/enrollments",
    async ({ enrollment_id: ENROLLMENT_ID, challenge }) => ({
      ENROLLMENT_ID,
      PROOF: await enrolling(api).prove("planner", key, challenge),
    }),
  ],
  ["POST /v1/identity/enrollments/{enrollment_id}/complete"],
  ["GET /v1/identity/agents/{name}"],
  ["GET /v1/identity/agents/by-id/{agent_id}"],
  ["GET /v1/identity/revocations"],
  ["GET /v1/identity/revocations/stream"],
  ["POST /v1/agents/{agent_id}/lift-quarantine"],
  ["POST /v1/agents/{agent_id}/revoke"],
  ["GET /v1/keys", ({ data }) => ({ KID: data[0].kid })],
  ["POST /v1/keys/rotate"],
  ["DELETE /v1/keys/{kid}"],
  ["POST /v1/issuer-epoch"],
];

test("every route of the document is in the story", () => {
  expect(story.map(([route]) => route).sort()).toEqual([...samples.keys()].sort());
});

test.each(story.map(([route, brings]) => ({ route, brings })))(
  "the shell's $route succeeds",
  async ({ route, brings }) => {
    const command = `${sourceOf(route, "Shell")} \\\n  --write-out '\\n%{http_code}'`;
    const env = { PATH: process.env.PATH, ...variables };
    const { stdout } = await promisify(execFile)("bash", ["-euc", command], { env, maxBuffer: 64 * 1024 * 1024 });
    const [status = "", ...lines] = stdout.split("\n").reverse();
    const text = lines.reverse().join("\n");
    expect(Number(status), text.slice(0, 2_000)).toBeLessThan(300);
    if (brings !== undefined) Object.assign(variables, await brings(JSON.parse(text)));
  },
);

/** What the TypeScript samples have at hand. */
const given = `
import { AuthzClient, type Session } from "@svc/client";
declare const svc: AuthzClient;
declare const session: Session;
declare const manifest: { scopes: Record<string, { hop_budget: number }> };
declare const [agentId, actionId, kid]: [string, string, string];
`;

test("every sample in TypeScript compiles against @svc/client", async () => {
  const folder = new URL("node_modules/.cache/samples/", import.meta.url).pathname;
  mkdirSync(folder, { recursive: true });
  const functions = [...samples.keys()].map(
    (route, at) => `export async function sample${at}() {\n${sourceOf(route, "TypeScript")}\n}`,
  );
  for (const source of functions) expect(source).not.toMatch(/\{\n\n\}$/);
  writeFileSync(`${folder}samples.ts`, [given, ...functions].join("\n"));
  const options = {
    strict: true,
    noEmit: true,
    module: "nodenext",
    target: "esnext",
    types: ["node"],
    skipLibCheck: true,
  };
  writeFileSync(`${folder}tsconfig.json`, JSON.stringify({ compilerOptions: options, files: ["samples.ts"] }));
  const compiled = await promisify(execFile)("tsc", ["-p", folder]).catch((cause: { stdout: string }) => cause);
  expect(compiled.stdout).toBe("");
});
