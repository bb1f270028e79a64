import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { zodCodec } from "../call/messages/codec.js";
import { pack } from "../msgpack/pack.js";
import { costlyFor } from "./costly-texts.js";
import { run, Mode } from "./shape.js";
import { string } from "./scalars.js";
import { external, refined } from "./zod-schema.js";

const text = `http://${"漢".repeat(301)}`;
const issues = [expect.objectContaining({ code: "invalid_format", path: [] })];

/** The issues with which `zodCodec` refuses a value. */
function detailsOf(schema: z.ZodType, value: unknown): unknown {
  const bytes = pack(value);
  try {
    return zodCodec(schema).decode(bytes, 0, bytes.length);
  } catch (error) {
    return (error as { readonly details: unknown }).details;
  }
}

describe("a schema takes URLs", () => {
  const Tree: z.ZodType = z.lazy(() => z.object({ at: z.url(), below: z.array(Tree) }));

  it.each<[string, z.ZodType, boolean]>([
    ["itself", z.url(), true],
    ["by a check", z.string().check(z.url()), true],
    ["in a union", z.object({ a: z.union([z.int(), z.httpUrl()]) }).optional(), true],
    ["in keys", z.record(z.url(), z.int()), true],
    [
      "after a transform",
      z
        .string()
        .transform((text) => text)
        .pipe(z.url()),
      true,
    ],
    ["lazily", Tree, true],
    ["not at all", z.object({ a: z.string(), b: z.email(), c: z.ipv6(), d: z.enum(["url"]) }), false],
  ])("%s", (_where, schema, expected) => {
    expect(costlyFor(schema)(text) !== undefined).toBe(expected);
  });
});

describe("the platform does not parse a long host", () => {
  it.each([
    ["in a check", () => run(refined(string(), z.url()), text, Mode.Wire).issues],
    ["in a schema that zod runs", () => run(external(z.url()), text, Mode.Wire).issues],
    ["inside one", () => run(external(z.array(z.union([z.int(), z.url()]))), [text], Mode.Wire).issues],
    ["as a key", () => run(external(z.record(z.url(), z.int())), { [text]: 1 }, Mode.Given).issues],
    ["in zodCodec", () => detailsOf(z.object({ at: z.url() }), { at: text })],
  ])("%s", (_where, found) => {
    const parse = [vi.spyOn(URL, "canParse"), "parse" in URL ? vi.spyOn(URL, "parse") : undefined];
    expect(found()).toEqual(issues);
    for (const each of parse) expect(each?.mock.calls ?? []).toEqual([]);
    vi.restoreAllMocks();
  });

  it("and others as before", () => {
    const shape = refined(string(), z.url());
    expect(run(shape, "http://example.com", Mode.Wire).issues).toEqual([]);
    expect(run(shape, "example", Mode.Wire).issues).toHaveLength(1);
    expect(run(external(z.url()), "http://example.com", Mode.Wire).issues).toEqual([]);
  });
});

describe("a bigint is not made of thousands of digits", () => {
  const digits = "9".repeat(4_000_000);

  it.each<[string, z.ZodType, unknown]>([
    ["itself", z.coerce.bigint(), digits],
    ["with a sign and spaces", z.coerce.bigint(), ` -${digits} `],
    ["in a list, which is text then", z.coerce.bigint(), [digits]],
    ["inside", z.object({ a: z.array(z.coerce.bigint()) }), { a: ["1", digits] }],
    ["as a key", z.map(z.coerce.bigint(), z.int()), new Map([[digits, 1]])],
  ])("%s", (_where, schema, value) => {
    const convert = vi.spyOn(globalThis, "BigInt");
    expect(run(external(schema), value, Mode.Given).issues).toEqual(issues);
    expect(convert).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("and fewer as before", () => {
    expect(run(external(z.coerce.bigint()), "9".repeat(2500), Mode.Given)).toMatchObject({ issues: [] });
    expect(run(external(z.object({ a: z.string() })), { a: digits }, Mode.Given).issues).toEqual([]);
  });
});

describe("combining marks are not put in order where there are hundreds", () => {
  const marks = `a${"\u0301\u0316".repeat(100_000)}`;

  it.each([
    ["in a check", () => run(refined(string(), z.string().normalize()), marks, Mode.Wire).issues],
    [
      "after a bound",
      () => run(refined(string(), z.string().max(5).normalize("NFKD")), marks, Mode.Wire).issues.slice(1),
    ],
    ["inside what zod runs", () => run(external(z.array(z.string().normalize())), [marks], Mode.Wire).issues],
    ["in zodCodec", () => detailsOf(z.string().normalize(), marks)],
  ])("%s", (_where, found) => {
    const normalize = vi.spyOn(String.prototype, "normalize");
    expect(found()).toEqual(issues);
    expect(normalize).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("and others as before", () => {
    const shape = refined(string(), z.string().normalize());
    expect(run(shape, "a\u0301".repeat(1000), Mode.Wire)).toMatchObject({ value: "á".repeat(1000), issues: [] });
    expect(run(refined(string(), z.string().trim()), ` ${marks}`, Mode.Wire)).toMatchObject({
      value: marks,
      issues: [],
    });
  });
});

describe("a template literal that zod runs does not go back over a text", () => {
  const schema = () => z.templateLiteral([z.string(), "-", z.string(), "-", z.string(), "-", z.string(), "!"]);
  const dashes = "-".repeat(20_000);
  const Tree: z.ZodType = z.lazy(() => z.object({ name: schema(), below: z.array(Tree) }));

  it.each<[string, z.ZodType, unknown]>([
    ["inside what zod runs", z.xor([schema(), z.int()]), dashes],
    ["lazily", z.xor([Tree, z.int()]), { name: dashes, below: [] }],
    [
      "as a key",
      z
        .looseRecord(schema(), z.int())
        .transform((all) => Object.keys(all).length)
        .pipe(z.literal(5)),
      { [dashes]: 1 },
    ],
  ])("%s", (_where, given, value) => {
    expect(run(external(given), value, Mode.Given).issues).toHaveLength(1);
    expect(detailsOf(given, value)).toHaveLength(1);
  });
});
