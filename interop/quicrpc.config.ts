import { defineConfig } from "quicrpc";

export default defineConfig({ include: "src/protocol/*.service.ts" });
