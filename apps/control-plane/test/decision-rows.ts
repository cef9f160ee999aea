import { aManifest, aTool } from "@svc/test-support";
import postgres from "postgres";
import { uuidv7 } from "uuidv7";
import type { TestApp, TestPlane } from "./support.ts";

/** A well-formed identifier of no row. */
export const unknownId = "01900000-0000-7000-8000-000000000000";

/** Writes decisions as no caller could, to read them back. */
export async function recorder(plane: TestPlane & TestApp) {
  const sql = postgres(plane.database.appUrl, { onnotice: () => {} });
  const register = async (name: string, scope: string) => {
    const manifest = aManifest(scope, { tools: [aTool("mcp:ledger/read")] });
    await plane.send("/v1/agents", { body: { name, manifest, override: {} } });
  };
  const consent = async (scope = "expenses", userSub = "ada"): Promise<string> => {
    const { json } = await plane.send("/v1/consent", { body: { scope, user_sub: userSub } });
    return String(json.session_id);
  };
  await register("planner", "expenses");
  const sessionId = await consent();
  const aRow = (changes: Record<string, unknown> = {}) => decisionRow(sessionId, changes);
  return {
    sql,
    sessionId,
    consent,
    register,
    aRow,
    async record(changes: Record<string, unknown> = {}): Promise<Row> {
      const row = aRow(changes);
      await sql`insert into decision ${sql(row as never)}`;
      return row;
    },
    async spend(actionId: string): Promise<void> {
      await sql`
        insert into spend (jti_hash, action_id, session_id, kind, spent_at)
        values (${Buffer.from(actionId)}, ${actionId}, ${sessionId}, 'exchange', now())`;
    },
    async mint(actionId: string): Promise<void> {
      await sql`
        insert into mint (action_id, session_id, params_hash, minted_at) values (${actionId}, ${sessionId}, 'hash', now())`;
    },
    /** The renewal's identifier. */
    async renew(at: Date): Promise<string> {
      const id = idOf(at);
      await sql`
        insert into spend (jti_hash, session_id, kind, spent_at, renewal_id, actor)
        values (${Buffer.from(id)}, ${sessionId}, 'renewal', ${at}, ${id}, 'ada')`;
      return id;
    },
  };
}

/** As if the identifier had been made at that time. */
const idOf = (time: Date): string => {
  const ms = time.getTime().toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}${uuidv7().slice(13)}`;
};

/** An allow at hop 1. */
const decisionRow = (sessionId: string, changes: Record<string, unknown>) => ({
  action_id: changes.decided_at instanceof Date ? idOf(changes.decided_at) : uuidv7(),
  record_version: 2,
  session_id: sessionId,
  stage: "authorize",
  hop: 1,
  chain: [] as string[],
  acting_agent: "ada",
  target: "planner",
  target_kind: "agent",
  data_class: "finance.entries",
  decision: "allow",
  deny_reason: null as string | null,
  recoverable: false,
  enforced: true,
  privileged: false,
  taint: "trusted_internal",
  taint_source: null,
  policy_version: 1,
  guarantee_level: null,
  parent_action_id: null as string | null,
  decided_at: new Date(),
  ...changes,
});
export type Row = ReturnType<typeof decisionRow>;
