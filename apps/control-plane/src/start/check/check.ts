import { connect } from "../../postgres/database.ts";
import type { Config, ConfigResult } from "../config.ts";
import { rightsFindings } from "./database-rights.ts";
import { bad, type Finding, note } from "./finding.ts";
import { settingsFindings } from "./settings.ts";

/** Checks secrets, switches and the rights of the database role. No finding contains a value. */
export async function* checkSettings(result: ConfigResult): AsyncGenerator<Finding> {
  for (const warning of result.warnings) yield note(warning, "Correct it, or remove it.");
  if (result.ok) {
    yield* settingsFindings(result.config);
    yield* databaseFindings(result.config);
  } else {
    for (const fault of result.faults) yield bad(fault, "Every setting is listed in apps/control-plane/README.md.");
  }
}

async function* databaseFindings({ databaseUrl }: Config): AsyncGenerator<Finding> {
  if (databaseUrl === undefined) return;
  const sql = connect({ url: databaseUrl, maxConnections: 1, statementTimeoutMs: 5_000 });
  try {
    yield* rightsFindings(sql);
  } catch (cause) {
    const { code = "no answer" } = cause as { code?: string };
    yield bad(
      `the rights of the database role cannot be read (${code})`,
      "Check DATABASE_URL, and that it answers here.",
    );
  } finally {
    await sql.end({ timeout: 1 });
  }
}
