import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    reporters: ["default"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 5_000,
  },
});
