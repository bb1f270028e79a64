import { type Diagnostic, sourcePlaceOf } from "./diagnostics.js";
import { discoverServices, type FoundMethod, type FoundService } from "./discover.js";
import { withSchema } from "./failing-schema.js";
import type { ModuleLoader } from "./load.js";
import { type MethodShape, messagesOf, type PayloadPart, shapeOfMethod } from "./methods.js";
import { annotate, type Annotations, noteDocs } from "./source/annotate.js";
import { brandsOf } from "./source/brands.js";
import type { SchemaSource, SourceReader } from "./source/source-file.js";
import type { SchemaRoot } from "./source/schema-root.js";
import { type GraphRoot, SchemaGraph } from "./types/graph.js";
import { exportedSchemas } from "./types/naming.js";

export interface SchemaModule {
  readonly file: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly source: SchemaSource;
  readonly services: readonly FoundService[];
}

/** Loads the schema module `file` and finds its services. Reports mistakes, and returns undefined if there are any. */
export async function openModule(
  file: string,
  loader: ModuleLoader,
  reader: SourceReader,
  report: (diagnostic: Diagnostic) => void,
): Promise<SchemaModule | undefined> {
  const { exports, problem } = await loader.load(file);
  if (exports === undefined) {
    report(problem);
    return undefined;
  }
  let failed = false;
  const source = reader.read(file);
  const services = discoverServices(exports, source, (diagnostic) => {
    failed = true;
    report(diagnostic);
  });
  if (services.length === 0 && !failed) {
    report({
      file,
      code: "no-service",
      message: "This module exports no service.",
      help: 'Export one, as in export const Arith = service("demo.v1.Arith", { … }).',
    });
  }
  return failed || services.length === 0 ? undefined : { file, exports, source, services };
}

/** Slot of a message as a whole, in tables with the slots of nested schemas. */
export const WHOLE = "";

/** The services that are generated from one schema module, with all schemas that they use. */
export interface Survey {
  readonly file: string;
  readonly services: readonly FoundService[];
  readonly shapes: ReadonlyMap<FoundMethod, MethodShape>;
  readonly graph: SchemaGraph;
  readonly payloads: readonly unknown[];
  readonly exported: ReadonlyMap<unknown, SchemaRoot>;
}

/**
 * Visits all messages of `services`, which are generated from `module`. Reports mistakes, and returns undefined if
 * there are any.
 */
export function survey(
  { file, exports, source }: SchemaModule,
  services: readonly FoundService[],
  annotations: Annotations,
  report: (diagnostic: Diagnostic) => void,
): Survey | undefined {
  let failed = false;
  const fail = (diagnostic: Diagnostic): void => {
    failed = true;
    report(diagnostic);
  };
  const exported = new Map([...exportedSchemas(exports)].map(([schema, name]) => [schema, { file, name }]));
  for (const [schema, { name }] of exported) {
    const written = source.exported(name);
    if (written !== undefined) noteDocs(written, schema, annotations);
  }
  const graph = new SchemaGraph(exported);
  const shapes = new Map<FoundMethod, MethodShape>();
  const payloads: unknown[] = [];
  for (const service of services) {
    for (const method of service.methods) {
      const context = { service: service.name, method: method.name };
      const shape = withSchema({ file, ...context, node: method.node }, fail, () =>
        shapeOfMethod(method, source, ({ node, ...rest }) => {
          fail({ ...(node === undefined ? { file } : sourcePlaceOf(node)), ...rest, ...context });
        }),
      );
      if (shape === undefined) continue;
      if (method.topic !== undefined) annotate(source, method.topic.written, messageOfTopic(method), annotations);
      for (const part of messagesOf(shape)) {
        if (part.raw) continue;
        const { path, node } = part;
        withSchema({ file, ...context, path, node }, fail, () => {
          annotate(source, part.written, part.schema, annotations);
          const brands = brandsOf(source, part.written);
          if (brands.length > 0) annotations.brands.set(part, new Map([[WHOLE, brands]]));
          payloads.push(part.schema);
          graph.add(graphRoot(file, service, method, part), annotations, (unsupported, path, node) => {
            fail({ ...(node === undefined ? { file } : sourcePlaceOf(node)), ...unsupported, ...context, path });
          });
        });
      }
      shapes.set(method, shape);
    }
  }
  return failed ? undefined : { file, services, shapes, graph, payloads, exported };
}

/** Returns the schema of a topic's messages, which is nested in the schema of one of the topic's methods. */
function messageOfTopic({ schema }: FoundMethod): unknown {
  const { output, input } = schema as { readonly input?: TopicObject; readonly output?: unknown };
  return output === undefined ? input?.shape?.["message"] : undefined;
}

interface TopicObject {
  readonly shape?: Readonly<Record<string, unknown>>;
}

function graphRoot(file: string, service: FoundService, method: FoundMethod, part: PayloadPart): GraphRoot {
  return {
    schema: part.schema,
    label: [service.prefix, method.name, part.role],
    path: part.path,
    found: { root: { file, name: service.exportName }, keys: ["methods", method.name, ...part.keys] },
    node: part.node,
  };
}
