import { createRequire } from "node:module";
import type * as morph from "ts-morph";

// By require: to import it, Node would first look through all of its text for names.
const loaded = createRequire(import.meta.url)("ts-morph") as typeof morph;

/** ts-morph, and the compiler that it brings. */
export const Node: typeof morph.Node = loaded.Node;
export type Node = morph.Node;
export const Project: typeof morph.Project = loaded.Project;
export const ts: typeof morph.ts = loaded.ts;
