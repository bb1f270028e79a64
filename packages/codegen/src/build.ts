import { SchemaReader } from "./schema/read.js";
import type { BlobFields } from "@quicrpc/core/generated";
import { itemCursor } from "@quicrpc/core/internal";
import { blobsOf } from "./blobs.js";
import { jsonProblem } from "@quicrpc/http/openapi";
import { describeNode } from "./codec/parts.js";
import { CodecPlan, type Use } from "./codec/plan.js";
import { costlyTemplates } from "./costly-templates.js";
import type { Diagnostic } from "./diagnostics.js";
import type { FoundMethod, FoundService } from "./discover.js";
import { withSchema } from "./failing-schema.js";
import type { IdAssigner } from "./lock/ids.js";
import type { MethodShape, PayloadPart } from "./methods.js";
import type { FileModel, MessageModel, MethodModel, Reexport, ServiceModel } from "./model.js";
import { errorTypeName, generatedNames, NameScope } from "./names.js";
import { CORE_IMPORTS } from "./print/core-imports.js";
import { isClient, type Target } from "./print/service.js";
import { CanonicalText } from "./shape/canonical.js";
import { fingerprintOf } from "./shape/fingerprint.js";
import { snapshotOf } from "./shape/snapshot.js";
import { namesOfConstants, type SharedModule } from "./shared.js";
import type { Annotations } from "./source/annotate.js";
import { type Survey, WHOLE } from "./survey.js";
import { JsonSchemas } from "./tooling/json-schema.js";
import { toolingOf } from "./tooling/method-tooling.js";
import { branded } from "./types/convert.js";
import { TypeTable } from "./types/declare.js";
import { nameTypes } from "./types/naming.js";
import { generic, text } from "./types/node.js";
import { isZodSchema } from "./types/zod.js";

export interface BuildContext {
  readonly shared: SharedModule;
  readonly annotations: Annotations;
  readonly ids: IdAssigner;
  readonly target: Target;
  readonly report: (diagnostic: Diagnostic) => void;
}

export function buildFile(survey: Survey, reexports: readonly Reexport[], context: BuildContext): FileModel {
  const { file, services, graph, exported, payloads } = survey;
  const { shared, annotations } = context;
  const scope = new NameScope();
  scope.reserve(
    "z",
    ...CORE_IMPORTS,
    ...services.flatMap((each) => [each.exportName, each.prefix, ...generatedNames(each.prefix)]),
    ...services.flatMap(({ prefix, methods }) => methods.map(({ name }) => errorTypeName(prefix, name))),
    ...shared.namesIn(survey),
  );
  const own = new Map([...graph.entries].filter(([schema]) => shared.types.named(schema) === undefined));
  const constants = namesOfConstants(exported, annotations);
  const named = nameTypes(own, constants, annotations.constantDocs, scope, false);
  const types = new TypeTable(named, (schema) => graph.expression(schema), annotations, shared.types);
  for (const payload of payloads) types.declare(payload);
  const messages: Messages = {
    types,
    nodes: new SchemaReader(exported),
    codecs: new CodecPlan(scope, types, shared.shareCodec),
  };
  return {
    schemaFile: file,
    services: services.map((service) => serviceModel(service, survey, messages, context)),
    declarations: types.declarations,
    types,
    sharedTypes: types.passedOn,
    codecs: messages.codecs,
    warnings: costlyTemplates(survey, annotations),
    reexports,
  };
}

interface Messages {
  readonly types: TypeTable;
  readonly nodes: SchemaReader;
  readonly codecs: CodecPlan;
}

type Sender = "client" | "server";

