import { createRequire } from "node:module";
import type { ts as compiler } from "ts-morph";

// By require: to import it, Node would first look through all of its text for names.
const require = createRequire(import.meta.url);
const inMorph = createRequire(require.resolve("ts-morph"));

/** The compiler that ts-morph brings, without what ts-morph itself is. */
export const ts: typeof compiler = (inMorph("@ts-morph/common") as { readonly ts: typeof compiler }).ts;

/** A piece of a parsed module. */
export type SourceNode = compiler.Node;
/** An expression of a parsed module. */
export type Expression = compiler.Expression;
/** A parsed module. */
export type SourceFile = compiler.SourceFile;
