import { createRequire } from "node:module";
import type { ts as compiler } from "ts-morph";

/** The compiler that ts-morph brings. By require: to import it, Node would first look through all of its text for names. */
export const ts: typeof compiler = (createRequire(import.meta.url)("ts-morph") as { readonly ts: typeof compiler }).ts;

/** A piece of a parsed module. */
export type SourceNode = compiler.Node;
/** An expression of a parsed module. */
export type Expression = compiler.Expression;
/** A parsed module. */
export type SourceFile = compiler.SourceFile;
