import { createPublicKey, randomUUID, verify } from "node:crypto";
import {
  generatePrivateJwk,
  importIssuerKey,
  issueHopToken,
  narrowedClaims,
  rootGrantClaims,
  toJwks,
} from "@svc/tokens";
import { createVerifier } from "@svc/verifier";
import { importJWK, jwtVerify } from "jose";
import { loaded } from "../measure/loaded.ts";
import { repeated } from "../measure/repeated.ts";
import type { Subject } from "../measure/trial.ts";
import type { Bench } from "../rig/bench.ts";
import { startHaproxy } from "../rig/haproxy.ts";
import { findProgram } from "../rig/program.ts";
import { readHop } from "./hop-targets.ts";

export const admissionTrial = "admission";
const issuer = "http://127.0.0.1";

/** Verification of tokens that were not seen before, by processor time on one core. */
export async function admission(bench: Bench): Promise<void> {
  const { seconds } = bench.pace;
  const key = await importIssuerKey(await generatePrivateJwk());
  const stock = narrowedTokens(key);
  const prepare = () => stock.fill(Math.ceil(seconds * 20_000));
  const audience = readHop.target;
  const verifier = await createVerifier({ issuer, audience, jwks: toJwks([key]), identityView: "off" });
  bench.use({ stop: async () => verifier.close() });
  const admit = repeated({
    name: "admit",
    seconds,
    prepare,
    act: () => {
      const { token, sessionId } = stock.take();
      const headers = { authorization: `Bearer ${token}`, "x-svc-session": sessionId };
      return verifier.admit({ headers, dataClass: readHop.dataClass });
    },
  });
  const publicKey = await importJWK({ ...key.publicJwk }, "ES256");
  const expected = { issuer, audience, typ: "at+jwt", algorithms: ["ES256"] };
  const jose = repeated({
    name: "jose",
    seconds,
    prepare,
    act: () => jwtVerify(stock.take().token, publicKey, expected),
  });
  const pem = createPublicKey({ key: { ...key.publicJwk }, format: "jwk" }).export({ type: "spki", format: "pem" });
  await stock.fill(1);
  const bare = repeated({ name: "signature alone", seconds, act: checkingSignature(stock.take().token, `${pem}`) });
  await bench.trial(admissionTrial, [admit, bare, jose, await haproxy(bench, `${pem}`, stock)]);
}

/** One ES256 verification by the runtime, of prepared bytes: the lower bound of any token verification. */
function checkingSignature(token: string, publicKeyPem: string): () => void {
  const end = token.lastIndexOf(".");
  const signed = Buffer.from(token.slice(0, end));
  const signature = Buffer.from(token.slice(end + 1), "base64url");
  const key = { key: createPublicKey(publicKeyPem), dsaEncoding: "ieee-p1363" } as const;
  return () => {
    if (!verify("sha256", signed, key, signature)) throw new Error("the signature of a token is invalid");
  };
}

interface Narrowed {
  readonly token: string;
  readonly sessionId: string;
}

function narrowedTokens(key: Awaited<ReturnType<typeof importIssuerKey>>) {
  let stock: Narrowed[] = [];
  const issue = async (): Promise<Narrowed> => {
    const nowSeconds = Date.now() / 1000;
    const sessionId = randomUUID();
    const issuance = () => ({ jti: randomUUID(), nowSeconds, sessionExpiresAtSeconds: nowSeconds + 3_600 });
    const consent = { issuer, userSub: "bench", scope: "bench", sessionId, policyVersion: 1 };
    const claims = narrowedClaims(
      rootGrantClaims(consent, issuance()),
      { ...readHop, actionId: randomUUID(), privileged: false, taint: "trusted_internal" },
      issuance(),
    );
    return { token: await issueHopToken(key, claims), sessionId };
  };
  return {
    async fill(count: number) {
      stock = await Promise.all(Array.from({ length: count }, issue));
    },
    take() {
      const taken = stock.pop();
      if (taken === undefined) throw new Error("too few prepared tokens");
      return taken;
    },
  };
}

async function haproxy(
  bench: Bench,
  publicKeyPem: string,
  stock: ReturnType<typeof narrowedTokens>,
): Promise<Subject | undefined> {
  const program = findProgram("haproxy");
  if ("why" in program) {
    bench.missing("HAProxy", program.why);
    return undefined;
  }
  const server = bench.use(await startHaproxy(program.path, publicKeyPem));
  const { seconds } = bench.pace;
  return loaded({
    name: "HAProxy",
    connections: 32,
    seconds,
    processes: { HAProxy: server.pid },
    async target() {
      await stock.fill(Math.ceil(seconds * 20_000));
      const call = () => ({ path: "/", headers: { authorization: `Bearer ${stock.take().token}` } });
      return { origin: server.url, call };
    },
  });
}
