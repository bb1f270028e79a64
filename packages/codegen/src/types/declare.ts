import type { Annotations } from "../source/annotate.js";
import type { NameScope } from "../names.js";
import { typeText } from "../print/type-text.js";
import { type ConversionContext, definitionOf, typeOf } from "./convert.js";
import { reachable, type SchemaGraph } from "./graph.js";
import { documentation, nameTypes } from "./naming.js";
import { type Declaration, type NamedType, referenceName, type TypeNode } from "./node.js";
import { type AnySchema, canonical, type Direction, isZodSchema } from "./zod.js";

/** The types of one file: the declarations that its payloads need, and the type of each payload. */
export interface FileTypes {
  readonly declarations: readonly Declaration[];
  typeOf(schema: unknown, direction: Direction): TypeNode;
  /** The name of the type that stands for `schema`, a canonical one; undefined where it is written out. */
  readonly nameOf: (schema: AnySchema, direction: Direction) => string | undefined;
}

/** Names and writes the types of all that `payloads` reach. */
export function declareTypes(
  graph: SchemaGraph,
  payloads: readonly unknown[],
  exported: ReadonlyMap<unknown, string>,
  annotations: Annotations,
  scope: NameScope,
): FileTypes {
  const named = nameTypes(
    graph,
    new Map([...exported, ...annotations.constants, ...exported]),
    annotations.constantDocs,
    scope,
  );
  const context: ConversionContext = {
    named: (schema) => named.get(schema),
    expression: (schema) => graph.expression(schema),
    fieldDocs: (object, field, schema) => {
      const own = documentation(schema);
      const target = named.get(canonical(schema));
      const described = own !== undefined && own !== target?.docs ? own : innerDocs(schema);
      return described ?? annotations.fieldDocs.get(object)?.get(field);
    },
  };
  markDiffering(named, context);

  const isNamed = (schema: AnySchema): boolean => named.has(schema);
  const declarations = new Map<string, Declaration>();
  const declare = (schema: AnySchema, direction: Direction): void => {
    const target = named.get(schema);
    if (target === undefined) return;
    const name = referenceName(target, direction);
    if (declarations.has(name)) return;
    declarations.set(name, { name, docs: target.docs, type: definitionOf(schema, direction, context) });
    for (const part of reachable(schema, direction, isNamed)) declare(part, direction);
  };
  for (const payload of payloads) {
    if (!isZodSchema(payload)) continue;
    for (const direction of ["input", "output"] as const) {
      declare(canonical(payload), direction);
      if (!isNamed(canonical(payload)))
        for (const part of reachable(payload, direction, isNamed)) declare(part, direction);
    }
  }
  return {
    declarations: [...declarations.values()],
    typeOf: (schema, direction) => typeOf(schema, direction, context),
    nameOf: (schema, direction) => {
      const target = named.get(schema);
      return target === undefined ? undefined : referenceName(target, direction);
    },
  };

  /** The description under `optional`, `nullable` and the like. */
  function innerDocs(schema: AnySchema): string | undefined {
    const def = schema._zod.def as { readonly innerType?: unknown };
    if (!isZodSchema(def.innerType)) return undefined;
    const target = named.get(canonical(def.innerType));
    const own = documentation(def.innerType);
    return own !== undefined && own !== target?.docs ? own : innerDocs(def.innerType);
  }
}

/** Finds the types whose two directions differ: by themselves, then by what they refer to. */
function markDiffering(named: ReadonlyMap<AnySchema, NamedType>, context: ConversionContext): void {
  const isNamed = (schema: AnySchema): boolean => named.has(schema);
  const differing = new Set<NamedType>();
  for (const [schema, target] of named) {
    // No type is marked while these are compared by themselves, so references read the same in both directions.
    const [input, output] = (["input", "output"] as const).map((each) => typeText(definitionOf(schema, each, context)));
    if (input !== output) differing.add(target);
  }
  for (const target of differing) target.differs = true;
  for (let changed = true; changed; ) {
    changed = false;
    for (const [schema, target] of named) {
      if (target.differs) continue;
      const parts = [...reachable(schema, "input", isNamed), ...reachable(schema, "output", isNamed)];
      if (parts.some((part) => named.get(part)?.differs)) changed = target.differs = true;
    }
  }
}
