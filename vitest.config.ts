import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** `scripts/test.mjs` says so where the QUIC engine is missing and cannot be built. */
const withoutEngine = process.env["QUICRPC_NO_ENGINE"] !== undefined;
/** `npm test -- --quick` leaves out what takes long. */
const quick = process.env["QUICRPC_QUICK"] !== undefined;

/** Tests with processes that take a whole machine, or that have to be quick: they run one file after the other, when all others have. */
const alone = [
  "test/{adversary,chaos}/**/*.test.ts",
  "test/browser/{behaviour,cluster,dev,fallback,firefox,firefox-behaviour,lifecycle,memory,studio,trusted,whiteboard}.test.ts",
  "packages/node/test/{restart,rolling-restarts}.test.ts",
];

/** Other tests in a browser, of which none depends on how quick it is: two run at once. */
const browsers = ["test/browser/**/*.test.ts", "packages/quic/test/browser.test.ts"];

/** Tests that take several seconds. */
const slow = [
  "test/behaviour/{extremes,kill,leaks,long-streams}.test.ts",
  "test/{repository/pack,repository/pages,repository/templates,serving/connection-limiter,serving/pages}.test.ts",
  "test/fuzz/**/*.test.ts",
  "packages/cli/test/**/*.test.ts",
  "packages/codegen/test/{compilers,formatted,names}.test.ts",
  "packages/codegen/test/codec/**/*.test.ts",
  "packages/node/test/early-data.test.ts",
  "packages/quic/test/{cluster,process,runtimes,tls,windows}.test.ts",
];

/** Topics of behaviours that sessions by `createStreamSession` show too: test/behaviour/stream-sessions.ts says what they cannot. */
const ofStreamSessions =
  "{admission,basic,batch,blobs,bytes,cancellation,datagrams,deadlines,drain,errors,extremes,foreign-streams,interceptors,kill,leaks," +
  "limits,long-streams,metadata,schemas,sessions,slow-reader,stream-limit,typed-errors,unserved}";

/** Topics of behaviours that calls over HTTP show too: test/behaviour/http-kinds.ts says what they cannot. */
const ofHttp =
  "{admission,basic,batch,blobs,budget,bytes,cancellation,cursors,cursor-steps,deadlines,drain,errors,extremes,interceptors,limits,long-streams," +
  "metadata,nested-calls,once,outliving,sessions,sizes,slow-reader,topics,typed-errors,unserved}";

const nowhere = ["**/node_modules/**"];
/** Most of a test's time is spent waiting: three at a time fit on two cores. */
const maxWorkers = Math.max(3, availableParallelism() - 1);

export default defineConfig({
  test: {
    globalSetup: ["scripts/bundles.mjs", "test/browser/packaged-chromium.ts"],
    reporters: ["default"],
    teardownTimeout: 5_000,
    pool: "forks",
    ...(withoutEngine && { runner: "./test/engine-runner.ts" }),
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // What is waited for comes at some time: a busy machine makes no test fail.
    expect: { poll: { timeout: 15_000 } },
    maxWorkers,
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: ["{packages,examples}/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...nowhere, ...alone, ...browsers, ...(quick ? slow : [])],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "stream sessions",
          include: quick ? [] : [`test/behaviour/${ofStreamSessions}.test.ts`],
          env: { QUICRPC_CALLERS: "streams" },
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "http",
          include: quick ? [] : [`test/behaviour/${ofHttp}.test.ts`],
          env: { QUICRPC_CALLERS: "http" },
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "browsers",
          include: quick ? [] : browsers,
          exclude: [...nowhere, ...alone],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: quick ? [] : alone,
          exclude: nowhere,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
