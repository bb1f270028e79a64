import { defineConfig } from "quicrpc";

export default defineConfig({
  include: "shop.service.ts",
  out: "generated",
  openapi: "generated/openapi.json",
  lock: false,
});
