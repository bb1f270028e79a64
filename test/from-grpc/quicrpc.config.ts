import { defineConfig } from "quicrpc";

export default defineConfig({ include: "stock.service.ts", proto: "proto" });
