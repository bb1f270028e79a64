import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { linear } from "./linear-pattern.js";
import { Positions } from "./positions.js";
import { stepsOf } from "./pattern-steps.js";

type Part = Parameters<typeof z.templateLiteral>[0][number];

const parts: readonly (() => Part)[] = [
  () => z.string(),
  () => z.string().max(2),
  () => z.string().min(2),
  () => z.string().min(1).max(3),
  () => z.string().length(1),
  () => z.string().startsWith("a"),
  () => z.string().endsWith("b"),
  () => z.string().includes("1"),
  () => z.string().regex(/^a+b?$/),
  () => z.string().regex(/(a|ab)*/),
  () => z.string().regex(/^(?:a{0,2}-){1,2}?$/),
  () => z.string().regex(/^(?!ab)[ab]{2}$/),
  () => z.string().regex(/^(?=a)[^-\]]*\x31?\u002d\w?$/),
  () => z.string().regex(new RegExp("^p{}\\p{L}.?$")),
  () => z.string().regex(/^(a)|b+$/),
  () => z.number(),
  () => z.int(),
  () => z.bigint(),
  () => z.boolean(),
  () => z.null(),
  () => z.enum(["a", "ab", "-"]),
  () => z.literal(["1", "11", "a|b"]),
  () => z.union([z.number(), z.literal("b")]),
  () => z.string().optional(),
  () => z.number().nullable(),
  () => z.templateLiteral(["a", z.string()]),
  () => z.base64(),
  () => z.base64url(),
  () => z.cidrv4(),
  () => z.cuid2(),
  () => z.e164(),
  () => z.email(),
  () => z.emoji(),
  () => z.hostname(),
  () => z.ipv4(),
  () => z.ipv6(),
  () => z.iso.date(),
  () => z.iso.datetime({ offset: true, local: true }),
  () => z.iso.duration(),
  () => z.mac(),
  () => z.nanoid(),
  () => z.uuid(),
  () => "-",
  () => "a",
  () => "1",
  () => "ab",
  () => ".",
  () => "",
  () => "$|^",
  () => 1,
  () => null,
];

const patternOf = (template: readonly Part[]): RegExp => z.templateLiteral(template as Part[])._zod.pattern;
const texts = fc
  .array(fc.constantFrom("a", "b", "-", "1", ".", "@", ":", "/", "P", "T", "D", "+", "null", "true", "\n", "|", "😀"), {
    maxLength: 10,
  })
  .map((all) => all.join(""));
const templates = fc
  .array(fc.constantFrom(...parts), { minLength: 1, maxLength: 5 })
  .map((all) => patternOf(all.map((part) => part())));

afterEach(() => vi.unstubAllGlobals());

describe("the steps of a pattern", () => {
  it("take the same texts as the pattern", () => {
    fc.assert(
      fc.property(templates, fc.array(texts, { minLength: 1, maxLength: 30 }), (pattern, all) => {
        const steps = stepsOf(pattern.source);
        fc.pre(steps !== undefined);
        for (const text of all) {
          expect(!(steps?.ends(text, Positions.between(0, text.length)).isEmpty ?? true), `${pattern} on ${text}`).toBe(
            pattern.test(text),
          );
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("take the same of texts that zod has examples of", () => {
    const valid = [
      "a-1",
      "a-b-1",
      "1.5-",
      "-1n",
      "P1DT2H",
      "PT5S",
      "a.b-a@b.cd",
      "2020-02-29",
      "::1",
      "1:2:3:4:5:6:7:8",
    ];
    for (const part of parts) {
      const pattern = patternOf([part()]);
      const steps = stepsOf(pattern.source);
      for (const text of valid) {
        const found = steps?.ends(text, Positions.between(0, text.length));
        expect(found?.isEmpty === false, `${pattern} on ${text}`).toBe(steps !== undefined && pattern.test(text));
      }
    }
  });
});

describe("a linear pattern", () => {
  const few = (...template: Part[]): RegExp => linear(patternOf(template));

  it.each<[string, Part[], string]>([
    [
      "five texts",
      [z.string(), "-", z.string(), "-", z.string(), "-", z.string(), "-", z.string(), "!"],
      "-".repeat(1_000_000),
    ],
    ["numbers", [z.number(), z.number(), z.number(), z.number(), "!"], "1".repeat(1_000_000)],
    ["bounded texts", [...Array.from({ length: 8 }, () => z.string().max(100)), "!"], "a".repeat(700)],
  ])("looks once through %s", (_of, template, text) => {
    const pattern = few(...template);
    expect(pattern.test(text)).toBe(false);
    expect(pattern.test(`${text}!`)).toBe(true);
  });

  it("takes long texts with one part of any length", () => {
    expect(few("data:", z.string(), ";base64,", z.base64()).test(`data:a;base64,${"A".repeat(4_000_000)}`)).toBe(true);
  });

  it("takes texts of which each part of a format begins anywhere", () => {
    const pattern = few(z.string(), "/", z.string(), "/", z.enum(["a", "ab", "b"]), z.number());
    expect(pattern.test(`${"/a1".repeat(300_000)}.5`)).toBe(true);
    expect(pattern.test("/a1".repeat(300_000) + "a")).toBe(false);
  });

  it("takes less than two bytes for each character in all", () => {
    let bytes = 0;
    class Counted extends Int32Array {
      constructor(length: number) {
        super(length);
        bytes += this.byteLength;
      }
    }
    vi.stubGlobal("Int32Array", Counted);
    const text = "a-".repeat(500_000);
    expect(few(z.string(), "-", z.string().min(1), "-", z.enum(["a", "-"]), z.string(), "!").test(text)).toBe(false);
    expect(bytes).toBeGreaterThan(0);
    expect(bytes / text.length).toBeLessThan(2);
  });

  it("says what it is of, and is made once", () => {
    const pattern = few(z.string(), "-", z.string());
    const ownTest = (): unknown => Object.getOwnPropertyDescriptor(pattern, "test")?.value;
    const made = ownTest();
    expect(made).toBeDefined();
    linear(pattern);
    expect(ownTest()).toBe(made);
    expect(String(pattern)).toBe("/^[\\s\\S]{0,}-[\\s\\S]{0,}$/");
  });

  it.each([
    /^(a)\1.*.*.*$/,
    /(?<=a)b.*.*.*/,
    /a\b.*.*.*/,
    /a.*.*.*/i,
    /^(?<n>a)\k<n>.*.*.*$/,
    /\p{L}.*.*.*/u,
    /^(?=a).*.*.*$/,
    /^(?:ab)*.*.*.*$/,
    /^a.*b$/,
    Object.freeze(/^.*a.*b.*$/),
  ])("leaves %s as it is", (pattern) => {
    expect(linear(pattern)).toBe(pattern);
    expect(Object.hasOwn(pattern, "test")).toBe(false);
  });
});
