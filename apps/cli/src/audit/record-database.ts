import { connectionSettings, type RecordReader, type Row } from "@svc/seals";
import postgres from "postgres";
import { type Fault, notTried } from "../fault.ts";

/** The database of the record, read-only. */
export function openRecord(url: string): RecordReader & { close(): Promise<void> } {
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
    throw notTried("the database address is invalid", "Give --database-url as postgres://user@host/name.", cause);
  }
}

/** The driver's message may contain the address with its password. */
function unreadable(cause: unknown): Fault {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const fault = (message: string, advice: string) => notTried(message, advice, cause);
  if (code === lacksTable) {
    return fault(
      "the database has no seals",
      "Check that it is the control plane's, and start this release on it first.",
    );
  }
  if (code === lacksRight) {
    return fault(
      "the role may not read the record",
      "deploy/postgres/README.md shows how to create a role for auditors.",
    );
  }
  if (code.startsWith("28"))
    return fault("the database refuses the role", "Check user and password of --database-url.");
  return fault(
    `the database cannot be read (${code || "no code"})`,
    "Check --database-url, and that the database runs.",
  );
}

const lacksTable = "42P01";
const lacksRight = "42501";
