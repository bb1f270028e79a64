import { CodecBuilder } from "./codec/build.js";
import { CodecPlan } from "./codec/plan.js";
import { annotate, emptyAnnotations, noteDocs } from "./source/annotate.js";
import { type Diagnostic, placeOf } from "./diagnostics.js";
import { discoverServices, type FoundMethod, type FoundService } from "./discover.js";
import type { IdAssigner } from "./lock/ids.js";
import type { ModuleLoader } from "./load.js";
import { type MethodShape, partsOf, type PayloadPart, shapeOfMethod } from "./methods.js";
import type { FileModel, MessageModel, MethodModel, Reexport, ServiceModel } from "./model.js";
import { errorTypeName, generatedNames, NameScope } from "./names.js";
import { CORE_IMPORTS } from "./print/core-imports.js";
import { toolingOf } from "./tooling/method-tooling.js";
import { fingerprintOf } from "./shape/fingerprint.js";
import { snapshotOf } from "./shape/snapshot.js";
import type { SchemaSource, SourceReader } from "./source/source-file.js";
import { declareTypes, type FileTypes } from "./types/declare.js";
import { text } from "./types/node.js";
import { type GraphRoot, SchemaGraph } from "./types/graph.js";
import { exportedSchemas } from "./types/naming.js";
import { isZodSchema } from "./types/zod.js";

/** A schema module that was loaded, with the services that it exports. */
export interface SchemaModule {
  readonly file: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly source: SchemaSource;
  readonly services: readonly FoundService[];
}

/** Loads the schema module at `file` and finds its services; undefined when something was reported. */
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

/** Makes the model of those services of a schema module that are generated from it; undefined when something was reported. */
export function buildFile(
  { file, exports, source }: SchemaModule,
  services: readonly FoundService[],
  reexports: readonly Reexport[],
  ids: IdAssigner,
  report: (diagnostic: Diagnostic) => void,
): FileModel | undefined {
  let failed = false;
  const fail = (diagnostic: Diagnostic): void => {
    failed = true;
    report(diagnostic);
  };
  const scope = new NameScope();
  scope.reserve(
    "z",
    ...CORE_IMPORTS,
    ...services.flatMap((each) => [each.exportName, each.prefix, ...generatedNames(each.prefix)]),
    ...services.flatMap(({ prefix, methods }) => methods.map(({ name }) => errorTypeName(prefix, name))),
  );
  const annotations = emptyAnnotations();
  const exported = exportedSchemas(exports);
  for (const [schema, name] of exported) {
    const written = source.exported(name);
    if (written !== undefined) noteDocs(written, schema, annotations);
  }
  const graph = new SchemaGraph(exported);
  const shapes = new Map<FoundMethod, MethodShape>();
  const payloads: unknown[] = [];
  for (const service of services) {
    for (const method of service.methods) {
      const context = { service: service.name, method: method.name };
      const shape = shapeOfMethod(method, source, ({ node, ...rest }) => {
        fail({ ...(node === undefined ? { file } : placeOf(node)), ...rest, ...context });
      });
      if (shape === undefined) continue;
      for (const part of partsOf(shape)) {
        if (part.raw) continue;
        annotate(source, part.written, part.schema, annotations);
        payloads.push(part.schema);
        graph.add(graphRoot(service, method, part), annotations, (unsupported, path, node) => {
          fail({ ...(node === undefined ? { file } : placeOf(node)), ...unsupported, ...context, path });
        });
      }
      shapes.set(method, shape);
    }
  }
  if (failed) return undefined;

  const types = declareTypes(graph, payloads, exported, annotations, scope);
  const messages: Messages = {
    types,
    nodes: new CodecBuilder(exported),
    codecs: new CodecPlan(scope, (schema, direction) => types.typeOf(schema, direction)),
  };
  return {
    schemaFile: file,
    services: services.map((service) => serviceModel(service, shapes, messages, ids)),
    declarations: types.declarations,
    codecs: messages.codecs,
    reexports,
  };
}

/** What the messages of a file are made of. */
interface Messages {
  readonly types: FileTypes;
  readonly nodes: CodecBuilder;
  readonly codecs: CodecPlan;
}

function graphRoot(service: FoundService, method: FoundMethod, part: PayloadPart): GraphRoot {
  return {
    schema: part.schema,
    label: [service.prefix, method.name, part.role],
    path: part.path,
    root: service.exportName,
    access: ["methods", method.name, ...part.keys].map((key) => `[${JSON.stringify(key)}]`).join(""),
    node: part.node,
  };
}

function serviceModel(
  service: FoundService,
  shapes: ReadonlyMap<FoundMethod, MethodShape>,
  { types, nodes, codecs }: Messages,
  ids: IdAssigner,
): ServiceModel {
  const methodIds = ids.methodIds(
    service.name,
    service.methods.map((method) => method.name),
  );
  const snapshot = snapshotOf(ids.serviceId(service.name), service.methods, shapes, methodIds, types.nameOf);
  const message = (method: FoundMethod, part: PayloadPart | undefined): MessageModel | undefined => {
    if (part?.raw) return { sent: text("Uint8Array"), received: text("Uint8Array"), codec: "rawCodec" };
    if (part === undefined || !isZodSchema(part.schema)) return undefined;
    const keys = ["methods", method.name, ...part.keys];
    const node = nodes.node(part.schema, { root: service.exportName, keys });
    return {
      sent: types.typeOf(part.schema, "input"),
      received: types.typeOf(part.schema, "output"),
      codec: codecs.payload(node, [service.prefix, method.name, part.role]),
    };
  };
  const methods = service.methods.flatMap((method): MethodModel[] => {
    const shape = shapes.get(method);
    const taken = snapshot.methods[method.name];
    const { priority, via } = method.schema;
    if (shape === undefined || taken === undefined) return [];
    return [
      {
        name: method.name,
        id: taken.id,
        fingerprint: fingerprintOf(taken, snapshot.types),
        kind: shape.kind,
        docs: method.docs,
        idempotent: taken.idempotent === true,
        priority,
        delivery: taken.delivery,
        via,
        input: message(method, shape.input),
        output: message(method, shape.output),
        errors: shape.errors.map(({ name, code, details }) => ({ name, code, details: message(method, details) })),
        tooling: toolingOf(method, shape),
      },
    ];
  });
  return {
    name: service.name,
    id: snapshot.id,
    exportName: service.exportName,
    prefix: service.prefix,
    docs: service.docs,
    methods,
    snapshot,
    node: service.node,
  };
}
