import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** `scripts/test.mjs` says so where the QUIC engine is missing and cannot be built. */
const withoutEngine = process.env["QUICRPC_NO_ENGINE"] !== undefined;

/** Tests with processes of their own that take a whole machine: they run one file after the other, when all others have. */
const alone = ["test/{adversary,browser,chaos}/**/*.test.ts", "packages/quic/test/browser.test.ts"];

/** Topics of behaviours that sessions by `createStreamSession` show too: test/behaviour/stream-sessions.ts says what they cannot. */
const ofStreamSessions =
  "{admission,basic,bytes,cancellation,datagrams,deadlines,drain,errors,extremes,foreign-streams,interceptors,kill,leaks," +
  "limits,long-streams,metadata,schemas,sessions,slow-reader,stream-limit,typed-errors,unserved}";

/** Most of a test's time is spent waiting: two at a time fit on two cores. */
const maxWorkers = Math.max(2, availableParallelism() - 1);

export default defineConfig({
  test: {
    globalSetup: ["test/browser/packaged-chromium.ts"],
    reporters: ["default"],
    teardownTimeout: 5_000,
    pool: "forks",
    ...(withoutEngine && { runner: "./test/engine-runner.ts" }),
    testTimeout: 20_000,
    hookTimeout: 20_000,
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: ["{packages,examples}/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...alone],
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "stream sessions",
          include: [`test/behaviour/${ofStreamSessions}.test.ts`],
          env: { QUICRPC_STREAM_SESSIONS: "1" },
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: alone,
          exclude: ["**/node_modules/**"],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
