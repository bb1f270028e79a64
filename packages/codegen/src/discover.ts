import { isServiceSchema, type MethodSchema, topicOfMethod, type TopicOfMethod } from "@quicrpc/core/internal";
import { type Expression, type SourceNode, ts } from "./source/compiler.js";
import { type Diagnostic, sourcePlaceOf, type SourcePlace } from "./diagnostics.js";
import { isIdentifier, isReservedMethodName, isServiceName, pascalCase } from "./names.js";
import { type LiteralProperty, literalProperties } from "./source/object-literal.js";
import { jsDocOf, type SchemaSource } from "./source/source-file.js";

export interface FoundService {
  readonly exportName: string;
  /** Prefix of the names of the service's generated declarations. */
  readonly prefix: string;
  readonly name: string;
  /** The object that `service()` has returned. It identifies the service in every module that exports it. */
  readonly schema: unknown;
  /** File that declares the service; undefined if the source does not show it. */
  readonly declaredIn: string | undefined;
  readonly docs: string | undefined;
  readonly node: SourceNode | undefined;
  readonly methods: readonly FoundMethod[];
}

export interface FoundMethod {
  readonly name: string;
  readonly schema: MethodSchema;
  /**
   * The topic to which the method belongs, with the source expression of its message schema; undefined for other
   * methods.
   */
  readonly topic: (TopicOfMethod & { readonly written: Expression | undefined }) | undefined;
  readonly docs: string | undefined;
  readonly node: SourceNode | undefined;
  /** The method's options by name, as written in the source. */
  readonly options: ReadonlyMap<string, LiteralProperty>;
}

/** Returns the services that a module exports, in the order of its exports. */
export function discoverServices(
  exports: Readonly<Record<string, unknown>>,
  source: SchemaSource,
  report: (diagnostic: Diagnostic) => void,
): FoundService[] {
  const file = source.path;
  const found = new Map<unknown, FoundService>();
  const names = Object.keys(exports).sort((a, b) => source.variables.indexOf(a) - source.variables.indexOf(b));
  for (const exportName of names) {
    const value = exports[exportName];
    // A service that is exported by name and as the default export counts once.
    if (!isServiceSchema(value) || found.has(value)) continue;
    const { name, methods } = value as { readonly name: unknown; readonly methods: unknown };
    const call = source.exported(exportName);
    const [nameNode, methodsNode] = call && ts.isCallExpression(call) ? call.arguments : [];
    const place = nameNode ?? call;
    const at = (): SourcePlace => (place === undefined ? { file } : sourcePlaceOf(place));
    if (typeof name !== "string" || !isServiceName(name)) {
      report({
        ...at(),
        code: "service-name",
        message: `${JSON.stringify(name)} is not a service name.`,
        help: 'Use dotted identifiers with a version, as in "shop.v1.Orders".',
        service: String(name),
      });
      continue;
    }
    if (typeof methods !== "object" || methods === null || Object.keys(methods).length === 0) {
      report({
        ...at(),
        code: "invalid-service",
        message: `${name} has no methods.`,
        help: "Add one, as in service(name, { ping: rpc() }).",
        service: name,
      });
      continue;
    }
    const properties = literalProperties(source, methodsNode);
    const declaration = ts.findAncestor(
      call?.parent,
      (each) => ts.isVariableDeclaration(each) || ts.isExportAssignment(each),
    );
    const prefix = pascalCase(exportName === "default" ? (name.split(".").at(-1) ?? "") : exportName);
    const other = [...found.values()].find((each) => each.prefix === prefix);
    if (other !== undefined) {
      report({
        ...at(),
        code: "duplicate-export",
        message: `${exportName} and ${other.exportName} would both be generated as ${prefix}Client.`,
        help: "Rename one of the exports.",
        service: name,
      });
      continue;
    }
    found.set(value, {
      exportName,
      prefix,
      name,
      schema: value,
      declaredIn: call?.getSourceFile().fileName,
      docs: jsDocOf(declaration),
      node: place,
      methods: findMethods(name, methods as Readonly<Record<string, unknown>>, properties, source, report, at),
    });
  }
  return [...found.values()];
}

function findMethods(
  service: string,
  methods: Readonly<Record<string, unknown>>,
  properties: readonly LiteralProperty[],
  source: SchemaSource,
  report: (diagnostic: Diagnostic) => void,
  fallback: () => SourcePlace,
): FoundMethod[] {
  const seen = new Set<string>();
  for (const { name, node } of properties) {
    if (seen.has(name)) {
      report({
        ...sourcePlaceOf(node),
        code: "duplicate-method",
        message: `${service} has another method ${name}, which this one replaces.`,
        help: "Rename one of them.",
        service,
        method: name,
      });
    }
    seen.add(name);
  }
  const found: FoundMethod[] = [];
  for (const [name, schema] of Object.entries(methods)) {
    const topic = typeof schema === "object" && schema !== null ? topicOfMethod(schema) : undefined;
    const property = properties.findLast((each) => each.name === (topic?.name ?? name));
    const problem = nameProblem(name) ?? schemaProblem(schema);
    if (problem !== undefined) {
      const at = property === undefined ? fallback() : sourcePlaceOf(property.node);
      report({ ...at, ...problem, service, method: name });
      continue;
    }
    const value = property?.value;
    const call = value && ts.isIdentifier(value) ? source.resolve(value) : value;
    const given = call && ts.isCallExpression(call) ? call.arguments : [];
    const options = topic === undefined ? given[0] : given[2];
    found.push({
      name,
      schema: schema as MethodSchema,
      topic: topic && { ...topic, written: given[1] },
      docs: topic === undefined ? jsDocOf(property?.node) : docsOfTopic(schema, jsDocOf(property?.node)),
      node: property?.node,
      options: new Map(literalProperties(source, options).map((each) => [each.name, each])),
    });
  }
  return found;
}

/** First words of the generated comment of a topic's publish method. */
export const PUBLISHES = "Publishes to the topic. ";
const SUBSCRIBES = "Subscribes to the topic: messages from then on. ";

function docsOfTopic(schema: unknown, docs = ""): string {
  const { output } = schema as { readonly output?: unknown };
  return `${output === undefined ? PUBLISHES : SUBSCRIBES}${docs}`.trim();
}

type Problem = Pick<Diagnostic, "code" | "message" | "help">;

function nameProblem(name: string): Problem | undefined {
  if (!isIdentifier(name)) {
    return {
      code: "method-name",
      message: `${JSON.stringify(name)} is not a method name.`,
      help: "Use a JavaScript identifier, as in getUser.",
    };
  }
  if (isReservedMethodName(name)) {
    return {
      code: "method-name",
      message: `${name} is a reserved name: a client with such a method would break promises or objects.`,
      help: `Use another name, as in ${name.replaceAll("_", "")}Call.`,
    };
  }
  return undefined;
}

function schemaProblem(schema: unknown): Problem | undefined {
  const type = typeof schema === "object" && schema !== null && "type" in schema ? schema.type : undefined;
  if (type === "rpc" || type === "notify") return undefined;
  return {
    code: "not-a-method",
    message: "This is not a method.",
    help: "Make it with rpc({ input, output }), notify({ input }) or topic(pattern, message).",
  };
}
