import {
  type ControlPlane,
  createMigratedDatabase,
  type FaultProxy,
  type OwnRedis,
  requires,
  startControlPlane,
  startFaultProxy,
  startOwnRedis,
  type TestDatabase,
  testBearers,
  waitUntil,
} from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, expect } from "vitest";
import { type Answer, type Api, type Call, createApi, refusalCode } from "./src/api.ts";
import { type Operation, type ReadDocument, readDocument } from "./src/document.ts";
import { enrolling, newKey } from "./src/enrollment.ts";
import { examples, prepare } from "./src/examples/index.ts";
import { withSignature } from "./src/forge.ts";

const { describe, test } = requires("redis-server");

/** Its example raises the epoch of another issuer. */
const raising: Call["init"] = { bearer: testBearers.admin, body: {} };

let database: TestDatabase;
let redis: OwnRedis;
let document: ReadDocument;
/** One successful request of each operation. */
const requests = new Map<Operation, Pick<Call, "method" | "path" | "init">>();

/** Another process of the same issuer, with its own dependencies. */
const startProcess = (env: Record<string, string> = {}, appUrl = database.appUrl): Promise<ControlPlane> =>
  startControlPlane({ database: { ...database, appUrl }, redis }, { SVC_ISSUER: "https://issuer.test", ...env });

let usual: ControlPlane;

/** Calls the operations as their examples do, and keeps the first successful request of each. */
async function collect(names: readonly string[]): Promise<void> {
  const api = createApi(usual.url, testBearers);
  for (const name of names) await examples[name]?.(api, database);
  const seen = new Set<Operation>();
  for (const { method, path, init, answer } of api.calls) {
    const operation = document.operationOf(method, path);
    if (operation === undefined || answer.status >= 300 || seen.has(operation)) continue;
    seen.add(operation);
    if (names.includes(operation.name) || !requests.has(operation)) requests.set(operation, { method, path, init });
  }
}

/** Hop tokens live for 60 s; starting another process on a busy machine can take longer. */
const renewTokens = () =>
  collect(["POST /v1/authorize", "POST /v1/token/transaction", "POST /v1/session/consents", "GET /v1/session/targets"]);

beforeAll(async () => {
  [database, redis] = await Promise.all([createMigratedDatabase(), startOwnRedis()]);
  usual = await startProcess();
  const api = createApi(usual.url, testBearers);
  await prepare(api);
  document = readDocument((await api.call("GET", "/openapi.json")).body);
  await collect(Object.keys(examples).filter((name) => name !== "POST /v1/issuer-epoch"));
  const epoch = document.operationOf("POST", "/v1/issuer-epoch");
  if (epoch !== undefined) requests.set(epoch, { method: epoch.method, path: epoch.path, init: raising });
});
afterAll(async () => {
  await usual?.stop();
  await Promise.all([redis.stop(), database.drop()]);
});

test("the examples include a request of every operation", () => {
  expect(document.operations.filter((operation) => !requests.has(operation))).toEqual([]);
});

const refusedWith = ({ refusals }: Operation, status: number) =>
  refusals.filter((refusal) => refusal.startsWith(String(status)));

/** The response of each operation, as `GET /v1/agents: 503 database_unavailable`. */
async function responsesOf(api: Api, operations: readonly Operation[]): Promise<readonly string[]> {
  const answers = await Promise.all(
    operations.map(async (operation) => [operation, await resend(api, operation)] as const),
  );
  expect(answers.flatMap(([operation, answer]) => document.faults(operation, answer))).toEqual([]);
  return answers.map(([{ name }, answer]) => `${name}: ${answer.status} ${refusalCode(answer)}`);
}

async function resend(api: Api, operation: Operation): Promise<Answer> {
  const request = requests.get(operation);
  if (request === undefined) throw new Error(`no request of ${operation.name}`);
  return api.call(request.method, request.path, request.init);
}

const namedBy = (operations: readonly Operation[], refusal: (operation: Operation) => string | undefined) =>
  operations.map((operation) => `${operation.name}: ${refusal(operation)}`);