function serviceModel(
  service: FoundService,
  { file, shapes }: Survey,
  { types, nodes, codecs }: Messages,
  { ids, target, annotations, report }: BuildContext,
): ServiceModel {
  const methodIds = ids.methodIds(
    service.name,
    service.methods.map((method) => method.name),
  );
  const snapshot = snapshotOf(ids.serviceId(service.name), service.methods, shapes, methodIds, types.nameOf);
  const message = (method: FoundMethod, part: PayloadPart | undefined, sender: Sender): MessageModel | undefined => {
    if (part?.raw)
      return {
        schema: undefined,
        sourceOf: () => part.node,
        sent: text("Uint8Array"),
        received: generic("UnsharedBytes"),
        codec: "bytesCodec",
        jsonProblem: () => undefined,
      };
    if (part === undefined || !isZodSchema(part.schema)) return undefined;
    const keys = ["methods", method.name, ...part.keys];
    const node = nodes.node(part.schema, { root: { file, name: service.exportName }, keys });
    const brands = annotations.brands.get(part)?.get(WHOLE) ?? [];
    const label = [service.prefix, method.name, part.role];
    const sourceOf: MessageModel["sourceOf"] = (schema) => annotations.nodes.get(schema) ?? part.node;
    return {
      schema: part.schema,
      sourceOf,
      sent: branded(types.typeOf(node, "input"), brands, "input"),
      received: branded(types.typeOf(node, "output"), brands, "output"),
      codec: codecs.payload(node, label, usesOf(sender, target), brands.length > 0),
      jsonProblem() {
        const problem = jsonProblem(node, describeNode);
        if (problem === undefined) return undefined;
        const { reason, part: place } = problem;
        return { path: [part.path, ...problem.path].join("."), reason, node: sourceOf(place.schema) };
      },
    };
  };
  const canonical = new CanonicalText(snapshot.types);
  const schemas = new JsonSchemas((schema) => annotations.constants.get(schema));
  const modelOf = (method: FoundMethod): MethodModel | undefined => {
    const shape = shapes.get(method);
    const taken = snapshot.methods[method.name];
    if (shape === undefined || taken === undefined) return undefined;
    const { priority, via, meta } = method.schema;
    const resumable = "resumable" in method.schema && (method.schema.resumable ?? false);
    const cursor = "cursor" in method.schema ? method.schema.cursor : undefined;
    return {
      name: method.name,
      id: taken.id,
      fingerprint: fingerprintOf(taken, canonical),
      kind: shape.kind,
      topic: method.topic,
      docs: method.docs,
      idempotent: taken.idempotent === true,
      readOnly: taken.readOnly === true,
      once: taken.once === true,
      priority,
      via,
      cursor: cursor === undefined ? undefined : itemCursor(cursor),
      resumable,
      delivery: taken.delivery,
      blobs: blobFields(shape),
      input: message(method, shape.input, "client"),
      output: message(method, shape.output, "server"),
      errors: shape.errors.map(({ name, code, details }) => ({
        name,
        code,
        details: message(method, details, "server"),
      })),
      meta,
      tooling: toolingOf(method, shape, schemas),
    };
  };
  const methods = service.methods.flatMap((method): MethodModel[] => {
    const origin = { file, service: service.name, method: method.name, node: method.node };
    const model = withSchema(origin, report, () => modelOf(method));
    return model === undefined ? [] : [model];
  });
  return {
    name: service.name,
    id: snapshot.id,
    exportName: service.exportName,
    root: { file, name: service.exportName },
    prefix: service.prefix,
    docs: service.docs,
    methods,
    snapshot,
    node: service.node,
  };
}

/** Returns how generated files for `target` use a message from `sender`: write it, read it, or both. */
function usesOf(sender: Sender, target: Target): readonly Use[] {
  if (target === "both") return ["write", "read"];
  return (sender === "client") === isClient(target) ? ["write"] : ["read"];
}

function blobFields({ input, output }: MethodShape): BlobFields | undefined {
  const fields = { input: blobsOf(input?.schema), output: blobsOf(output?.schema) };
  const used = Object.entries(fields).filter(([, blobs]) => blobs.length > 0);
  return used.length === 0 ? undefined : Object.fromEntries(used);
}
