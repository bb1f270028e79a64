import { defineConfig } from "quicrpc";

export default defineConfig({ include: "conformance.service.ts", out: "generated" });
