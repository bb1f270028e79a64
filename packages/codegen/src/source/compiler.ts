import { createRequire } from "node:module";
import type { ts as compiler } from "ts-morph";

// `require` loads ts-morph in 250 ms. `import` takes 100 ms longer, because Node searches its text for names of
// exports.
const require = createRequire(import.meta.url);

/** The TypeScript compiler that ts-morph exports. */
export const ts: typeof compiler = (require("ts-morph") as { readonly ts: typeof compiler }).ts;

export type SourceNode = compiler.Node;
export type Expression = compiler.Expression;
export type SourceFile = compiler.SourceFile;
