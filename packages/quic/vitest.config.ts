import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Real sockets and a native module: processes keep a failure of one file from the others.
    pool: "forks",
    testTimeout: 20_000,
  },
});
