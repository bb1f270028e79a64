import { describe, expect, it } from "vitest";
import { z } from "zod";
import { backtrackingOf } from "./backtracking.js";

type Part = Parameters<typeof z.templateLiteral>[0][number];

const text = z.string();
const patternOf = (...template: Part[]): RegExp => z.templateLiteral(template)._zod.pattern;

describe("a pattern that takes linear time has no longest text", () => {
  it.each<[string, RegExp]>([
    ["one text", patternOf("id-", text)],
    ["two texts", patternOf(text, "-", text)],
    ["three texts with the same separator", patternOf(text, "-", text, "-", text)],
    ["a text and a number", patternOf(text, "-", z.number())],
    ["two numbers", patternOf(z.number(), "x", z.int())],
    ["texts without the separator", patternOf(text.regex(/^[^/]*$/), "/", text.regex(/^[^/]*$/), "/", z.int())],
    ["two bounded texts", patternOf(text.max(1000), "-", text.max(1000), "!")],
    ["an optional text", patternOf(text.optional(), "-", text)],
    ["base64", patternOf("data:", text, ";base64,", z.base64())],
    ["an alternative", patternOf(z.enum(["a", "ab"]), "-", text)],
    ["an author's group", patternOf(text.regex(/^(?:a|b)+$/))],
    ...[z.email(), z.hostname(), z.ipv4(), z.ipv6(), z.cidrv6(), z.uuid(), z.mac(), z.base64url(), z.nanoid()].map(
      (part): [string, RegExp] => [part._zod.def.format, patternOf("a ", part, "!")],
    ),
    ["date and time", patternOf(z.iso.datetime({ offset: true, local: true }), "/", z.iso.duration())],
  ])("%s", (_name, pattern) => {
    expect(backtrackingOf(pattern)).toEqual({ longest: Infinity, attack: "" });
  });
});

describe("a pattern that takes more time has a longest text", () => {
  it.each<[string, RegExp, longest: number, attack: string]>([
    ["other separators", patternOf(text, "-", text, ":", text), 16_384, '"-".repeat(n)'],
    ["texts side by side", patternOf(text, text, "!"), 16_384, '"a".repeat(n)'],
    ["a start", patternOf("id", text, "/", text, "!"), 16_384, '"id" + "/".repeat(n)'],
    ["three texts", patternOf(text, "-", text, "-", text, "!"), 1024, '"-".repeat(n)'],
    ["separators in turn", patternOf(text, "-", text, ":", text, "!"), 1024, '"-".repeat(n) + ":".repeat(n)'],
    ["four texts", patternOf(text, "-", text, "-", text, "-", text, "!"), 256, '"-".repeat(n)'],
    ["numbers side by side", patternOf(z.number(), z.number(), "!"), 16_384, '"0".repeat(n)'],
    ["a text before a format", patternOf(text, z.email()), 16_384, '"a".repeat(n)'],
    ["a look ahead", patternOf(text, z.iso.duration()), 16_384, '"P".repeat(n)'],
    ["many bounded texts", patternOf(...Array.from({ length: 8 }, () => text.max(100)), "!"), 32, '"a".repeat(n)'],
    ["a bounded one between", patternOf(text, text.max(4), text, "!"), 8192, '"a".repeat(n)'],
    ["a repetition of repetitions", patternOf(text.regex(/^(a+)+$/)), 16, '"a".repeat(n)'],
    ["alternatives for the same text", patternOf(text.regex(/^(\w|\d)+$/)), 16, '"a".repeat(n)'],
    ["a reference", patternOf(text.regex(/^(a+)\1b$/)), 16_384, '"a".repeat(n)'],
    [
      "escaped characters",
      patternOf(text.regex(/^[\u0430-\u044f]*[\xe0-\u044f]*[\u0430-\u044f]*!$/)),
      1024,
      '"\u0430".repeat(n)',
    ],
    [
      "many optional characters",
      patternOf(text.regex(new RegExp(`^${"a?".repeat(30)}${"a".repeat(30)}$`))),
      16,
      '"a".repeat(n)',
    ],
    ["no beginning", patternOf(text.regex(/^a|b+b+c$/)), 1024, '"b".repeat(n)'],
  ])("%s", (_name, pattern, longest, attack) => {
    expect(backtrackingOf(pattern)).toEqual({ longest, attack });
  });
});
