import { notify, service } from "@quicrpc/core";
import { z } from "zod";

// #region schema
/** What clients serve: their server calls it. */
export const Screen = service("guides.v1.Screen", {
  /** Shows a text. */
  show: notify({ input: z.object({ text: z.string() }) }),
});
// #endregion schema
