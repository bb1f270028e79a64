// Loaded by `node --require` in each worker, before Node runs anything of a program: Node says to the primary that the worker is there before
// the program's first line, and where the primary was killed meanwhile that is an error which no program could handle. A worker whose primary is gone ends.
import type { Cluster } from "node:cluster";

const { worker } = process.getBuiltinModule("node:cluster") as unknown as Cluster;
worker?.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});
