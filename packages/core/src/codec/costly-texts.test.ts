import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { zodCodec } from "../call/messages/codec.js";
import { pack } from "../msgpack/pack.js";
import { costlyText } from "./costly-texts.js";
import { run, Mode } from "./shape.js";
import { string } from "./scalars.js";
import { union } from "./union.js";
import { external, refined } from "./zod-schema.js";

const marks = `a${"\u0301\u0316".repeat(100_000)}`;
const text = `http://${"漢".repeat(301)}`;
const issuesAt = (...path: readonly PropertyKey[]) => [expect.objectContaining({ code: "invalid_format", path })];

/** The issues with which `zodCodec` refuses a value. */
function detailsOf(schema: z.ZodType, value: unknown): unknown {
  const bytes = pack(value);
  try {
    return zodCodec(schema).decode(bytes, 0, bytes.length);
  } catch (error) {
    return (error as { readonly details: unknown }).details;
  }
}

describe("the platform does not parse a long host", () => {
  const Tree: z.ZodType = z.lazy(() => z.object({ at: z.url(), below: z.array(Tree) }));
  const refusedBy = (schema: z.ZodType, value: unknown): unknown => run(external(schema), value, Mode.Given).issues;

  it.each<[string, () => unknown, expected?: unknown]>([
    ["in a check", () => run(refined(string(), z.url()), text, Mode.Wire).issues],
    ["in a schema that zod runs", () => refusedBy(z.url(), text)],
    ["by a check of one", () => refusedBy(z.string().check(z.url()), text)],
    ["inside one", () => refusedBy(z.array(z.url()), [text]), issuesAt(0)],
    [
      "in a union",
      () => refusedBy(z.object({ a: z.union([z.int(), z.httpUrl()]).optional() }), { a: text }),
      issuesAt("a"),
    ],
    ["as a key", () => refusedBy(z.record(z.url(), z.int()), { [text]: 1 }), issuesAt(text)],
    ["after a transform", () => refusedBy(z.array(z.preprocess((each) => each, z.url())), [text]), issuesAt(0)],
    ["in a tuple", () => refusedBy(z.tuple([z.int()], z.url()), [1, "http://a.b", text]), issuesAt(2)],
    ["in a map", () => refusedBy(z.map(z.int(), z.set(z.url())), new Map([[1, new Set([text])]])), issuesAt(1, text)],
    ["in what is left of an object", () => refusedBy(z.object({}).catchall(z.url()), { a: text }), issuesAt("a")],
    ["of a property", () => refusedBy(z.any().check(z.property("at", z.url())), { at: text }), issuesAt("at")],
    ["in a list that is converted to text", () => refusedBy(z.coerce.string().check(z.url()), [[text]])],
    [
      "lazily",
      () => refusedBy(Tree, { at: "http://a.b", below: [{ at: text, below: [] }] }),
      issuesAt("below", 0, "at"),
    ],
    ["in zodCodec", () => detailsOf(z.object({ at: z.url() }), { at: text }), issuesAt("at")],
  ])("%s", (_where, found, expected = issuesAt()) => {
    const parse = [vi.spyOn(URL, "canParse"), "parse" in URL ? vi.spyOn(URL, "parse") : undefined];
    expect(found()).toEqual(expected);
    const parsed = parse.flatMap((each) => each?.mock.calls.map(([url]) => url) ?? []);
    expect(parsed).not.toContain(text);
    vi.restoreAllMocks();
  });

  it("and others as before", () => {
    const shape = refined(string(), z.url());
    expect(run(shape, "http://example.com", Mode.Wire).issues).toEqual([]);
    expect(run(shape, "example", Mode.Wire).issues).toHaveLength(1);
    expect(run(external(z.url()), "http://example.com", Mode.Wire).issues).toEqual([]);
    expect(refusedBy(z.object({ a: z.string(), b: z.email() }), { a: text, b: "a@b.cd" })).toEqual([]);
    const either = union(refined(string(), z.url()), string());
    expect(run(either, text, Mode.Given).issues).toEqual([]);
  });
});

