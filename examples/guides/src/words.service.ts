import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

// #region schema
export const Words = service("words.v1.Words", {
  /** Completes what is typed, while it is typed. */
  complete: rpc({ input: stream(z.string().max(100)), output: stream(z.array(z.string())) }),
});
// #endregion schema
