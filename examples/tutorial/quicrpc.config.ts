import { defineConfig } from "quicrpc";

export default defineConfig({ include: "src/**/*.service.ts" });
