import { defineConfig } from "vitest/config";

/** What has no meaning without the native engine: `scripts/test.mjs` sets this where there is no cargo to build it. */
const withoutEngine =
  process.env["QUICRPC_NO_ENGINE"] === undefined
    ? []
    : [
        "packages/quic/**",
        "test/node.test.ts",
        "test/early-data.test.ts",
        "test/adopted-stream.test.ts",
        "test/example.test.ts",
        "test/pack.test.ts",
        "test/stream-sessions.test.ts",
        "test/browser/**",
      ];

export default defineConfig({
  test: {
    include: ["{packages,examples}/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", ...withoutEngine],
    globalSetup: withoutEngine.length === 0 ? ["test/browser/packaged-chromium.ts"] : [],
    pool: "forks",
    reporters: ["default"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 5_000,
  },
});
