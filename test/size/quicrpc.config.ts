import { defineConfig } from "quicrpc";

export default defineConfig({
  include: "../../examples/arith/src/arith.service.ts",
  out: "generated",
  target: "client",
  lock: "../../examples/arith/quicrpc.lock.json",
});
