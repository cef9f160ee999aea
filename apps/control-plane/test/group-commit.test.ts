import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { groupCommit } from "../src/postgres/group-commit.ts";

interface Row {
  readonly id: number;
  readonly key: string;
  readonly isBad: boolean;
}

const row = (id: number, key = `key ${id}`, isBad = false): Row => ({ id, key, isBad });
const violation = () => Object.assign(new Error("violates a constraint"), { code: "23514" });
const lost = () => Object.assign(new Error("the connection is gone"), { code: "CONNECTION_CLOSED" });

interface Statement {
  readonly rows: readonly Row[];
  readonly commit: () => void;
  readonly fail: (error: Error) => void;
}

/** A database whose statements end when the test ends them. */
function startWriting(deadlineMs = 60_000) {
  const statements: Statement[] = [];
  let isOver = false;
  const commit = groupCommit<Row, number>({
    write: (rows) =>
      new Promise((resolve, reject) => {
        const statement = { rows, commit: () => resolve(rows.map(({ id }) => id)), fail: reject };
        if (isOver) statement.commit();
        else statements.push(statement);
      }),
    keysOf: ({ key }) => [key],
    deadlineMs,
  });
  // Rows that a test leaves behind would reach their deadline in another one.
  onTestFinished(() => {
    isOver = true;
    for (const statement of statements) statement.commit();
  });
  return { statements, commit };
}

/** Everything that waits for no statement has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const idsOf = ({ rows }: Statement) => rows.map(({ id }) => id);
const range = (length: number) => Array.from({ length }, (_, index) => index);

test("rows of one turn of the event loop are written together", async () => {
  const { statements, commit } = startWriting();
  void commit(row(1));
  void commit(row(2));
  await settled();
  expect(statements.map(idsOf)).toEqual([[1, 2]]);
});

test("rows that arrive during a batch go together in the next one", async () => {
  const { statements, commit } = startWriting();
  void commit(row(0));
  await settled();
  for (const id of [1, 2, 3]) void commit(row(id));
  await settled();
  expect(statements.map(idsOf)).toEqual([[0]]);
  statements[0]?.commit();
  await settled();
  expect(statements.map(idsOf)).toEqual([[0], [1, 2, 3]]);
});

test("many rows do not wait for a slow commit: a second statement writes them, and no third", async () => {
  const { statements, commit } = startWriting();
  for (const [turn, count] of [1, 100, 100].entries()) {
    for (const id of range(count)) void commit(row(id, `key ${turn} ${id}`));
    await settled();
  }
  expect(statements.map(({ rows }) => rows.length)).toEqual([1, 100]);
  statements[1]?.commit();
  await settled();
  expect(statements.map(({ rows }) => rows.length)).toEqual([1, 100, 100]);
});

test("any number of concurrent rows is written in few statements of bounded size", async () => {
  const { statements, commit } = startWriting();
  for (const id of range(2_000)) void commit(row(id));
  await settled();
  for (let at = 0; at < statements.length; at++) {
    statements[at]?.commit();
    await settled();
  }
  expect(statements.flatMap(idsOf).toSorted((a, b) => a - b)).toEqual(range(2_000));
  expect(statements.length).toBeLessThan(20);
  expect(Math.max(...statements.map(({ rows }) => rows.length))).toBeLessThanOrEqual(256);
});

/** Two batches under way: row 0 alone, and the others. */
async function startTwo(commit: (row: Row) => Promise<number>, committed: (id: number) => void): Promise<void> {
  for (const ids of [[0], range(33).slice(1)]) {
    for (const id of ids) void commit(row(id)).then(committed, () => {});
    await settled();
  }
}

test("a caller gets its result after the commit of its batch", async () => {
  const { statements, commit } = startWriting();
  const committed: number[] = [];
  await startTwo(commit, (id) => committed.push(id));
  statements[1]?.commit();
  await settled();
  expect(committed).toEqual(range(33).slice(1));
  statements[0]?.commit();
  await settled();
  expect(committed).toEqual([...range(33).slice(1), 0]);
});

