import { bounded, type Sql } from "./database.ts";

/** What is known of a streaming standby, asked again and again beside the reads. */
export interface StandbyWatch {
  /** Whether it answered when it was asked last. */
  isAnswering(): boolean;
  /**
   * Milliseconds since the latest moment of which it shows everything that the primary had committed. Infinity where
   * nothing is known: at the start, while it stands still for long, and of a server that follows no primary.
   */
  behindMs(): number;
  close(): void;
}

export interface StandbyWatchSettings {
  readonly primary: Sql;
  /** A connection of its own, so that no long read makes it look silent. */
  readonly standby: Sql;
  readonly everyMs: number;
  readonly deadlineMs: number;
  /** Called once when it stops answering, until it answers again. */
  readonly onSilent: (cause: unknown) => void;
}

/** Where the primary's log stood, by a clock that never steps: whatever was acknowledged before lies below. */
interface Mark {
  readonly atMs: number;
  readonly position: bigint;
}

/** As many as an hour has, at two a second: a standby that is further behind shows no end that is told here. */
const keptMarks = 7_200;

/**
 * Notes where the primary's log stands, and up to which note the standby replayed it. The standby's own word for its lag
 * would not do: it is the time of the last commit it knows, which says nothing of those that did not reach it.
 */
export function watchStandby(settings: StandbyWatchSettings): StandbyWatch {
  const { primary, standby, everyMs, deadlineMs, onSilent } = settings;
  let marks: Mark[] = [];
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let isAnswering = false;
  let isReported = false;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const mark = async (): Promise<void> => {
    const atMs = performance.now();
    const position = await bounded(deadlineMs, writtenPosition(primary));
    // After a failover another log goes on: what was noted of the one before says nothing of it.
    if (position < (marks.at(-1)?.position ?? 0n)) forget();
    marks.push({ atMs, position });
    if (marks.length > keptMarks) marks.shift();
  };
  const forget = (): void => {
    marks = [];
    shownAtMs = Number.NEGATIVE_INFINITY;
  };
  const compare = async (): Promise<void> => {
    const replayed = await bounded(deadlineMs, replayedPosition(standby));
    if (replayed === null) return forget();
    const reached = marks.findLastIndex(({ position }) => position <= replayed);
    shownAtMs = marks[reached]?.atMs ?? shownAtMs;
    marks = marks.slice(reached + 1);
  };
  const look = async (): Promise<void> => {
    // A primary that is silent adds no mark, which is all there is to say of it here: readiness tells.
    await mark().catch(() => {});
    try {
      await compare();
      isAnswering = true;
      isReported = false;
    } catch (cause) {
      isAnswering = false;
      if (!isReported && !isClosed) onSilent(cause);
      isReported = true;
    }
    if (!isClosed) timer = setTimeout(look, everyMs).unref();
  };
  void look();
  return {
    isAnswering: () => isAnswering,
    behindMs: () => performance.now() - shownAtMs,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

async function writtenPosition(sql: Sql): Promise<bigint> {
  const [row] = await sql<{ position: bigint }[]>`
    select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8 as position`;
  if (row === undefined) throw new Error("the primary does not tell where its log stands");
  return row.position;
}

/** Null of a server that is no standby: its log is another one. */
async function replayedPosition(sql: Sql): Promise<bigint | null> {
  const [row] = await sql<{ position: bigint | null }[]>`
    select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8 end as position`;
  return row?.position ?? null;
}
