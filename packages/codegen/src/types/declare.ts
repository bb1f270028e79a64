import type { Annotations } from "../source/annotate.js";
import type { SchemaRoot } from "../source/schema-root.js";
import { type ConversionContext, definitionOf, typeOf } from "./convert.js";
import { canonicalNode, ownStructure, reaching, type SchemaNode } from "../schema/node.js";
import { nodeOf } from "../schema/read.js";
import { constraintTags } from "./constraints.js";
import { reachable } from "./graph.js";
import { documentation } from "./naming.js";
import { type Declaration, type NamedType, plainNames, referenceName, type TypeNode } from "./node.js";
import { type AnySchema, canonical, type Direction, isZodSchema } from "./zod.js";

/**
 * Returns a path to a schema for a type expression: an export, and the property accesses that lead from it to the
 * schema.
 */
export type ExpressionOf = (schema: AnySchema) => { readonly root: SchemaRoot; readonly access: string };

/** The named types of a generated file, and those of the shared module that it uses. */
export class TypeTable {
  readonly #named: ReadonlyMap<AnySchema, NamedType>;
  readonly #shared: TypeTable | undefined;
  readonly #context: ConversionContext;
  readonly #declarations = new Map<string, Declaration>();
  readonly #passedOn = new Set<string>();
  readonly #fieldDocs: Annotations["fieldDocs"];

  constructor(
    named: ReadonlyMap<AnySchema, NamedType>,
    expression: ExpressionOf,
    annotations: Annotations,
    shared?: TypeTable,
  ) {
    this.#named = named;
    this.#shared = shared;
    this.#fieldDocs = annotations.fieldDocs;
    this.#context = {
      known: { input: new Map(), output: new Map() },
      named: (node) => this.namedNode(node),
      expression,
      fieldDocs: (object, field, schema, direction) => {
        const text = this.docsOfField(object, field, schema);
        const tags = constraintTags(schema, direction).join("\n");
        if (tags === "") return text;
        return text === undefined ? tags : `${text}\n\n${tags}`;
      },
      brands: (parent, slot) => annotations.brands.get(canonicalNode(parent).schema)?.get(slot) ?? [],
      isBranded: (parent) => annotations.brands.has(canonicalNode(parent).schema),
    };
    this.#markDiffering();
  }

  get declarations(): readonly Declaration[] {
    return [...this.#declarations.values()];
  }

  /** Names of the used types of the shared module, in order. */
  get passedOn(): readonly string[] {
    return [...this.#passedOn];
  }

  /** Returns the named type of a canonical schema; undefined if its type is written out at each use. */
  named(schema: AnySchema): NamedType | undefined {
    return this.#named.get(schema) ?? this.#shared?.named(schema);
  }

  namedNode(node: SchemaNode): NamedType | undefined {
    return this.named(canonicalNode(node).schema);
  }

  readonly nameOf = (schema: AnySchema, direction: Direction): string | undefined => {
    const target = this.named(schema);
    return target === undefined ? undefined : referenceName(target, direction);
  };

  typeOf(node: SchemaNode, direction: Direction): TypeNode {
    return typeOf(node, direction, this.#context);
  }

  docsOfField(object: SchemaNode, field: string, node: SchemaNode): string | undefined {
    return this.#docs(node) ?? this.#fieldDocs.get(object.schema)?.get(field);
  }

  readonly hasBrands: (node: SchemaNode) => boolean = reaching((node) => this.#context.isBranded(node));

  declare(payload: unknown): void {
    if (!isZodSchema(payload)) return;
    const schema = canonical(payload);
    for (const direction of ["input", "output"] as const) {
      if (this.named(schema) !== undefined) this.#declare(schema, direction);
      else for (const part of this.#parts(schema, direction)) this.#declare(part, direction);
    }
  }

  #declare(schema: AnySchema, direction: Direction): void {
    const name = this.nameOf(schema, direction);
    if (name === undefined || this.#declarations.has(name) || this.#passedOn.has(name)) return;
    if (this.#named.has(schema)) {
      const docs = this.#named.get(schema)?.docs;
      const { root, access } = this.#context.expression(schema);
      const held = access === "" ? root : undefined;
      this.#declarations.set(name, { name, docs, root: held, type: this.#definitionOf(schema, direction) });
    } else {
      this.#passedOn.add(name);
      if (this.#shared !== undefined) this.#shared.#declare(schema, direction);
    }
    for (const part of this.#parts(schema, direction)) this.#declare(part, direction);
  }

  #definitionOf(schema: AnySchema, direction: Direction): TypeNode {
    return definitionOf(nodeOf(schema), direction, this.#context);
  }

  #parts(schema: AnySchema, direction: Direction): AnySchema[] {
    const parts = reachable(nodeOf(schema), direction, (each) => this.named(each.schema) !== undefined);
    return Array.from(parts, (each) => each.schema);
  }

  /**
   * Returns the description of a field, or of the schema inside its wrappers (`optional`, `nullable` and so on).
   * Returns undefined if the field's type has the same description.
   */
  #docs(node: SchemaNode): string | undefined {
    const own = documentation(node.meta);
    if (own !== undefined && own !== this.namedNode(node)?.docs) return own;
    const structure = ownStructure(node);
    return "inner" in structure && structure.kind !== "refined" ? this.#docs(structure.inner) : undefined;
  }

  /**
   * Marks the named types whose input and output types differ, either themselves or because of types that they refer
   * to.
   */
  #markDiffering(): void {
    const differing = new Set<NamedType>();
    for (const [schema, target] of this.#named) {
      // No named type is marked yet, so references to named types are equal in both directions.
      const [input, output] = (["input", "output"] as const).map((each) =>
        this.#definitionOf(schema, each).print(plainNames),
      );
      if (input !== output) differing.add(target);
    }
    for (const target of differing) target.differs = true;
    for (let changed = true; changed; ) {
      changed = false;
      for (const [schema, target] of this.#named) {
        if (target.differs) continue;
        const parts = [...this.#parts(schema, "input"), ...this.#parts(schema, "output")];
        if (parts.some((part) => this.named(part)?.differs)) changed = target.differs = true;
      }
    }
  }
}
