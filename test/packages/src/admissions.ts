import {
  callHeaders,
  dataClass,
  issuer,
  jwks,
  params,
  target,
} from "../../../packages/verifier/test/support/tokens.ts";

/** What a program of another runtime is given: calls, and how each has to end. */
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

/**
 * A program that asks a verifier about each call in turn and hands how each ended to `report`, a statement of its
 * runtime's own.
 */
export const programOf = (asked: Awaited<ReturnType<typeof calls>>, report: string): string => `
import { AdmissionRefused, createVerifier } from "@svc/verifier";

const calls = ${JSON.stringify(asked)};
const verifier = createVerifier({
  issuer: ${JSON.stringify(issuer)},
  audience: ${JSON.stringify(target)},
  jwks: ${JSON.stringify(jwks)},
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
  for (const call of calls) outcomes.push(await endOf(call));
  return JSON.stringify(outcomes);
}
${report}
`;
