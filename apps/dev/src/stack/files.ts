import { access, chmod, constants, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stringify } from "yaml";
import { type ExampleAddresses, exampleScope } from "../examples/agents.ts";
import { StartError } from "../start-error.ts";

/** The given folder, which is kept; by default a new one. `release` removes a new one. */
export async function dataFolder(given: string | undefined) {
  if (given !== undefined) {
    const path = resolve(given);
    await mkdir(path, { recursive: true, mode: passThrough });
    return { path, release: async () => {} };
  }
  const path = await mkdtemp(join(tmpdir(), "svc-dev-"));
  await chmod(path, passThrough);
  return { path, release: () => rm(path, { recursive: true, force: true }) };
}

/** As root the database server runs as another account, which must be able to reach the folder; secrets in it have mode 0600. */
const passThrough = 0o711;

/**
 * Upstreams of the example services (docs/reference/enforcement-point.md#upstreams-file).
 * @param hasLogins whether OAuth clients log in to the MCP servers
 */
export const examplePepConfig = (
  { exampleMcp, examplePayments, exampleHttp }: ExampleAddresses,
  hasLogins: boolean,
) => ({
  upstreams: [
    { name: "everything", ...mcp(exampleMcp, "notes"), filter_tool_lists: true, ...(hasLogins && login) },
    { name: "outside", ...mcp(exampleMcp, "notes"), filter_tool_lists: true },
    // Its list has the tools that need one more consent too.
    { name: "payments", ...mcp(examplePayments, "payments"), ...(hasLogins && login) },
    {
      name: "ledger",
      url: exampleHttp,
      protocol: "http",
      routes: [
        { methods: ["GET"], path: "/entries/:id", target: "http:ledger/read_entry", data_class: "finance.entries" },
        { methods: ["POST"], path: "/entries", target: "http:ledger/post_entry", data_class: "finance.entries" },
      ],
    },
  ],
});

const mcp = (url: string, dataClass: string) => ({ url, protocol: "mcp", data_class: dataClass });
const login = { oauth: { scope: exampleScope } };

const header = "# Applied on every change. apps/pep/README.md lists all settings.\n";

/** The given file; by default a new one for the example services in `dataDir`. */
export async function pepConfigFile(given: string | undefined, dataDir: string, example: object): Promise<string> {
  if (given === undefined) {
    const path = join(dataDir, "pep.yaml");
    await writeFile(path, header + stringify(example), { mode: 0o600 });
    return path;
  }
  const path = resolve(given);
  await access(path, constants.R_OK).catch((cause) => {
    throw new StartError(`${path} cannot be read`, "Name an existing file with --pep-config, or omit it.", { cause });
  });
  return path;
}
