import type { SourceNode } from "../source/compiler.js";
import type { Annotations } from "../source/annotate.js";
import type { SchemaRoot } from "../source/schema-root.js";
import { isBlob } from "../blobs.js";
import { asynchronous, notASchema, type Unsupported, unsupported } from "./support.js";
import {
  type AnySchema,
  canonical,
  childrenOf,
  defOf,
  type Direction,
  isZodSchema,
  lazyTarget,
  metaOf,
  typeNameOf,
} from "./zod.js";

/** Where a walk of schemas starts: a payload of a method, or an export. */
export interface GraphRoot {
  readonly schema: unknown;
  /** The first part of a name that is made from the path, as in `ArithMultiplyInput`. */
  readonly label: readonly string[];
  /** `input`, `output`: what a field path starts with. */
  readonly path: string;
  /** A type expression for the schema: an export, and what to add to its type. */
  readonly root: SchemaRoot;
  readonly access: string;
  /** The place that diagnostics point at when the source of a part is not known. */
  readonly node: SourceNode | undefined;
}

/** Facts about one schema of a file. */
export interface GraphEntry {
  readonly schema: AnySchema;
  /** The schema as it was first met: `schema` itself or a described copy. */
  readonly met: AnySchema;
  readonly label: readonly string[];
  readonly isRoot: boolean;
  uses: number;
  recursive: boolean;
}

/** Called for what cannot be sent. */
export type ReportUnsupported = (problem: Unsupported, path: string, node: SourceNode | undefined) => void;

/** The schemas that the methods of a file reach, in the order they are met. */
export class SchemaGraph {
  readonly entries: Map<AnySchema, GraphEntry> = new Map();
  readonly #expressions = new Map<AnySchema, { root: SchemaRoot; access: string }>();
  readonly #open = new Set<AnySchema>();
  readonly #exported: ReadonlyMap<unknown, SchemaRoot>;

  /** `exported` has the exports of the schema module that are schemas, which make for shorter type expressions. */
  constructor(exported: ReadonlyMap<unknown, SchemaRoot> = new Map()) {
    this.#exported = exported;
  }

  /** Adds what `root` reaches; what cannot be sent goes to `report`. */
  add(root: GraphRoot, annotations: Annotations, report: ReportUnsupported): void {
    this.#visit(root.schema, { ...root, isRoot: true }, annotations, report);
  }

  /** How to reach `schema` in a type expression. */
  expression(schema: AnySchema): { readonly root: SchemaRoot; readonly access: string } {
    const found = this.#expressions.get(schema);
    if (found === undefined) throw new Error("A schema was printed that no method reaches.");
    return found;
  }

  #visit(
    value: unknown,
    at: Omit<GraphRoot, "schema"> & { readonly isRoot: boolean },
    annotations: Annotations,
    report: ReportUnsupported,
  ): void {
    const node = annotations.nodes.get(value) ?? at.node;
    if (!isZodSchema(value)) return report(notASchema(value, at.isRoot), at.path, node);
    const target = defOf(value).type === "lazy" ? lazyTarget(value) : value;
    const waits = isZodSchema(target) ? asynchronous(target) : undefined;
    if (waits !== undefined) return report(waits, at.path, node);
    const schema = canonical(value);
    const constant = this.#exported.get(value);
    const { root, access } = constant === undefined ? at : { root: constant, access: "" };
    for (const each of [value, schema]) {
      if (!this.#expressions.has(each)) this.#expressions.set(each, { root, access });
    }
    const known = this.entries.get(schema);
    if (known !== undefined) {
      known.uses++;
      if (this.#open.has(schema)) known.recursive = true;
      return;
    }
    // Its types are those of core.
    if (isBlob(schema)) return;
    const problem = unsupported(schema);
    if (problem !== undefined) return report(problem, at.path, node);
    this.entries.set(schema, { schema, met: value, label: at.label, isRoot: at.isRoot, uses: 1, recursive: false });
    this.#open.add(schema);
    // What is inside a schema with a name is called after it, wherever it is met first.
    const given = typeNameOf(metaOf(value).id ?? constant?.name ?? annotations.constants.get(value));
    const base = given === undefined ? at.label : [given];
    for (const child of childrenOf(schema)) {
      if (defOf(schema).type === "pipe" && isTransform(child.schema)) continue;
      const { segment, accessor, label } = child;
      this.#visit(
        child.schema,
        {
          isRoot: false,
          path: segment === undefined ? at.path : `${at.path}${/^[[{]/.test(segment) ? "" : "."}${segment}`,
          root,
          access: `${access}${accessor}`,
          label: label === undefined ? base : "one" in label ? [...base, ONE] : [...base, label.add],
          node,
        },
        annotations,
        report,
      );
    }
    this.#open.delete(schema);
  }
}

/** In a label: one of what the label so far names. */
export const ONE = "[]";

/** The named parts that a type of `schema` has in `direction`, with `isNamed` telling which are. */
export function reachable(
  schema: unknown,
  direction: Direction,
  isNamed: (schema: AnySchema) => boolean,
  into: Set<AnySchema> = new Set(),
  seen: Set<AnySchema> = new Set(),
): Set<AnySchema> {
  if (!isZodSchema(schema)) return into;
  for (const child of childrenOf(canonical(schema))) {
    if (!child.directions.includes(direction) || !isZodSchema(child.schema)) continue;
    const target = canonical(child.schema);
    if (seen.has(target)) continue;
    seen.add(target);
    if (isNamed(target)) into.add(target);
    else reachable(target, direction, isNamed, into, seen);
  }
  return into;
}

function isTransform(schema: unknown): boolean {
  return isZodSchema(schema) && defOf(schema).type === "transform";
}
