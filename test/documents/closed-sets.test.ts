import {
  blockCauses,
  chainBreakReasons,
  denyReasons,
  diffKinds,
  errorCodes,
  guaranteeLevels,
  identityStatuses,
  manifestStatuses,
  popFailureCauses,
} from "@svc/core";
import { logFields, metrics, pseudonymKinds, spanAttributes, spans } from "@svc/telemetry";
import { expect, test } from "vitest";
import { read } from "./src/tree.ts";

const sets: readonly [page: string, what: string, names: readonly string[]][] = [
  ["decision", "deny reason", denyReasons],
  ["conventions", "error code", errorCodes],
  ["enforcement-point", "block cause", blockCauses],
  ["identity", "status", identityStatuses],
  ["manifest", "status", manifestStatuses],
  ["manifest", "kind of difference", diffKinds],
  ["manifest-file", "guarantee level", guaranteeLevels],
  ["record", "reason of a broken chain", chainBreakReasons],
  ["tokens", "cause of a failed proof", popFailureCauses],
  ["telemetry", "metric", Object.keys(metrics)],
  ["telemetry", "span", Object.keys(spans)],
  ["telemetry", "span attribute", Object.keys(spanAttributes)],
  ["telemetry", "log field", Object.keys(logFields)],
  ["telemetry", "kind of pseudonym", pseudonymKinds],
];

test.each(sets)("docs/reference/%s.md names every %s", (page, _what, names) => {
  const text = read(`docs/reference/${page}.md`);
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  expect(names.length).toBeGreaterThan(1);
});
