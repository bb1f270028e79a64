// Entry of development builds: same as `index.ts`, but checks option names. Bundlers select it by the condition
// "development".
import { withOptionCheck } from "@quicrpc/core/internal";
import * as plain from "./index.js";

// Declarations below replace those of the same name.
export * from "./index.js";

export const createQueries: typeof plain.createQueries = withOptionCheck("createQueries()", plain.createQueries, 2, {
  scope: true,
});
