import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OwnPostgres } from "@svc/test-faults/postgres";
import { waitUntil } from "@svc/test-support";

/** Settings with which a server logs every statement, in its own folder. */
export const loggingStatements: readonly string[] = [
  "logging_collector = on",
  "log_destination = 'jsonlog'",
  "log_directory = 'log'",
  "log_filename = 'statements.log'",
  "log_statement = 'all'",
  "log_parameter_max_length = -1",
];

/** The service's application name. */
const serviceName = "svc-control-plane";

interface LogLine {
  readonly application_name?: string;
  readonly message?: string;
}

/** The service's own statements while `work` runs: each once, on one line. */
export async function statementsDuring(server: OwnPostgres, work: () => Promise<void>): Promise<ReadonlySet<string>> {
  const before = linesOf(server).length;
  await work();
  await isWritten(server);
  return new Set(linesOf(server).slice(before).flatMap(toStatement));
}

/** The log is in order: once our marker is there, every earlier statement is. */
async function isWritten(server: OwnPostgres): Promise<void> {
  const marker = `select '${crypto.randomUUID()}' as marker`;
  await server.execute(marker);
  await waitUntil("the server's log to be written", () => {
    return linesOf(server).some(({ message }) => message?.includes(marker));
  });
}

const linesOf = ({ folder }: OwnPostgres): readonly LogLine[] =>
  readFileSync(join(folder, "log", "statements.json"), "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

function toStatement({ application_name: name, message = "" }: LogLine): readonly string[] {
  const sent = /^(?:execute [^:]+|statement): (?<text>.*)$/s.exec(message);
  const text = sent?.groups?.text;
  return name !== serviceName || text === undefined ? [] : [text.replaceAll(/\s+/g, " ").trim()];
}
