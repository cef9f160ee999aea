import { mutationsOf, testsOf } from "./mutation.ts";

const sinks = testsOf("apps/control-plane/test/sinks.test.ts");
const otlp = testsOf("apps/control-plane/test/sink-otlp.test.ts");
const notTaken = sinks("a receiver that does not take a message > that %s is sent the same rows until it takes them");

/** Delivery of the record to receivers. */
export const ofSinks = mutationsOf("apps/control-plane/src", [
  ["evidence-follows-redirects", "background/delivery/post.ts", 'redirect: "manual"', 'redirect: "follow"', notTaken],
  ["fault-in-full", "background/delivery/post.ts", "codeBehind(cause)", "codeBehind(cause) + String(cause)", notTaken],
  [
    "evidence-unsigned",
    "background/delivery/webhook.ts",
    "signer.sign(id, at, body)",
    'signer.sign(id, at, "")',
    sinks("a sink > gets signed messages with its authorization, and each under its own identifier"),
  ],
  [
    "refused-rows-passed-over",
    "background/delivery/deliver-batch.ts",
    "if (refusal !== undefined) return refusal;",
    'if (refusal?.kind === "moved") return refusal;',
    otlp("a partial success that refuses a row is no delivery: the same rows are sent until all are taken"),
  ],
  [
    "sink-moved-by-a-late-process",
    "postgres/sinks.ts",
    "failing_since = null, last_error = null\n        where name = ",
    "failing_since = null, last_error = null\n        where true or name = ",
    sinks("a sink > gets nothing twice in its place where a process was slower than its claim"),
  ],
]);

export const ofFeed = mutationsOf("packages/seals/src", [
  [
    "changed-rows-unseen",
    "evidence/feed.ts",
    "    else if (finding !== undefined) items.push(asItem(finding, end));\n",
    "",
    sinks("what is not as it was sealed > is delivered as a finding, with what the database has of the row"),
  ],
]);
