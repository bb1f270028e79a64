import { defineConfig } from "quicrpc";

export default defineConfig({ include: "feed.service.ts", out: "generated" });
