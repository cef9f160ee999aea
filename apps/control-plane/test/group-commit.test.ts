import fc from "fast-check";
import { expect, test } from "vitest";
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

/** A database whose statements end when the test says so. */
function startWriting(deadlineMs = 60_000) {
  const statements: Statement[] = [];
  const commit = groupCommit<Row, number>({
    write: (rows) =>
      new Promise((resolve, reject) => {
        statements.push({ rows, commit: () => resolve(rows.map(({ id }) => id)), fail: reject });
      }),
    keysOf: ({ key }) => [key],
    deadlineMs,
  });
  return { statements, commit };
}

/** Everything that waits for no statement has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const idsOf = ({ rows }: Statement) => rows.map(({ id }) => id);
const range = (length: number) => Array.from({ length }, (_, index) => index);

test("a row is sent at once where nothing is being written", () => {
  const { statements, commit } = startWriting();
  void commit(row(1));
  expect(statements.map(idsOf)).toEqual([[1]]);
});

test("while two batches are being written the others wait, and go together", async () => {
  const { statements, commit } = startWriting();
  for (const id of range(6)) void commit(row(id));
  expect(statements.map(idsOf)).toEqual([[0], [1]]);
  statements[0]?.commit();
  await settled();
  expect(statements.map(idsOf)).toEqual([[0], [1], [2, 3, 4, 5]]);
});

test("no more than 256 rows go together", async () => {
  const { statements, commit } = startWriting();
  for (const id of range(602)) void commit(row(id));
  statements[0]?.commit();
  statements[1]?.commit();
  await settled();
  expect(statements.map(({ rows }) => rows.length)).toEqual([1, 1, 256, 256]);
});

test("nobody is answered before the commit of their own batch", async () => {
  const { statements, commit } = startWriting();
  const answered: number[] = [];
  for (const id of range(4)) void commit(row(id)).then((answer) => answered.push(answer));
  statements[1]?.commit();
  await settled();
  expect(answered).toEqual([1]);
  statements[2]?.commit();
  await settled();
  expect(answered).toEqual([1, 2, 3]);
});

test("rows that the database could not tell apart are never written at the same time", async () => {
  const { statements, commit } = startWriting();
  for (const id of range(3)) void commit(row(id, "the same"));
  void commit(row(3, "another"));
  expect(statements.map(idsOf)).toEqual([[0], [3]]);
  statements[1]?.commit();
  await settled();
  expect(statements.map(idsOf)).toEqual([[0], [3]]);
  statements[0]?.commit();
  await settled();
  expect(statements.map(idsOf)).toEqual([[0], [3], [1]]);
});

test("a lost connection refuses its whole batch and nothing of it is sent again", async () => {
  const { statements, commit } = startWriting();
  const answers = Promise.allSettled(range(5).map((id) => commit(row(id))));
  statements[0]?.commit();
  await settled();
  statements[2]?.fail(lost());
  statements[1]?.commit();
  const states = (await answers).map(({ status }) => status);
  expect(states).toEqual(["fulfilled", "fulfilled", "rejected", "rejected", "rejected"]);
  expect(statements).toHaveLength(3);
});

test("who waited for too long is refused, and what they asked for is not written afterwards", async () => {
  const { statements, commit } = startWriting(20);
  const answers = range(3).map((id) => commit(row(id)));
  await expect(Promise.all(answers)).rejects.toMatchObject({ code: "database_unavailable" });
  await Promise.allSettled(answers);
  for (const statement of statements) statement.commit();
  await settled();
  expect(statements.map(idsOf)).toEqual([[0], [1]]);
});

test("who gave up while their batch was refused is not written when it is tried again in parts", async () => {
  const { statements, commit } = startWriting(40);
  const first = [commit(row(0)), commit(row(1))];
  const waiting = [2, 3].map((id) => commit(row(id)));
  statements[0]?.commit();
  await settled();
  expect(statements.map(idsOf)).toEqual([[0], [1], [2, 3]]);
  await Promise.allSettled([...first, ...waiting]);
  statements[2]?.fail(violation());
  await settled();
  expect(statements).toHaveLength(3);
});

test("whatever is written in whatever order, each row has its own outcome and only bad rows fail", async () => {
  const rows = fc.uniqueArray(
    fc.record({ id: fc.nat(), key: fc.constantFrom("a", "b", "c", "d"), isBad: fc.boolean() }),
    { selector: ({ id }) => id, maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(rows, fc.array(fc.nat({ max: 3 }), { minLength: 1 }), async (asked, turns) => {
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
      const answers = await Promise.allSettled(asked.map(commit));
      expect(answers.map((answer) => (answer.status === "fulfilled" ? answer.value : "refused"))).toEqual(
        asked.map(({ id, isBad }) => (isBad ? "refused" : id)),
      );
    }),
    { numRuns: 200 },
  );
});
