import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  callHeaders,
  dataClass,
  issuer,
  jwks,
  params,
  target,
} from "../../../packages/verifier/test/support/tokens.ts";

/** The input of another runtime's program: calls, and the expected result of each. */
export async function calls() {
  const nowSeconds = Date.now() / 1000;
  const paid = await callHeaders({ privileged: true });
  return [
    { name: "valid", headers: await callHeaders(), want: "admitted: planner for user-1" },
    { name: "wrong audience", headers: await callHeaders({ audience: "http:ledger/other" }), want: "audience" },
    { name: "expired", headers: await callHeaders({ nowSeconds: nowSeconds - 66 }), want: "expired" },
    { name: "a transaction", headers: paid, want: "admitted: planner for user-1" },
    { name: "the same transaction again", headers: paid, want: "replayed" },
  ];
}

/** The program's source of the issuer's keys. */
export type KeySource = { readonly jwks: object } | { readonly jwksUrl: string };

/** The key set as a control plane serves it, over real HTTP, and the number of requests. */
export async function serveKeySet() {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.setHeader("content-type", "application/json").end(JSON.stringify(jwks));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    jwksUrl: `http://127.0.0.1:${port}/.well-known/jwks.json`,
    requestCount: () => requests,
    close: () => server.close(),
  };
}

/**
 * A program that verifies each call in turn and passes the results to `report`, a statement of its runtime.
 */
export const programOf = (
  expected: Awaited<ReturnType<typeof calls>>,
  report: string,
  keys: KeySource = { jwks },
): string => `
import { AdmissionRefused, createVerifier } from "@svc/verifier";

const calls = ${JSON.stringify(expected)};
const verifier = createVerifier({
  issuer: ${JSON.stringify(issuer)},
  audience: ${JSON.stringify(target)},
  ...${JSON.stringify(keys)},
  identityView: "off",
});

async function endOf({ headers }) {
  const request = { headers: new Headers(headers), dataClass: ${JSON.stringify(dataClass)}, params: ${JSON.stringify(params)} };
  try {
    const { caller, sub } = await verifier.admit(request);
    return \`admitted: \${caller} for \${sub}\`;
  } catch (error) {
    return error instanceof AdmissionRefused ? error.cause : String(error?.stack ?? error);
  }
}

async function ends() {
  const outcomes = [];
  await verifier.ready();
  for (const call of calls) outcomes.push(await endOf(call));
  verifier.close();
  return JSON.stringify(outcomes);
}
${report}
`;
