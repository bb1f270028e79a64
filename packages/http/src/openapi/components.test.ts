import { expect, test } from "vitest";
import { Components } from "./components.js";

/** The schema of a message with a field, whose definitions refer to each other and to themselves. */
const message = (field: string, more: object = {}): Readonly<Record<string, unknown>> => ({
  type: "object",
  properties: { [field]: { $ref: "#/$defs/Tree" } },
  $defs: {
    Tree: {
      type: "object",
      properties: { inner: { type: "array", items: { $ref: "#/$defs/Tree" } }, price: { $ref: "#/$defs/Money" } },
    },
    Money: { type: "object", properties: { amount: { type: "integer" }, ...more } },
  },
});

const REFERENCE = "#/components/schemas/";

test("equal definitions of several messages are one schema", () => {
  const components = new Components();
  for (const name of ["A", "B", "C"]) components.add(message(name), name);
  expect(Object.keys(components.schemas)).toEqual(["A", "ATree", "AMoney", "B", "C"]);
  expect(components.schemas["C"]).toEqual({ type: "object", properties: { C: { $ref: `${REFERENCE}ATree` } } });
});

test("definitions with other definitions inside are schemas of their own", () => {
  const components = new Components();
  components.add(message("a"), "A");
  components.add(message("b", { currency: { type: "string" } }), "B");
  expect(Object.keys(components.schemas)).toEqual(["A", "ATree", "AMoney", "B", "BTree", "BMoney"]);
  expect(components.schemas["BTree"]).toMatchObject({ properties: { price: { $ref: `${REFERENCE}BMoney` } } });
});

test("a definition that refers to its message is another one in each message", () => {
  const components = new Components();
  const $defs = { Link: { type: "object", properties: { to: { $ref: "#" } } } };
  for (const name of ["A", "B"])
    components.add({ type: "object", properties: { [name]: { $ref: "#/$defs/Link" } }, $defs }, name);
  expect(components.schemas["BLink"]).toEqual({ type: "object", properties: { to: { $ref: `${REFERENCE}B` } } });
});
