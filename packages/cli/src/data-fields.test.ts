import { expect, test } from "vitest";
import { parseDataField, withDataFields } from "./data-fields.js";

const schema = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    at: { type: "string", format: "date-time", "x-quicrpc-type": "date" },
    big: { type: "integer", "x-quicrpc-type": "bigint" },
    maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
    either: { anyOf: [{ type: "string" }, { type: "number" }] },
    kind: { enum: ["1", "two"] },
    level: { enum: [1, 2] },
    tags: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { type: "number" } },
    map: { type: "array", items: { prefixItems: [{ type: "string" }, {}] }, "x-quicrpc-type": "map" },
    photo: { "x-quicrpc-type": "blob" },
    node: { $ref: "#/$defs/node" },
  },
  additionalProperties: { type: "number" },
  $defs: { node: { type: "object", properties: { text: { type: "string" }, next: { $ref: "#/$defs/node" } } } },
};

const messageOf = (fields: readonly string[], json?: unknown, by: typeof schema | undefined = schema): unknown =>
  withDataFields(
    json,
    fields.reduce<ReturnType<typeof parseDataField>>((before, field) => parseDataField(field, before), []),
    by,
  );

test.each([
  [["text=7"], { text: "7" }],
  [["text=a=b"], { text: "a=b" }],
  [["text="], { text: "" }],
  [["count=7"], { count: 7 }],
  [["count=seven"], { count: "seven" }],
  [["at=2026-01-02", "big=12"], { at: "2026-01-02", big: "12" }],
  [["maybe=null"], { maybe: null }],
  [["maybe=nil"], { maybe: "nil" }],
  [["either=7"], { either: 7 }],
  [["either=true"], { either: "true" }],
  [["kind=1", "level=1"], { kind: "1", level: 1 }],
  [["tags=a", "tags=1"], { tags: ["a", "1"] }],
  [["sizes=1", "sizes=2"], { sizes: [1, 2] }],
  [["sizes=[1,2]"], { sizes: [1, 2] }],
  [['map={"a":1}'], { map: { a: 1 } }],
  [["photo=@lake.jpg"], { photo: "@lake.jpg" }],
  [["node.text=1", "node.next.text=2"], { node: { text: "1", next: { text: "2" } } }],
  [["other=7"], { other: 7 }],
])("%j is %j", (fields, message) => {
  expect(messageOf(fields)).toEqual(message);
});

test("fields are added to what is given as JSON, which stays as it was", () => {
  const json = { text: "a", node: { text: "b" } };
  expect(messageOf(["node.text=c", "count=1"], json)).toEqual({ text: "a", count: 1, node: { text: "c" } });
  expect(json.node.text).toBe("b");
});

test("without a schema JSON is JSON, and the rest text", () => {
  expect(withDataFields(undefined, [...parseDataField("a=7"), ...parseDataField("b=x")], undefined)).toEqual({
    a: 7,
    b: "x",
  });
});

test("names of a prototype are names", () => {
  const message = messageOf(["__proto__.text=1"]) as object;
  expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
  expect(Object.keys(message)).toEqual(["__proto__"]);
});

test("what has no place is refused", () => {
  expect(() => parseDataField("a")).toThrow("name=value");
  expect(() => parseDataField("a..b=1")).toThrow("name=value");
  expect(() => messageOf(["text=1", "text=2"])).toThrow("--data-field text is given twice, but is not a list");
  expect(() => messageOf(["text=1"], [1])).toThrow("--data-field text is inside a value that is not an object");
  expect(() => messageOf(["text.inner=1"], { text: "a" })).toThrow("is inside a value that is not an object");
  expect(() => messageOf(["text=@/nowhere/none"])).toThrow("cannot read the file of --data-field");
});
