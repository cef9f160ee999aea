import type postgres from "postgres";

/** A sink of the record, as a process with the setting registers it, that nothing was delivered to. */
export const insertSink = (sql: postgres.Sql) =>
  sql`insert into sink (name, batch) values ('webhook', 0) on conflict (name) do update set batch = 0`;
