import { parser } from "@lezer/json";
import { describe, expect, it } from "vitest";
import { type Edit, edited, type Path } from "./edit.js";
import { type JsonNode, jsonTree } from "./json-tree.js";

function apply(text: string, path: Path, edit: Edit): string {
  return edited(text, jsonTree(parser.parse(text), text) as JsonNode, path, edit);
}

const ORDER = `{
  "id":   12345678901234567890,
  "lines": [
    { "name": "a" },
    { "name": "b" }
  ],
  "note": null
}`;

describe("an edit", () => {
  it("changes one value, and leaves how the rest was typed", () => {
    const text = apply(ORDER, [1, 0, 0], { kind: "replace", value: 'A "x"' });
    expect(text).toBe(ORDER.replace('"a"', String.raw`"A \"x\""`));
    expect(apply(ORDER, [0], { kind: "source", text: "1.50" })).toBe(ORDER.replace("12345678901234567890", "1.50"));
  });

  it("indents what it puts in", () => {
    expect(apply(ORDER, [2], { kind: "replace", value: { by: "x" } })).toContain('"note": {\n    "by": "x"\n  }\n}');
    expect(apply(ORDER, [1], { kind: "add", value: { name: "c" } })).toContain(
      '{ "name": "b" },\n    {\n      "name": "c"\n    }\n  ],',
    );
  });

  it.each<[string, string, Path, Edit, string]>([
    ["adds to nothing", "{}", [], { kind: "add", name: "a", value: 1 }, '{\n  "a": 1\n}'],
    ["adds to a line", "[1]", [], { kind: "add", value: [] }, "[1, []]"],
    ["adds a member to a line", '{"a":1}', [], { kind: "add", name: "b", value: 2 }, '{"a":1, "b": 2}'],
    ["removes the first", "[1, 2, 3]", [0], { kind: "remove" }, "[2, 3]"],
    ["removes one in between", "[1, 2, 3]", [1], { kind: "remove" }, "[1, 3]"],
    ["removes the last", '{"a":1, "b":2}', [1], { kind: "remove" }, '{"a":1}'],
    ["removes the only one", '{\n  "a": 1\n}', [0], { kind: "remove" }, "{}"],
    ["renames a member", '{"a":1}', [0], { kind: "rename", name: 'b"' }, String.raw`{"b\"":1}`],
    ["of what is not there does nothing", "[1]", [3], { kind: "remove" }, "[1]"],
    ["removes no outermost value", "[1]", [], { kind: "remove" }, "[1]"],
    ["renames no item", "[1]", [0], { kind: "rename", name: "a" }, "[1]"],
    ["has one of two members of one name", '{"a":1,"a":2}', [1], { kind: "source", text: "3" }, '{"a":1,"a":3}'],
  ])("%s", (_, text, path, edit, expected) => {
    expect(apply(text, path, edit)).toBe(expected);
  });
});
