import { defineConfig } from "quicrpc";

/** A service of one unary method, for the smallest page that calls it in a session. */
export default defineConfig({
  include: "http/greeter.service.ts",
  out: "generated/unary",
  target: "client",
  explain: false,
  lock: false,
});
