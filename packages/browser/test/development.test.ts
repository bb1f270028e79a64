import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { connect, connectWebTransport, dial } from "../dist/development.js";
import * as development from "../dist/development.js";
import * as plain from "../dist/index.js";

describe("the entry of development builds", () => {
  it("exports what the other does", () => {
    expect(Object.keys(development).toSorted()).toEqual(Object.keys(plain).toSorted());
  });

  const functions = { connect, connectWebTransport, dial };
  it.each([
    ["connect", { token: "x" }, "connect() has no option token: did you mean credentials?"],
    ["connect", { fallback: { after: 1 } }, "connect() has no option fallback.after: did you mean fallback.afterMs?"],
    ["connect", { fallback: { retry: { first: 1 } } }, "connect() has no option fallback.retry.first"],
    ["connect", { limits: { maxCall: 1 } }, "connect() has no option limits.maxCall: did you mean limits.maxCalls?"],
    ["dial", { reconnect: false }, "dial() has no option reconnect"],
    ["dial", { router: [] }, "dial() has no option router: did you mean routers?"],
    ["connectWebTransport", { routers: [] }, "connectWebTransport() has no option routers"],
    ["connectWebTransport", { timeout: 1 }, "connectWebTransport() has no option timeout: did you mean timeoutMs?"],
  ] as const)("%s(%j)", async (name, options, message) => {
    await expect(functions[name]("https://server.example", options as object)).rejects.toThrow(new TypeError(message));
  });

  it.each([
    [["development"], true],
    [[], false],
  ])("is what bundlers find by the conditions %j: %s", async (conditions, checked) => {
    const { metafile } = await build({
      stdin: {
        contents: 'export * from "@quicrpc/browser"',
        resolveDir: fileURLToPath(new URL("..", import.meta.url)),
      },
      bundle: true,
      write: false,
      metafile: true,
      format: "esm",
      splitting: true,
      outdir: "out",
      conditions,
    });
    const used = Object.values(metafile.outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    );
    expect(used.some((path) => path.endsWith("core/dist/check-options.js"))).toBe(checked);
  });
});
