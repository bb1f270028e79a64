import { bytes, stream } from "@quicrpc/core";
import { blob } from "@quicrpc/blobs";
import { randomNumbers } from "@quicrpc/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { inputsOf, itemsOf } from "./items.js";

const take = (next: () => unknown, count = 50): unknown[] => Array.from({ length: count }, () => next());

it("inputs pass their schema, are made anew each time, and are the same for the same seed", () => {
  const schema = z.object({ id: z.int(), at: z.date(), even: z.int().refine((value) => value % 2 === 0) });
  const inputs = take(inputsOf("demo.v1.Shop/get", schema, 1));
  expect(z.array(schema).parse(inputs)).toEqual(inputs);
  expect(new Set(inputs.map((input) => JSON.stringify(input))).size).toBeGreaterThan(40);
  expect(take(inputsOf("demo.v1.Shop/get", schema, 1))).toEqual(inputs);
  expect(take(inputsOf("demo.v1.Shop/get", schema, 2))).not.toEqual(inputs);
  expect(take(inputsOf("demo.v1.Shop/put", schema, 1))).not.toEqual(inputs);
});

it("the input of a stream is a list of its items, or of chunks", () => {
  const lists = z.array(z.array(z.int()).min(3).max(8)).parse(take(inputsOf("a", stream(z.int()), 1)));
  expect(new Set(lists.map(({ length }) => length)).size).toBe(6);
  expect(take(inputsOf("b", bytes(), 1), 1)[0]).toContainEqual(expect.any(Uint8Array));
  expect(take(inputsOf("c", undefined, 1), 2)).toEqual([undefined, undefined]);
});

it("fields that are blobs have bytes, the same for the same seed, and as many as they may", async () => {
  const schema = z.object({ title: z.string(), file: blob({ maxBytes: 7 }) });
  const next = inputsOf("d", schema, 1, [{ name: "file", maxBytes: 7 }]);
  const { file } = next() as { file: { content: Blob } };
  const bytes = await file.content.bytes();
  expect(bytes).toHaveLength(7);
  const again = inputsOf("d", schema, 1, [{ name: "file", maxBytes: 7 }])() as { file: { content: Blob } };
  expect(await again.file.content.bytes()).toEqual(bytes);
});

it("an item may be null", () => {
  expect(itemsOf(stream(z.null()))?.(randomNumbers(1))).toBeNull();
});
