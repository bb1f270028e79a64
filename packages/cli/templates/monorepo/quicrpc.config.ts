import { defineConfig } from "quicrpc";

export default defineConfig({ include: "packages/api/src/*.service.ts" });
