import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startVitest } from "vitest/node";
import { type Deployment, deploymentVariable, startDeployment } from "./deployment.ts";

const usage = `pnpm conformance [--base-url URL --admin-token TOKEN [--audit-token TOKEN] [--identity-token TOKEN]]

Holds a control plane against the specification, over HTTP alone. Without --base-url it starts one of its own.
What it registers is named anew by each run, and stays.`;

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: {
    "base-url": text,
    "admin-token": text,
    "audit-token": text,
    "identity-token": text,
    help: { type: "boolean" },
  },
});

if (values.help) console.log(usage);
else process.exitCode = await run();

async function run(): Promise<number> {
  const { "base-url": url, "admin-token": adminToken } = values;
  if (url === undefined) {
    const own = await startDeployment();
    try {
      return await holdAgainstSpecification(own.deployment);
    } finally {
      await own.stop();
    }
  }
  if (adminToken === undefined) {
    console.error(`--base-url needs --admin-token\n\n${usage}`);
    return 2;
  }
  return holdAgainstSpecification({
    url: url.replace(/\/$/, ""),
    adminToken,
    auditToken: values["audit-token"] ?? null,
    identityToken: values["identity-token"] ?? null,
    issuerKey: null,
    readsLoopback: false,
  });
}

async function holdAgainstSpecification(deployment: Deployment): Promise<number> {
  process.env[deploymentVariable] = JSON.stringify(deployment);
  const root = fileURLToPath(new URL("..", import.meta.url));
  const vitest = await startVitest(
    "test",
    [],
    { config: false, root, include: ["spec-*.test.ts"], watch: false, reporters: ["verbose"] },
    { ssr: { resolve: { conditions: ["@svc/source", "node", "development|production"] } } },
  );
  const isClean = vitest.state.getCountOfFailedTests() === 0 && vitest.state.getUnhandledErrors().length === 0;
  const ran = vitest.state.getFiles().length > 0;
  await vitest.close();
  return isClean && ran && process.exitCode !== 1 ? 0 : 1;
}
