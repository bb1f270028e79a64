// The entry of development builds: as `index.ts`, with options checked by name. Bundlers find it by the condition "development".
import { checked } from "@quicrpc/core/internal";
import * as plain from "./index.js";

// Declarations below replace those of the same name.
export * from "./index.js";

export const createQueries: typeof plain.createQueries = checked("createQueries()", plain.createQueries, 2, {
  scope: true,
});
