import { defineConfig } from "quicrpc";

/** A service of one unary method, for a page that calls it over HTTP alone. */
export default defineConfig({
  include: "http/greeter.service.ts",
  out: "generated/http",
  target: "http-client",
  explain: false,
  lock: false,
});