test("rows that share a key are never written at the same time", async () => {
  const { statements, commit } = startWriting();
  for (const id of range(40)) void commit(row(id, "the same"));
  void commit(row(40, "another"));
  await settled();
  expect(statements.map(idsOf)).toEqual([[0, 40]]);
  statements[0]?.commit();
  await settled();
  expect(statements.map(idsOf)).toEqual([[0, 40], [1]]);
});

test("a lost connection fails its whole batch, which is not sent again", async () => {
  const { statements, commit } = startWriting();
  const answers = Promise.allSettled(range(5).map((id) => commit(row(id))));
  await settled();
  const other = commit(row(5));
  statements[0]?.fail(lost());
  expect((await answers).map(({ status }) => status)).toEqual(range(5).map(() => "rejected"));
  await settled();
  statements[1]?.commit();
  expect(await other).toBe(5);
  expect(statements.map(idsOf)).toEqual([range(5), [5]]);
});

test("a caller that waited too long gets an error, and its row is not written", async () => {
  const { statements, commit } = startWriting(20);
  const first = commit(row(0));
  await settled();
  const rejected = { status: "rejected", reason: { code: "database_unavailable" } };
  expect(await Promise.allSettled([first, commit(row(1))])).toMatchObject([rejected, rejected]);
  await settled();
  const written = statements.map(idsOf);
  for (const statement of statements) statement.commit();
  await settled();
  expect(statements.map(idsOf)).toEqual(written);
});

test("a statement that never ends delays later rows until its deadline only", async () => {
  let isDead = true;
  const commit = groupCommit<Row, number>({
    write: (rows) => (isDead ? new Promise(() => {}) : Promise.resolve(rows.map(({ id }) => id))),
    keysOf: ({ key }) => [key],
    deadlineMs: 200,
  });
  for (let tries = 0; tries < 3; tries++) {
    await expect(commit(row(0))).rejects.toMatchObject({ code: "database_unavailable" });
  }
  isDead = false;
  expect(await commit(row(0))).toBe(0);
});

test("a row without a waiting caller is not written when its batch is retried in parts", async () => {
  const { statements, commit } = startWriting(40);
  const answers = range(2).map((id) => commit(row(id)));
  await settled();
  await Promise.allSettled(answers);
  statements[0]?.fail(violation());
  await settled();
  expect(statements.map(idsOf)).toEqual([[0, 1]]);
});

test("each row has its own result, and only bad rows fail, in any order", async () => {
  const rows = fc.uniqueArray(
    fc.record({ id: fc.nat(), key: fc.constantFrom("a", "b", "c", "d"), isBad: fc.boolean() }),
    { selector: ({ id }) => id, maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(rows, fc.array(fc.nat({ max: 3 }), { minLength: 1 }), async (given, turns) => {
      const beingWritten = new Set<string>();
      let statementCount = 0;
      const commit = groupCommit<Row, number>({
        async write(batch) {
          for (const { key } of batch) {
            expect(beingWritten.has(key)).toBe(false);
            beingWritten.add(key);
          }
          const turn = turns[statementCount++ % turns.length] ?? 0;
          for (let waited = 0; waited < turn; waited++) await settled();
          for (const { key } of batch) beingWritten.delete(key);
          if (batch.some(({ isBad }) => isBad)) throw violation();
          return batch.map(({ id }) => id);
        },
        keysOf: ({ key }) => [key],
        deadlineMs: 60_000,
      });
      const answers = await Promise.allSettled(given.map(commit));
      expect(answers.map((answer) => (answer.status === "fulfilled" ? answer.value : "refused"))).toEqual(
        given.map(({ id, isBad }) => (isBad ? "refused" : id)),
      );
    }),
    { numRuns: 200 },
  );
});