describe("while the database refuses connections", () => {
  let proxy: FaultProxy;
  let controlPlane: ControlPlane;
  beforeAll(async () => {
    proxy = await startFaultProxy(Number(new URL(database.appUrl).port));
    controlPlane = await startProcess({}, Object.assign(new URL(database.appUrl), { port: String(proxy.port) }).href);
    await renewTokens();
    await proxy.refuse();
  });
  afterAll(async () => {
    await controlPlane.stop();
    await proxy.stop();
  });

  test("every operation that needs it is 503, with the code that the document names", async () => {
    const needing = document.operations.filter((operation) => refusedWith(operation, 503).length > 0);
    const answers = await responsesOf(createApi(controlPlane.url, testBearers), needing);
    expect(answers).toEqual(namedBy(needing, (operation) => refusedWith(operation, 503)[0]));
  });

  test("every other operation is served", async () => {
    const others = document.operations.filter((operation) => refusedWith(operation, 503).length === 0);
    expect(others.map(({ path }) => path)).toContain("/.well-known/jwks.json");
    const answers = await responsesOf(createApi(controlPlane.url, testBearers), others);
    expect(answers).toEqual(namedBy(others, () => "200 undefined"));
  });
});

describe("over a rate limit", () => {
  let controlPlane: ControlPlane;
  beforeAll(async () => {
    controlPlane = await startProcess({ SVC_RATE_LIMIT_PER_BEARER: "1/600", SVC_RATE_LIMIT_PER_SESSION: "1/600" });
    await renewTokens();
  });
  afterAll(() => controlPlane.stop());

  test("every operation with a credential is 429 with Retry-After", async () => {
    const api = createApi(controlPlane.url, testBearers);
    const limited = document.operations.filter((operation) => refusedWith(operation, 429).length > 0);
    for (const operation of limited) await resend(api, operation);
    const answers = await responsesOf(api, limited);
    expect(answers).toEqual(namedBy(limited, (operation) => refusedWith(operation, 429)[0]));
    const waits = api.calls
      .filter(({ answer }) => answer.status === 429)
      .map(({ answer }) => answer.headers.get("retry-after"));
    expect(waits.every((wait) => Number(wait) > 0)).toBe(true);
  });
});

test("while the identity provider is unreachable, an enrollment with a person's assertion is 503 and one without is served", async () => {
  const controlPlane = await startProcess({ SVC_IDP_ISSUER: "http://127.0.0.1:1", SVC_IDP_AUDIENCE: "svc" });
  try {
    const api = createApi(controlPlane.url, testBearers);
    const { begin } = enrolling(api);
    const [name, key] = [`enrolling-${crypto.randomUUID().slice(0, 8)}`, await newKey()];
    await api.attest(name, { aside: { hop_budget: 1 } });
    // Without the key in its nonce the provider is not called.
    const principal_assertion = withSignature({ header: { alg: "ES256" }, payload: { nonce: key.kid } }, "none");
    const vouched = await begin(name, { key, principal_assertion });
    expect([vouched.status, vouched.body.error.code]).toEqual([503, "identity_provider_unavailable"]);
    expect((await begin(name, { key })).status).toBe(201);
  } finally {
    await controlPlane.stop();
  }
});

test("after SIGTERM a process is not ready (draining) and still serves requests", async () => {
  const controlPlane = await startProcess();
  try {
    const api = createApi(controlPlane.url, testBearers);
    expect((await api.call("GET", "/readyz")).status).toBe(200);
    controlPlane.kill("SIGTERM");
    const readiness = await waitUntil("readiness to be refused", async () => {
      const answer = await api.call("GET", "/readyz");
      if (answer.status === 200) throw new Error("it is ready");
      return answer;
    });
    expect([readiness.status, readiness.body.error.code]).toEqual([503, "draining"]);
    expect((await api.call("GET", "/v1/agents", { bearer: testBearers.admin })).status).toBe(200);
    expect((await api.call("GET", "/livez")).status).toBe(200);
  } finally {
    await controlPlane.stop();
  }
});

/** Last: it renames the schema. */
test("where the schema is gone every operation that needs it is 503, and the response does not describe it", async () => {
  const controlPlane = await startProcess();
  const sql = postgres(database.superuserUrl, { max: 1, onnotice: () => {} });
  try {
    await renewTokens();
    await sql`alter schema public rename to elsewhere`;
    const api = createApi(controlPlane.url, testBearers);
    // The exchange and readiness have their own code for every fault of a store.
    const failing = document.operations.filter(
      ({ path, refusals }) =>
        path !== "/v1/token/exchange" && path !== "/readyz" && refusals.some((refusal) => refusal.startsWith("503 ")),
    );
    expect(await responsesOf(api, failing)).toEqual(namedBy(failing, (operation) => refusedWith(operation, 503)[0]));
    for (const { answer } of api.calls) expect(answer.text).not.toMatch(/relation|does not exist|elsewhere|42P01/);
  } finally {
    await sql.end();
    await controlPlane.stop();
  }
});
