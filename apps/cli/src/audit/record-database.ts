import { connectionSettings, type RecordReader, type Row } from "@svc/seals";
import postgres from "postgres";
import { Fault } from "../fault.ts";

/** The database of the record, read-only. */
export interface RecordDatabase extends RecordReader {
  close(): Promise<void>;
}

export function openRecord(url: string): RecordDatabase {
  const sql = connected(url);
  return {
    async query({ text, values }) {
      try {
        return await sql.unsafe<Row[]>(text, values, { prepare: true });
      } catch (cause) {
        throw unreadable(cause);
      }
    },
    close: () => sql.end({ timeout: 1 }),
  };
}

function connected(url: string) {
  try {
    return postgres(url, {
      max: 1,
      connect_timeout: 5,
      onnotice: () => {},
      connection: { ...connectionSettings, application_name: "svc audit verify", default_transaction_read_only: true },
    });
  } catch (cause) {
    throw new Fault("the database address is invalid", "Give --database-url as postgres://user@host/name.", {
      cause,
      exitCode: 2,
    });
  }
}

/** The driver's message may contain the address with its password. */
function unreadable(cause: unknown): Fault {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const [message, advice] = explained(code);
  return new Fault(message, advice, { cause, exitCode: 2 });
}

const lacksTable = "42P01";
const lacksRight = "42501";

function explained(code: string): readonly [message: string, advice: string] {
  if (code === lacksTable) {
    return ["the database has no seals", "Check that it is the control plane's, and start this release on it first."];
  }
  if (code === lacksRight) {
    return ["the role may not read the record", "deploy/postgres/README.md shows how to create a role for auditors."];
  }
  if (code.startsWith("28")) return ["the database refuses the role", "Check user and password of --database-url."];
  return [`the database cannot be read (${code || "no code"})`, "Check --database-url, and that the database runs."];
}
