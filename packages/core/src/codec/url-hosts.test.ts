import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { zodCodec } from "../call/messages/codec.js";
import { pack } from "../msgpack/pack.js";
import { hasLongHost, parsesUrls } from "./url-hosts.js";
import { run, Mode } from "./shape.js";
import { string } from "./scalars.js";
import { external, refined } from "./zod-schema.js";

const LONG = "漢".repeat(301);
const issues = [expect.objectContaining({ code: "invalid_format", path: [] })];

describe("a host that is too long", () => {
  it.each([
    `http://${LONG}`,
    `HTTPS:${LONG}/path`,
    `wss:\\\\${LONG}`,
    `ws:////${LONG}?a`,
    ` \u0001\u00a0ftp://${LONG}`,
    `fi\tle:\n//${LONG}`,
    `http://user:p@ss@${LONG}:80`,
  ])("is one of %j", (text) => {
    expect(hasLongHost(text)).toBe(true);
  });

  it.each([
    `http://example.com/${LONG}`,
    `http://${LONG}@example.com`,
    `http://${LONG.slice(1)}`,
    `http://example.com?${LONG}`,
    `data:,${LONG}`,
    `see http://${LONG}`,
    LONG,
  ])("is none of %j", (text) => {
    expect(hasLongHost(text)).toBe(false);
  });
});

describe("a schema parses URLs", () => {
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
    expect(parsesUrls(schema)).toBe(expected);
  });
});

describe("the platform does not parse a long host", () => {
  const text = `http://${LONG}`;

  it.each([
    ["in a check", () => run(refined(string(), z.url()), text, Mode.Wire).issues],
    ["in a schema that zod runs", () => run(external(z.url()), text, Mode.Wire).issues],
    ["inside one", () => run(external(z.array(z.union([z.int(), z.url()]))), [text], Mode.Wire).issues],
    ["as a key", () => run(external(z.record(z.url(), z.int())), { [text]: 1 }, Mode.Given).issues],
    [
      "in zodCodec",
      () => {
        const bytes = pack({ at: text });
        try {
          return zodCodec(z.object({ at: z.url() })).decode(bytes, 0, bytes.length);
        } catch (error) {
          return (error as { readonly details: unknown }).details;
        }
      },
    ],
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
