import { SchemaReader } from "./schema/read.js";
import { CodecPlan, namesOf, type ShareCodec } from "./codec/plan.js";
import { generatedNames, NameScope } from "./names.js";
import { CORE_IMPORTS } from "./print/core-imports.js";
import type { Annotations } from "./source/annotate.js";
import type { Survey } from "./survey.js";
import { TypeTable } from "./types/declare.js";
import type { GraphEntry } from "./types/graph.js";
import { nameTypes } from "./types/naming.js";
import type { NamedType } from "./types/node.js";
import { type AnySchema, canonical } from "./types/zod.js";

/**
 * The module with types and codecs that several generated files of a package use. It is filled while these files are
 * built.
 */
export class SharedModule {
  readonly types: TypeTable;
  readonly codecs: CodecPlan;
  readonly #named: ReadonlyMap<AnySchema, NamedType>;
  readonly #nodes: SchemaReader;

  constructor(surveys: readonly Survey[], annotations: Annotations) {
    const scope = new NameScope();
    const prefixes = surveys.flatMap(({ services }) => services.map(({ prefix }) => prefix));
    scope.reserve("z", ...CORE_IMPORTS, ...prefixes.flatMap((prefix) => [prefix, ...generatedNames(prefix)]));
    const exported = new Map(surveys.flatMap((each) => [...each.exported]).reverse());
    const constants = namesOfConstants(exported, annotations);
    this.#named = nameTypes(sharedEntries(surveys), constants, annotations.constantDocs, scope, true);
    const graphs = surveys.map(({ graph }) => graph);
    this.types = new TypeTable(
      this.#named,
      (schema) => {
        const graph = graphs.find(({ entries }) => entries.has(canonical(schema)));
        if (graph === undefined) throw new Error("A shared schema was printed that no method reaches.");
        return graph.expression(schema);
      },
      annotations,
    );
    this.#nodes = new SchemaReader(exported);
    this.codecs = new CodecPlan(scope, this.types);
  }

  /** Returns the names of shared declarations that a file must not declare itself. */
  namesIn({ graph }: Survey): string[] {
    return [...graph.entries.keys()].flatMap((schema) => {
      const name = this.#named.get(schema)?.name;
      return name === undefined ? [] : [name, `${name}Parsed`, ...Object.values(namesOf({ name }))];
    });
  }

  readonly shareCodec: ShareCodec = (node, label, use) => {
    if (!this.#named.has(canonical(node.schema))) return undefined;
    const shared = this.#nodes.node(node.schema, node.at);
    // A schema with refinements has a node of its own in each file, around the shared node.
    return shared.kind === node.kind ? this.codecs.share(shared, label, use) : undefined;
  };
}

/** Returns the names of constants that contain schemas. For an exported constant, it is the name of the export. */
export function namesOfConstants(
  exported: ReadonlyMap<unknown, { readonly name: string }>,
  annotations: Annotations,
): ReadonlyMap<unknown, string> {
  const names = [...exported].map(([schema, { name }]): [unknown, string] => [schema, name]);
  return new Map([...names, ...annotations.constants, ...names]);
}

/** Returns the schemas that more than one file uses, in the order of their first use. */
function sharedEntries(surveys: readonly Survey[]): Map<AnySchema, GraphEntry> {
  const met = new Map<AnySchema, GraphEntry[]>();
  for (const { graph } of surveys) {
    for (const [schema, entry] of graph.entries) met.set(schema, [...(met.get(schema) ?? []), entry]);
  }
  const shared = new Map<AnySchema, GraphEntry>();
  for (const [schema, entries] of met) {
    const [first] = entries;
    if (first === undefined || entries.length < 2) continue;
    shared.set(schema, {
      ...first,
      isRoot: entries.some(({ isRoot }) => isRoot),
      uses: Math.max(...entries.map(({ uses }) => uses)),
      recursive: entries.some(({ recursive }) => recursive),
    });
  }
  return shared;
}
