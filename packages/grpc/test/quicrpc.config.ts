import { defineConfig } from "quicrpc";

export default defineConfig({ include: "*.service.ts", proto: "proto" });
