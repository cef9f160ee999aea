import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readBounded } from "../src/read-bounded.ts";

const chunk = (length: number) => new Uint8Array(length).fill(7);

test.each([
  ["no body", null, 0],
  ["an empty stream", new ReadableStream<Uint8Array>({ start: (controller) => controller.close() }), 0],
  ["several chunks that reach the cap", Readable.from([chunk(4), chunk(6)]), 10],
])("reads the whole of %s", async (_, body, length) => {
  expect(await readBounded(body, 10)).toEqual(chunk(length));
});

test("reads no further than the first byte past the cap, and cancels the rest", async () => {
  let pulled = 0;
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        pulled++;
        controller.enqueue(chunk(6));
      },
      cancel: () => cancelled.resolve(),
    },
    { highWaterMark: 0 },
  );
  expect(await readBounded(body, 10)).toBeUndefined();
  await cancelled.promise;
  expect(pulled).toBe(2);
});

test("a clone past the cap returns at once, though its other half is not read", async () => {
  const request = new Request("http://svc.test", { method: "POST", body: chunk(11) });
  expect(await readBounded(request.clone().body, 10)).toBeUndefined();
  expect(await request.arrayBuffer()).toHaveProperty("byteLength", 11);
});

test("a fault of the stream is thrown", async () => {
  const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error("reset")) });
  await expect(readBounded(body, 10)).rejects.toThrow("reset");
});
