import { expect, it } from "vitest";
import { z } from "zod";
import { placesOf, reaching } from "./node.js";
import { nodeOf } from "./read.js";

it.each([
  [z.object({ a: z.string(), b: z.int() }).catchall(z.date()), ["fields a", "fields b", "others"]],
  [z.tuple([z.string(), z.string()], z.int()), ["items 0", "items 1", "rest"]],
  [z.record(z.string(), z.int()), ["key", "element"]],
  [z.map(z.string(), z.int()), ["key", "element"]],
  [z.union([z.string(), z.int()]), ["options 0", "options 1"]],
  [
    z.discriminatedUnion("k", [z.object({ k: z.literal(["a", "b"]) }), z.object({ k: z.literal("c") })]),
    ["options 0", "options 1"],
  ],
  [z.intersection(z.object({}), z.object({})), ["left", "right"]],
  [z.pipe(z.string(), z.string()), ["from", "to"]],
  [z.templateLiteral(["v", z.int(), "-", z.string()]), ["parts 1", "parts 3"]],
  [z.string().optional(), ["inner"]],
  [z.coerce.string(), ["structure"]],
  [z.strictObject({}), []],
  [z.literal("a"), []],
])("lists the places of parts, %#", (schema, places) => {
  expect(placesOf(nodeOf(schema)).map(({ slot, at }) => (at === undefined ? slot : `${slot} ${at}`))).toEqual(places);
});

it("finds what is anywhere inside a node, also where schemas refer to one another", () => {
  const One = z.object({
    get two() {
      return Two.optional();
    },
  });
  const Two = z.object({
    get one() {
      return One.optional();
    },
    size: z.bigint(),
  });
  const Ring = z.object({
    get ring() {
      return Ring.optional();
    },
  });
  const hasBigint = reaching(({ kind }) => kind === "bigint");
  const schemas = [Ring, One, Two, Ring, z.array(One), z.array(Ring)];
  expect(schemas.map((schema) => hasBigint(nodeOf(schema)))).toEqual([false, true, true, false, true, false]);
});

it("reads what is not a schema as a node of which nothing is known", () => {
  const node = nodeOf(z.object({ a: 1 as never }));
  expect(placesOf(node).map(({ part }) => part.kind)).toEqual(["other"]);
});

it("throws what a getter throws, each time a schema is read", () => {
  let isReady = false;
  const schema = z.object({
    get a() {
      if (!isReady) throw new Error("not yet");
      return z.string();
    },
  });
  expect(() => nodeOf(schema)).toThrow("not yet");
  expect(() => nodeOf(schema)).toThrow("not yet");
  isReady = true;
  expect(placesOf(nodeOf(schema)).map(({ part }) => part.kind)).toEqual(["string"]);
});
