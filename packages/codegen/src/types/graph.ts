import { confusedViews } from "@quicrpc/http/openapi";
import type { SourceNode } from "../source/compiler.js";
import type { Annotations } from "../source/annotate.js";
import type { SchemaRoot } from "../source/schema-root.js";
import { isBlob } from "../blobs.js";
import { describeStructure } from "../codec/parts.js";
import { asynchronous, confusedBytes, notASchema, type Unsupported, unsupported } from "./support.js";
import { canonicalNode, ownStructure, type Place, placesOf, type SchemaNode, type SchemaPath } from "../schema/node.js";
import { SchemaReader } from "../schema/read.js";
import { labelOf } from "./naming.js";
import {
  type AnySchema,
  canonical,
  defOf,
  type Direction,
  isZodSchema,
  lazyTarget,
  metaOf,
  typeNameOf,
} from "./zod.js";

/** A schema at which the visit of a graph starts: a message of a method, or an export. */
export interface GraphRoot {
  readonly schema: unknown;
  /** Words for the beginning of names that are made from a schema's position, such as `ArithMultiplyInput`. */
  readonly label: readonly string[];
  /** First part of the paths of fields: `input` or `output`. */
  readonly path: string;
  readonly found: SchemaPath;
  /** Syntax node for diagnostics about nested schemas whose source is unknown. */
  readonly node: SourceNode | undefined;
}

export interface GraphEntry {
  readonly schema: AnySchema;
  /** The schema object at its first use: `schema` itself, or a copy with a description. */
  readonly met: AnySchema;
  readonly label: readonly string[];
  readonly isRoot: boolean;
  uses: number;
  recursive: boolean;
}

export type ReportUnsupported = (problem: Unsupported, path: string, node: SourceNode | undefined) => void;

/** All schemas that the methods of a file use, in the order of their first use. */
export class SchemaGraph {
  readonly entries: Map<AnySchema, GraphEntry> = new Map();
  readonly #expressions = new Map<AnySchema, { root: SchemaRoot; access: string }>();
  readonly #open = new Set<AnySchema>();
  readonly #exported: ReadonlyMap<unknown, SchemaRoot>;
  readonly #reader: SchemaReader;

  /** @param exported schemas that the module exports, for which type expressions can be shorter */
  constructor(exported: ReadonlyMap<unknown, SchemaRoot> = new Map()) {
    this.#exported = exported;
    this.#reader = new SchemaReader(exported, "described");
  }

  /** Adds the schema at `root` and all schemas nested in it. Reports those that cannot be sent. */
  add(root: GraphRoot, annotations: Annotations, report: ReportUnsupported): void {
    this.#visit(root.schema, { ...root, isRoot: true }, annotations, report);
  }

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
    const found = constant === undefined ? at.found : { root: constant, keys: [] };
    const expression = { root: found.root, access: found.keys.map((key) => `[${JSON.stringify(key)}]`).join("") };
    for (const each of [value, schema]) {
      if (!this.#expressions.has(each)) this.#expressions.set(each, expression);
    }
    const known = this.entries.get(schema);
    if (known !== undefined) {
      known.uses++;
      if (this.#open.has(schema)) known.recursive = true;
      return;
    }
    // The types of blobs are declared in core.
    if (isBlob(schema)) return;
    const problem = unsupported(schema);
    if (problem !== undefined) return report(problem, at.path, node);
    this.entries.set(schema, { schema, met: value, label: at.label, isRoot: at.isRoot, uses: 1, recursive: false });
    this.#open.add(schema);
    // Names of schemas nested in a named schema begin with its name, wherever they are used first.
    const given = typeNameOf(metaOf(value).id ?? constant?.name ?? annotations.constants.get(value));
    const base = given === undefined ? at.label : [given];
    const structure = ownStructure(this.#reader.node(schema, found));
    const views = structure.kind === "union" ? confusedViews(structure.options, describeStructure) : undefined;
    if (views !== undefined) report(confusedBytes(views), at.path, node);
    for (const place of placesOf(structure)) {
      const { part } = place;
      if (structure.kind === "pipe" && part.type === "transform") continue;
      const segment = segmentOf(place, structure);
      const label = tagOf(place, structure) ?? labelOf(place, structure);
      this.#visit(
        part.schema,
        {
          isRoot: false,
          path: `${at.path}${/^(?:[[{]|$)/.test(segment) ? "" : "."}${segment}`,
          found: part.at ?? found,
          label: [...base, ...label],
          node,
        },
        annotations,
        report,
      );
    }
    this.#open.delete(schema);
  }
}

/** Returns the text that a position adds to the path of a field, such as ".name" or "[]"; empty if it adds none. */
function segmentOf({ slot, at }: Place, { kind }: SchemaNode): string {
  if (slot === "fields") return String(at);
  if (slot === "items") return `[${at}]`;
  if (slot === "rest") return "[]";
  if (slot === "key") return "{key}";
  if (slot === "element") return kind === "array" || kind === "set" ? "[]" : "{}";
  return slot === "others" ? "{}" : "";
}

/** Returns the discriminator value of an option of a union, by which the option is named; undefined if it has none. */
function tagOf({ part }: Place, node: SchemaNode): string[] | undefined {
  const option = ownStructure(part);
  const key = discriminatorOf(node);
  if (key === undefined || option.kind !== "object") return undefined;
  const field = option.fields[key];
  const tag = field && ownStructure(field);
  const value = tag?.kind === "literal" ? tag.values[0] : undefined;
  return typeof value === "string" ? [value] : undefined;
}

/** Returns the name of the discriminator of a union, even if zod itself parses the union; undefined if it has none. */
function discriminatorOf(node: SchemaNode): string | undefined {
  if (node.kind === "discriminated") return node.key;
  return node.kind === "union" ? node.discriminator : undefined;
}

/**
 * Returns the named types that the type of `node` refers to, in `direction`.
 *
 * @param isNamed returns true for schemas whose types have names
 */
export function reachable(
  node: SchemaNode,
  direction: Direction,
  isNamed: (node: SchemaNode) => boolean,
  into: Set<SchemaNode> = new Set(),
  seen: Set<SchemaNode> = new Set(),
): Set<SchemaNode> {
  const structure = ownStructure(canonicalNode(node));
  // The sender's type is `unknown`, because only the receiver determines whether a value matches.
  if (structure.kind === "success" && direction === "output") return into;
  for (const { slot, part } of placesOf(structure)) {
    if (slot === (direction === "input" ? "to" : "from")) continue;
    const target = canonicalNode(part);
    if (seen.has(target)) continue;
    seen.add(target);
    if (isNamed(target)) into.add(target);
    else reachable(target, direction, isNamed, into, seen);
  }
  return into;
}
