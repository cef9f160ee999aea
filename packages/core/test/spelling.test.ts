import { expect, test } from "vitest";
import { z } from "zod";
import { completionResponse, fromWire, page, toWire } from "../src/index.ts";

const row = z.object({
  action_id: z.string(),
  seen_at: z.string().nullable(),
  by_name: z.record(z.string(), z.object({ a_b: z.int() })),
  marks: z.array(z.object({ taint_source: z.string() })).readonly(),
  left_out: z.string().optional(),
});
const wire = { action_id: "a", seen_at: null, by_name: { x_y: { a_b: 1 } }, marks: [{ taint_source: "s" }] };
const camel = { actionId: "a", seenAt: null, byName: { x_y: { a_b: 1 } }, marks: [{ taintSource: "s" }] };

test("members change their spelling at every depth; the keys and values of a record are data and stay", () => {
  expect(fromWire(row, wire)).toEqual(camel);
  expect(toWire(row, camel)).toEqual(wire);
});

test("members that the schema does not name are left out", () => {
  const more = { ...camel, secret: "s" };
  expect(toWire(row, more)).toEqual(wire);
});

test("members have the order of the schema", () => {
  const { marks, ...others } = camel;
  expect(Object.keys(toWire(row, { marks, ...others }))).toEqual(Object.keys(wire));
});

test("a page changes its own spelling and that of its rows", () => {
  const given = fromWire(page(row), { data: [wire], page: { next_cursor: "c", limit: 1 } });
  expect(given).toEqual({ data: [camel], page: { nextCursor: "c", limit: 1 } });
});

test.each([
  [
    { status: "enrolled", agent_id: "a", anchor_version: 1 },
    { status: "enrolled", agentId: "a", anchorVersion: 1 },
  ],
  [
    { status: "quarantined", reason: "KEY_IN_USE" },
    { status: "quarantined", reason: "KEY_IN_USE" },
  ],
] as const)("of a union, the option that the discriminator names is respelled: $0.status", (inWire, inCode) => {
  expect(fromWire(completionResponse, inWire)).toEqual(inCode);
  expect(toWire(completionResponse, inCode)).toEqual(inWire);
});