describe("no URL is made of a long address", () => {
  // zod 4.0 makes one of any text: all after the @ would be a host.
  it.each([
    ["of IPv6", z.ipv6(), `::1@${"漢".repeat(100)}`, "1".repeat(101)],
    ["of IPv6 with a prefix", z.cidrv6(), `::1@${"漢".repeat(100)}/64`, `${"1".repeat(100)}/64`],
  ])("%s", (_kind, schema, ...texts) => {
    const canParse = vi.spyOn(URL, "canParse");
    for (const each of texts) {
      const message = "invalid address: it has more than 100 characters";
      expect(run(refined(string(), schema), each, Mode.Wire).issues).toMatchObject([{ message }]);
      expect(run(external(schema), each, Mode.Given).issues).toMatchObject([{ message }]);
    }
    expect(canParse).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("and of others as before", () => {
    const longest = "2001:0db8:0000:0000:0000:0000:192.168.100.100";
    expect(run(external(z.ipv6()), longest, Mode.Given).issues).toEqual([]);
    expect(run(external(z.cidrv6()), `${longest}/128`, Mode.Given).issues).toEqual([]);
    expect(run(external(z.ipv6()), "none", Mode.Given).issues).toHaveLength(1);
  });
});

describe("a bigint is not made of thousands of digits", () => {
  const digits = "9".repeat(4_000_000);

  it.each<[string, z.ZodType, unknown, path?: PropertyKey[]]>([
    ["itself", z.coerce.bigint(), digits],
    ["with a sign and spaces", z.coerce.bigint(), ` -${digits} `],
    ["with a bound", z.coerce.bigint().min(5n), digits],
    ["in a list, which is text then", z.coerce.bigint(), [[digits]]],
    ["inside", z.object({ a: z.array(z.coerce.bigint()) }), { a: ["1", digits] }, ["a", 1]],
    ["as the only option", z.object({ a: z.union([z.union([z.coerce.bigint()])]) }), { a: digits }, ["a"]],
    ["with a default", z.object({ a: z.coerce.bigint().default(1n) }), { a: digits }, ["a"]],
    ["after a transform", z.preprocess((each) => each, z.object({ a: z.coerce.bigint() })), { a: digits }, ["a"]],
  ])("%s", (_where, schema, value, path = []) => {
    const convert = vi.spyOn(globalThis, "BigInt");
    expect(run(external(schema), value, Mode.Given).issues).toEqual(issuesAt(...path));
    for (const [converted] of convert.mock.calls) expect(converted).toBe("1");
    vi.restoreAllMocks();
  });

  it("and fewer as before", () => {
    expect(run(external(z.coerce.bigint()), "9".repeat(2500), Mode.Given)).toMatchObject({ issues: [] });
    const Line = z.object({ id: z.coerce.bigint(), text: z.string(), name: z.string().normalize() });
    const line = { id: "1", text: `${digits}${marks}`, name: "a" };
    expect(run(external(Line), line, Mode.Given)).toMatchObject({ value: { ...line, id: 1n }, issues: [] });
  });
});

describe("combining marks are not put in order where there are hundreds", () => {
  it.each<[string, () => unknown, expected?: unknown]>([
    ["in a check", () => run(refined(string(), z.string().normalize()), marks, Mode.Wire).issues],
    [
      "after a bound",
      () => run(refined(string(), z.string().max(5).normalize("NFKD")), marks, Mode.Wire).issues.slice(1),
    ],
    [
      "inside what zod runs",
      () => run(external(z.array(z.string().normalize())), [marks], Mode.Wire).issues,
      issuesAt(0),
    ],
    ["in zodCodec", () => detailsOf(z.string().normalize(), marks)],
    ["by a check of what is lazy", () => detailsOf(z.lazy(() => z.string()).check(z.normalize()), marks)],
  ])("%s", (_where, found, expected = issuesAt()) => {
    const normalize = vi.spyOn(String.prototype, "normalize");
    expect(found()).toEqual(expected);
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

it("a schema that refers to a later one is looked into when it is used", () => {
  const later: z.ZodType[] = [];
  const schema = z.object({
    get at() {
      const [at] = later;
      if (at === undefined) throw new ReferenceError("not yet");
      return at;
    },
    name: z.string().normalize(),
  });
  const value = { at: "a", name: marks };
  const shape = external(schema);
  expect(() => run(shape, value, Mode.Given)).toThrow("not yet");
  expect(() => refined(string(), z.object({ in: z.string() }).check(z.property("in", schema as never)))).not.toThrow();
  later.push(z.string());
  expect(run(shape, value, Mode.Given).issues).toEqual(issuesAt("name"));
});

it("a value that contains itself is looked through once", () => {
  const Tree: z.ZodType = z.lazy(() => z.union([z.object({ next: Tree, at: z.url() }), z.looseObject({ next: Tree })]));
  const value: Record<string, unknown> = { at: "http://a.b" };
  value["next"] = value;
  expect(costlyText(Tree, value)).toBeUndefined();
  value["at"] = text;
  expect(costlyText(Tree, value)).toMatchObject({ path: ["at"] });
});

it("zod's schemas stay as they are", () => {
  const schemas = [
    z.url(),
    z.coerce.bigint(),
    z.string().normalize(),
    z.templateLiteral([z.string(), z.string(), "!"]),
  ];
  const parts = (): unknown[] =>
    schemas.map(({ _zod }) => [
      ...["parse", "run", "check"].map((name) => Reflect.get(_zod, name) as unknown),
      Object.keys(_zod.pattern ?? {}),
    ]);
  const before = parts();
  for (const schema of schemas) detailsOf(schema, "1");
  expect(parts()).toEqual(before);
});

describe("hair components of emojis are few, if each doubles the time of the pattern", () => {
  const pattern = /^(\p{Extended_Pictographic}|\p{Emoji_Component})+$/u;

  it.each([
    ["in a check", (schema: z.ZodType, value: string) => run(refined(string(), schema), value, Mode.Wire).issues],
    ["in zodCodec", detailsOf],
  ])("%s", (_where, issuesOf) => {
    const refused = [expect.objectContaining({ message: "invalid emoji: it has more than 16 hair components" })];
    expect(issuesOf(z.emoji({ pattern }), `${"🦰".repeat(40)}!`)).toEqual(refused);
    expect(issuesOf(z.emoji({ pattern }), `${"🦰".repeat(10)}!`)).toEqual([expect.not.objectContaining(refused[0])]);
  });
});

it("no default is made for it", () => {
  const make = vi.fn<() => string>(() => "a");
  const schema = z.object({ at: z.string().default(make), name: z.string().normalize() });
  expect(detailsOf(schema, { at: "b", name: marks })).toEqual(issuesAt("name"));
  expect(make).not.toHaveBeenCalled();
});

describe("a long text is not matched by zod with a template literal that goes back over it", () => {
  const schema = () => z.templateLiteral([z.string(), "-", z.string(), "-", z.string(), "-", z.string(), "!"]);
  const dashes = "-".repeat(20_000);
  const Tree: z.ZodType = z.lazy(() => z.object({ name: schema(), below: z.array(Tree) }));

  it.each<[string, z.ZodType, unknown, path?: PropertyKey[]]>([
    ["inside what zod runs", z.xor([schema(), z.int()]), dashes],
    ["lazily", z.xor([Tree, z.int()]), { name: dashes, below: [] }, ["name"]],
    ["as a key", z.looseRecord(schema(), z.int()).transform((all) => Object.keys(all)), { [dashes]: 1 }, [dashes]],
  ])("%s", (_where, given, value, path = []) => {
    expect(run(external(given), value, Mode.Given).issues).toEqual(issuesAt(...path));
    expect(detailsOf(given, value)).toHaveLength(1);
  });

  it("and others as before", () => {
    expect(run(external(z.xor([schema(), z.int()])), "a-b-c-d!", Mode.Given).issues).toEqual([]);
    const data = z.templateLiteral(["data:", z.string(), ";base64,", z.base64()]);
    expect(run(external(z.xor([data, z.int()])), `data:a;base64,${"A".repeat(4_000_000)}`, Mode.Given).issues).toEqual(
      [],
    );
  });
});
