import { afterAll, describe, expect, test } from "vitest";
import { type Answer, type Api, refusalCode } from "./src/api.ts";
import { type Operation, readDocument } from "./src/document.ts";
import { examples, narrowedToken, prepare } from "./src/examples/index.ts";
import { startOne } from "./src/stack.ts";

// Started at collection, since the document is the table of cases.
const one = await startOne();
const { api } = one;
afterAll(() => one.stop());
await prepare(api);
const { operations, faults } = readDocument((await api.call("GET", "/openapi.json")).body);

/** Every refusal that occurred, as `GET /v1/agents: 400 invalid_request`. */
const answered = new Set<string>();
const tell = ({ name }: Operation, ...answers: readonly Answer[]) => {
  for (const answer of answers) answered.add(`${name}: ${answer.status} ${refusalCode(answer)}`);
};

const unknownId = "01a00000-0000-7000-8000-000000000000";

async function bearerOf({ scheme, path }: Operation): Promise<string | undefined> {
  if (path === "/v1/token/transaction") return narrowedToken(api);
  if (scheme === "hop") return (await api.consent("documented")).token;
  return scheme === undefined ? undefined : api.tokens[scheme as keyof Api["tokens"]];
}

/** The route with an unknown value for every parameter. */
const addressOf = ({ path }: Operation): string => path.replaceAll(/\{\w+\}/g, unknownId);

/** Mistakes common to all routes, each with the refusal it causes. */
const mistakes: readonly (readonly [string, (operation: Operation) => Promise<Answer>])[] = [
  ["no bearer", (operation) => api.call(operation.method, addressOf(operation), bodyFor(operation))],
  [
    "an unknown bearer",
    (operation) => api.call(operation.method, addressOf(operation), { bearer: "nobody's", ...bodyFor(operation) }),
  ],
  ["a parameter that is not there", (operation) => send(operation, `${addressOf(operation)}?nonsense=1`)],
  ["an unknown name", (operation) => send(operation, addressOf(operation))],
  ["a body that is no JSON", (operation) => raw(operation, "{", "application/json")],
  ["a body of a wrong type", (operation) => raw(operation, "x", "text/plain")],
  ["a body that is too large", (operation) => raw(operation, `"${"x".repeat(1_100_000)}"`, operation.bodyType ?? "")],
];

const bodyFor = ({ bodyType }: Operation) => (bodyType === "application/json" ? { body: { nonsense: 1 } } : {});

async function send(operation: Operation, path: string): Promise<Answer> {
  const bearer = await bearerOf(operation);
  return api.call(operation.method, path, { ...(bearer !== undefined && { bearer }), ...bodyFor(operation) });
}

async function raw(operation: Operation, body: string, type: string): Promise<Answer> {
  if (operation.bodyType === undefined) return send(operation, addressOf(operation));
  const bearer = await bearerOf(operation);
  return api.call(operation.method, addressOf(operation), {
    ...(bearer !== undefined && { bearer }),
    raw: { body, headers: { "content-type": type } },
  });
}

describe.each(operations)("$name", (operation) => {
  test("responds to its callers as the document says", async () => {
    const example = examples[operation.name];
    if (example === undefined) throw new Error(`there is no example of ${operation.name}: write one`);
    const answers = await example(api, one.database);
    tell(operation, ...answers);
    expect(answers.flatMap((answer) => faults(operation, answer))).toEqual([]);
    const succeeded = answers.filter(({ status }) => status < 300).map(({ status }) => String(status));
    expect(new Set(succeeded)).toEqual(new Set(operation.statuses.filter((status) => status.startsWith("2"))));
  });

  test.each(mistakes)("responds to %s as the document says", async (_, mistake) => {
    const answer = await mistake(operation);
    tell(operation, answer);
    expect(faults(operation, answer)).toEqual([]);
  });
});

test.each(operations.filter(({ mayBeAnonymous }) => !mayBeAnonymous))(
  "$name is refused without its bearer",
  async (operation) => {
    expect((await api.call(operation.method, addressOf(operation))).status).toBe(401);
  },
);

test("every example is of a documented route", () => {
  const documented = operations.map(({ name }) => name);
  expect(Object.keys(examples).filter((name) => !documented.includes(name))).toEqual([]);
});

/** Outages and limits: failing-dependencies.test.ts has these. */
const ofSurroundings = /^(429|500|503) /;

test("every refusal in the document occurred here, except those of failing dependencies", () => {
  const named = operations.flatMap(({ name, refusals }) =>
    refusals.filter((refusal) => !ofSurroundings.test(refusal)).map((refusal) => `${name}: ${refusal}`),
  );
  expect(named.filter((refusal) => !answered.has(refusal))).toEqual([]);
});
