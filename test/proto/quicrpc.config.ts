import { defineConfig } from "quicrpc";

export default defineConfig({ include: "drawings.service.ts", proto: "proto" });
