import { availableParallelism } from "node:os";
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

/** Tests with processes of their own that take a whole machine: they run one file after the other, when all others have. */
const alone = ["test/{adversary,browser,chaos}/**/*.test.ts", "packages/quic/test/browser.test.ts"];

export default defineConfig({
  test: {
    globalSetup: withoutEngine.length === 0 ? ["test/browser/packaged-chromium.ts"] : [],
    reporters: ["default"],
    teardownTimeout: 5_000,
    // Most of a test's time is spent waiting: two at a time fit on two cores.
    pool: "forks",
    testTimeout: 20_000,
    hookTimeout: 20_000,
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: ["{packages,examples}/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...withoutEngine, ...alone],
          maxWorkers: Math.max(2, availableParallelism() - 1),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: alone,
          exclude: ["**/node_modules/**", ...withoutEngine],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
