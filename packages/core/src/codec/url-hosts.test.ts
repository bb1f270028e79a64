import { describe, expect, it } from "vitest";
import { hasLongHost } from "./costly-texts.js";

const LONG = "漢".repeat(301);

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
