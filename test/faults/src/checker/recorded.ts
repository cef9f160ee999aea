import postgres from "postgres";
import type { Evidence } from "./evidence.ts";

/** One database's record of a run, read without the service under test. */
export async function readRecorded(databaseUrl: string): Promise<Pick<Evidence, "decisions" | "spends" | "mints">> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, transform: postgres.camel });
  try {
    const decisions = await sql<Evidence["decisions"]>`
      select action_id, session_id, stage, hop, acting_agent, target, data_class, decision, enforced, privileged,
        parent_action_id
      from decision`;
    const spends = await sql<Evidence["spends"]>`select encode(jti_hash, 'hex') as jti_hash, action_id from spend`;
    const mints = await sql<{ actionId: string }[]>`select action_id from mint`;
    return { decisions, spends, mints: mints.map(({ actionId }) => actionId) };
  } finally {
    await sql.end();
  }
}
