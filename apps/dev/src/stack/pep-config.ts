import { access, constants, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { stringify } from "yaml";
import { Fault } from "../fault.ts";

/** Upstreams of the two example services (docs/reference/enforcement-point.md#upstreams-file). */
export const examplePepConfig = ({ exampleMcp, exampleHttp }: { exampleMcp: string; exampleHttp: string }) => ({
  upstreams: [
    { name: "everything", url: exampleMcp, protocol: "mcp", data_class: "notes", filter_tool_lists: true },
    { name: "outside", url: exampleMcp, protocol: "mcp", data_class: "notes", filter_tool_lists: true },
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

const header = "# Read again on every change. See apps/pep/README.md for all it can say.\n";

const writePepConfig = (path: string, config: object): Promise<void> =>
  writeFile(path, header + stringify(config), { mode: 0o600 });

/** The file asked for, else one for the example services in `dataDir`, made new. */
export async function pepConfigFile(asked: string | undefined, dataDir: string, example: object): Promise<string> {
  if (asked !== undefined) {
    const path = resolve(asked);
    await access(path, constants.R_OK).catch((cause) => {
      throw new Fault(`${path} cannot be read`, "Name an existing file with --pep-config, or leave it away.", {
        cause,
      });
    });
    return path;
  }
  const path = join(dataDir, "pep.yaml");
  await writePepConfig(path, example);
  return path;
}
