import { readFile, writeFile } from "node:fs/promises";
import { Command } from "commander";
import { commandGroup } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { Fault, notTried } from "../fault.ts";
import { type FormatFlags, formatOf, isData, withFormat } from "../formats.ts";
import { colors, print, printBody, printJson, shown } from "../output.ts";

const examples = `
An agent's key proves that it acts; a person vouches for the key with an ID token of the control plane's OpenID provider
(SVC_IDP_ISSUER), whose nonce is the key's thumbprint. Without a provider no agent can enroll, and none needs to.

Examples:
  svc enroll key planner.jwk       makes the key if there is none, and prints its thumbprint
  svc enroll agent planner --key planner.jwk --id-token-file id-token
                                   with the bearer of the admin plane
  svc enroll token planner > enroll-token
  svc enroll agent planner --key planner.jwk --id-token-file id-token --enroll-token-file enroll-token
                                   as the workload itself, without any other bearer

Exit codes: 0 enrolled; 1 quarantined or refused; 2 not tried.
`;

export const command = (): Command =>
  commandGroup("enroll", examples, [
    new Command("key")
      .description("Make an agent's key, or read it, and print its thumbprint (RFC 7638).")
      .argument("<file>", "a JWK, readable by its owner alone")
      .option("--json", "one line: {file, thumbprint}")
      .action(key),
    withFormat(withControlPlane(new Command("token")), "{enroll_token, agent, expires_at}")
      .description("Issue a token for one enrollment of one agent.")
      .argument("<agent>")
      .option("--ttl <seconds>", "lifetime, 60 to 86400", Number, 3_600)
      .action(token),
    withFormat(withControlPlane(new Command("agent")), "{status, ...}")
      .description("Enroll an agent with its key.")
      .argument("<agent>")
      .requiredOption("--key <file>", "its private key: a JWK or PKCS#8 PEM")
      .option("--id-token-file <file>", "ID token of the person responsible; without it, the agent is quarantined")
      .option("--enroll-token-file <file>", "in place of the bearer of the admin plane")
      .action(agent),
  ]);

async function key(file: string, { json }: { readonly json?: boolean }): Promise<void> {
  const { generatePrivateJwk } = await import("@svc/tokens");
  const made = `${JSON.stringify(await generatePrivateJwk())}\n`;
  // Never over another key.
  await writeFile(file, made, { mode: 0o600, flag: "wx" }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EEXIST") throw notTried(`${file} cannot be written`, "Check its folder.", cause);
  });
  const { kid } = await agentKey(file);
  if (json) printJson({ file, thumbprint: kid });
  else print(kid);
}

async function token(agent: string, { ttl, ...flags }: ControlPlaneFlags & FormatFlags & { readonly ttl: number }) {
  const issued = await openControlPlane(flags).call("admin", (svc) =>
    svc.identity.issueEnrollToken({ agent, ttlSeconds: ttl }),
  );
  const format = formatOf(flags);
  if (isData(format)) return printBody("enrollTokenResponse", issued, format);
  print(issued.enrollToken);
}

interface Enrollment extends ControlPlaneFlags, FormatFlags {
  readonly key: string;
  readonly idTokenFile?: string;
  readonly enrollTokenFile?: string;
}

async function agent(name: string, { key, idTokenFile, enrollTokenFile, ...flags }: Enrollment): Promise<void> {
  const plane = openControlPlane(flags);
  const identity = { identityKey: await agentKey(key), agentName: name };
  const vouched = {
    principalAssertion: await secretIn(idTokenFile),
    enrollToken: await secretIn(enrollTokenFile),
  };
  const outcome = await plane.call(
    enrollTokenFile === undefined ? "admin" : undefined,
    (svc) => svc.identity.enroll(vouched),
    identity,
  );
  const format = formatOf(flags);
  if (isData(format)) await printBody("completionResponse", outcome, format);
  else if (outcome.status === "enrolled") print(`${shown(name)} is ${colors.green("enrolled")}`);
  if (outcome.status === "enrolled") return;
  throw new Fault(`${name} is quarantined, unless it was enrolled before: ${outcome.reason}`, advice[outcome.reason]);
}

const andLift = "Then svc agents lift-quarantine it, and enroll again.";
const advice = {
  NO_PRINCIPAL: `Give the ID token of the person responsible: --id-token-file. ${andLift}`,
  NO_IDENTITY_PROVIDER: `The control plane has no OpenID provider: set SVC_IDP_ISSUER and SVC_IDP_AUDIENCE there. ${andLift}`,
  PRINCIPAL_INVALID: `The ID token must be of SVC_IDP_ISSUER for SVC_IDP_AUDIENCE, in force, its nonce what svc enroll key prints. ${andLift}`,
  KEY_IN_USE: `Another agent has this key: make one of its own with svc enroll key. ${andLift}`,
} as const;

async function agentKey(file: string) {
  const { importAgentKey } = await import("@svc/tokens");
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw notTried(`${file} cannot be read`, "svc enroll key makes one.", cause);
  });
  return importAgentKey(text.trim()).catch((cause: unknown) => {
    throw notTried(`${file} holds no agent key`, "It must be an EC P-256 or Ed25519 key, as JWK or PKCS#8 PEM.", cause);
  });
}

async function secretIn(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw notTried(`${file} cannot be read`, "Check its name and its rights.", cause);
  });
  return text.trim();
}
