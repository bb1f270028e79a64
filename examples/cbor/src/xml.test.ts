import { RpcError } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { xml } from "./xml.js";

const MIB = 1 << 20;
const attacks: readonly (readonly [what: string, document: string])[] = [
  ["a billion laughs", '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;&b;">]><text>&c;</text>'],
  ["a file of the server", '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><text>&b;</text>'],
  ["a document type of 1 MiB", `<!DOCTYPE a [${" ".repeat(MIB)}]><null/>`],
  ["an unknown entity", "<text>&unknown;</text>"],
  ["4 MiB of empty values", `<list>${"<null/>".repeat((4 * MIB) / 7)}</list>`],
  ["4 MiB of nested lists", "<list>".repeat((4 * MIB) / 6)],
  ["many comments", `<list>${"<!-- -->".repeat(MIB)}</list>`],
  ["many attributes", `<null ${Array.from({ length: 100_000 }, (_, i) => `a${i}=""`).join(" ")}/>`],
  ["an integer of 1 MiB", `<integer>${"9".repeat(MIB)}</integer>`],
  ["objects with a large number as their key", `<list>${'<object><null name="1000"/></object>'.repeat(5000)}</list>`],
  ["an element that has no meaning", "<script/>"],
  ["a processing instruction", '<?xml-stylesheet href="a"?><null/>'],
  ["two values", "<null/><null/>"],
  ["no value", ""],
  ["a value in a text", "<text><null/></text>"],
  ["a text in a list", "<list>text</list>"],
  ["a name in a list", '<list><null name="a"/></list>'],
  ["a field without a name", "<object><null/></object>"],
  ["a number that is none", "<number>0x10</number>"],
];

describe("XML of a stranger", () => {
  it.each(attacks)("%s is refused", (_, document) => {
    const bytes = Buffer.from(document);
    expect(() => xml.decode(bytes, 0, bytes.length)).toThrow(RpcError);
  });

  it("cut anywhere is refused", () => {
    const whole = encoded({ text: "a<b>&\"'\r\n", list: [1, 2n ** 70n, new Date(0), null, 1.5] });
    for (let end = 0; end < whole.length; end++) expect(() => xml.decode(whole, 0, end)).toThrow(RpcError);
    expect(xml.decode(whole, 0, whole.length)).toMatchObject({ text: "a<b>&\"'\r\n" });
  });
});

it.each([
  [{ a: 1, b: [true, false, null, undefined], c: { d: "text" } }],
  [[0, -0, -1, 1.5, 1e21, 5e-324, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
  [[new Date(1_700_000_000_000), new Date(8.64e15), new Date(-8.64e15)]],
  [[2n ** 64n - 1n, -(2n ** 64n), 2n ** 2000n]],
  [new Set([1, "two"])],
  [
    new Map<unknown, unknown>([
      [1, "one"],
      ["b", [2]],
    ]),
  ],
  [new Uint8Array([0, 255, 1])],
  [`${"t".repeat(1_000_000)}\u{1F600}&lt;<![CDATA[`],
  [JSON.parse('{"__proto__":{"a":1},"a b":" ","\\t":"]]>"}')],
])("what was encoded is decoded", (value) => {
  const bytes = encoded(value);
  expect(xml.decode(bytes, 0, bytes.length)).toEqual(value);
});

it("a character that XML cannot contain is refused", () => {
  expect(() => encoded("a\u0000b")).toThrow("a text with a character that XML cannot contain");
  expect(() => encoded({ ["\uD800"]: 1 })).toThrow(RpcError);
});

function encoded(value: unknown): Uint8Array {
  const out = {
    buffer: new Uint8Array(16),
    position: 0,
    reserve(length: number) {
      const grown = new Uint8Array(this.position + length);
      grown.set(this.buffer.subarray(0, this.position));
      this.buffer = grown;
    },
  };
  xml.encode(value, out);
  return out.buffer.slice(0, out.position);
}
