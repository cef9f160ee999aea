import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { runAgent } from "./agent.ts";
import { calendar, mail, serveTools } from "./tools.ts";

const help = `The example: an assistant and its two tool servers.

Usage:
  main.js calendar | mail     serve the tools at /mcp, on HOST (127.0.0.1) and PORT (0: a free one)
  main.js agent               run the agent once; SVC_PEP_URL is the address of the enforcement point

Examples:
  PORT=9301 node dist/main.js calendar
  svc run --scope day --user ada --agent assistant --upstreams pep.yaml -- node dist/main.js agent
`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function fail(fault: string): never {
  process.stderr.write(`${fault}\n\n${help}`);
  process.exit(2);
}

async function serve(makeServer: () => McpServer): Promise<void> {
  const { HOST: host = "127.0.0.1", PORT: port = "0" } = process.env;
  say(`listening on ${await serveTools(makeServer, host, Number(port))}`);
}

const [role] = process.argv.slice(2);
switch (role) {
  case "calendar":
    await serve(calendar);
    break;
  case "mail":
    await serve(mail);
    break;
  case "agent":
    if (process.env.SVC_PEP_URL === undefined) fail("SVC_PEP_URL is missing: start the agent behind `svc run`.");
    await runAgent(process.env.SVC_PEP_URL, say);
    break;
  case "--help":
    process.stdout.write(help);
    break;
  default:
    fail(role === undefined ? "A role is missing." : `There is no role "${role}".`);
}
