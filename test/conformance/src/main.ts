import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startVitest } from "vitest/node";
import { type Deployment, deploymentVariable, startDeployment } from "./deployment.ts";
import { missingFrom } from "./preflight.ts";

const usage = `pnpm conformance [--base-url URL --admin-token TOKEN [--audit-token TOKEN] [--identity-token TOKEN]]
                 [--enforcement-token TOKEN] [--loopback-discovery] [--report FILE]

Compares a control plane with the reference, over HTTP alone. Without --base-url it starts its own.
Each run registers new names, and they stay. The deployment must limit no rates and require no identities meanwhile.
A test that needs more than the deployment has is skipped, with what it needs in its name.

  --audit-token, --identity-token, --enforcement-token
                                   bearers of the other planes; without one, that plane's tests are skipped
  --loopback-discovery             the deployment may read capabilities from this machine's 127.0.0.1
  --report FILE                    writes the result of every test to FILE, as JSON

Examples:
  pnpm conformance
  pnpm conformance --base-url http://127.0.0.1:8080 --admin-token "$SVC_ADMIN_TOKEN" --loopback-discovery
  pnpm conformance --base-url https://authz.internal --admin-token "$ADMIN" --audit-token "$AUDIT" --report result.json`;

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const options = {
  "base-url": text,
  "admin-token": text,
  "audit-token": text,
  "identity-token": text,
  "enforcement-token": text,
  "loopback-discovery": flag,
  report: text,
  help: flag,
};
type Options = ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];

process.exitCode = await main();

async function main(): Promise<number> {
  let values: Options;
  try {
    ({ values } = parseArgs({ options }));
  } catch (fault) {
    return misused(fault instanceof Error ? fault.message : String(fault));
  }
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (values["base-url"] === undefined) return runOnOwn(values);
  if (!URL.canParse(values["base-url"])) return misused("--base-url must be a URL, such as http://127.0.0.1:8080");
  if (values["admin-token"] === undefined) return misused("--base-url needs --admin-token");
  const deployment = {
    url: values["base-url"].replace(/\/$/, ""),
    adminToken: values["admin-token"],
    auditToken: values["audit-token"] ?? null,
    identityToken: values["identity-token"] ?? null,
    enforcementToken: values["enforcement-token"] ?? null,
    issuerKey: null,
    readsLoopback: values["loopback-discovery"] ?? false,
  };
  const missing = await missingFrom(deployment);
  if (missing === undefined) return runSuite(deployment, values);
  console.error(missing);
  return 2;
}

function misused(fault: string): number {
  console.error(`${fault}\n\n${usage}`);
  return 2;
}

async function runOnOwn(values: Options): Promise<number> {
  const own = await startDeployment();
  try {
    return await runSuite(own.deployment, values);
  } finally {
    await own.stop();
  }
}

/** The exit code: 0 where every test that ran passed, and some ran. */
async function runSuite(deployment: Deployment, { report }: Options): Promise<number> {
  process.env[deploymentVariable] = JSON.stringify(deployment);
  const root = fileURLToPath(new URL("..", import.meta.url));
  const reporters: ("verbose" | ["json", { outputFile: string }])[] = ["verbose"];
  if (report !== undefined) reporters.push(["json", { outputFile: report }]);
  const vitest = await startVitest(
    "test",
    [],
    {
      config: false,
      root,
      include: ["spec-*.test.ts"],
      watch: false,
      reporters,
      testTimeout: 300_000,
      hookTimeout: 300_000,
    },
    { ssr: { resolve: { conditions: ["@svc/source", "node", "development|production"] } } },
  );
  const isClean = vitest.state.getCountOfFailedTests() === 0 && vitest.state.getUnhandledErrors().length === 0;
  const ran = vitest.state.getFiles().length > 0;
  await vitest.close();
  return isClean && ran && process.exitCode !== 1 ? 0 : 1;
}
