import type { MessageModel, MethodModel, ServiceModel } from "../model.js";
import { camelCase, errorTypeName } from "../names.js";
import { formatFingerprint } from "../shape/fingerprint.js";
import { type SchemaTypeText, typeText } from "./type-text.js";
import { toolingName } from "./tooling.js";
import { jsDoc, keyText, MAX_WIDTH } from "./writer.js";

/** Which side generated files are for. */
export type Target = "client" | "server" | "both";

/** The descriptors of `service`, and what `target` needs: handlers interface and router factory, client and its factory. */
export function printService(
  service: ServiceModel,
  schemaText: SchemaTypeText,
  target: Target,
  tooling: string | undefined,
): string {
  const { prefix, name, docs, methods } = service;
  const camel = camelCase(prefix);
  const table = `${camel}Methods`;
  const of = (message: MessageModel | undefined, side: Side): string =>
    message === undefined ? "void" : typeText(message[side], schemaText);
  const about = docs === undefined ? "" : `\n\n${docs}`;

  const identity = printIdentity(service, tooling);
  const descriptors = [
    jsDoc(`Descriptors of the methods of ${name}, for tools and for calls made by hand.`),
    `export const ${table}: {\n`,
    ...methods.map((method) => `  readonly ${method.name}: ${descriptorType(method, of)};\n`),
    "} = {\n",
    ...methods.map((method) => `  ${method.name}: ${descriptor(method, `${camel}Service`)},\n`),
    "};\n",
  ].join("");

  const handlers = [
    jsDoc(`What a server of ${name} implements. \`Context\` is what the application keeps for a connection.${about}`),
    `export interface ${prefix}Handlers<Context = unknown> {\n`,
    ...methods.map((method) => {
      return `${jsDoc(method.docs, "  ")}  ${method.name}(input: ${handlerInput(method, of)}, context: CallContext<Context>): ${handlerResult(method, of)};\n`;
    }),
    "}\n",
  ].join("");

  const router = [
    jsDoc(`Makes the router that serves ${name} by \`handlers\`.`),
    `export function create${prefix}Router<Context = unknown>(handlers: ${prefix}Handlers<Context>): Router<Context> {\n`,
    `  return createRouter(${table}, handlers);\n`,
    "}\n",
  ].join("");

  const client = [
    jsDoc(`A client of ${name}.${about}`),
    `export interface ${prefix}Client {\n`,
    ...methods.map((method) => {
      return `${jsDoc(method.docs, "  ")}  ${method.name}(${clientInput(method, of)}options?: CallOptions): ${clientResult(method, of)};\n`;
    }),
    "}\n",
  ].join("");

  const factory = [
    jsDoc(`Calls ${name} over \`caller\`, such as a session.`),
    `export function create${prefix}Client(caller: Caller): ${prefix}Client {\n`,
    "  return {\n",
    ...methods.map((method) => {
      const [parameters, passed] = callArguments(method);
      return `    ${method.name}: (${parameters}) => caller.${INVOKE[method.kind]}(${table}.${method.name}, ${passed}),\n`;
    }),
    "  };\n",
    "}\n",
  ].join("");
  const server = target === "client" ? [] : [handlers, router];
  const caller = target === "server" ? [] : [...errorTypes(service), client, factory];
  return [identity, descriptors, ...server, ...caller].join("\n");
}

/** What names the service on the wire, and where tools find more of it. */
function printIdentity({ prefix, name, id }: ServiceModel, tooling: string | undefined): string {
  const constant = `const ${camelCase(prefix)}Service`;
  if (tooling === undefined) return `${constant} = { name: ${JSON.stringify(name)}, id: ${id} } as const;\n`;
  const load = `() => import(${JSON.stringify(tooling)}).then((tooling) => tooling.${toolingName(prefix)})`;
  return `${constant}: ServiceIdentity = {\n  name: ${JSON.stringify(name)},\n  id: ${id},\n  tooling: ${load},\n};\n`;
}

const INVOKE: Readonly<Record<MethodModel["kind"], string>> = {
  unary: "unary",
  notify: "notify",
  server_stream: "serverStream",
  client_stream: "clientStream",
  duplex: "duplex",
};

const STREAMS_INPUT: ReadonlySet<MethodModel["kind"]> = new Set(["client_stream", "duplex"]);
const STREAMS_OUTPUT: ReadonlySet<MethodModel["kind"]> = new Set(["server_stream", "duplex"]);

type Side = "sent" | "received";
type TypeOfMessage = (message: MessageModel | undefined, side: Side) => string;

function descriptorType(method: MethodModel, of: TypeOfMessage): string {
  const { input, output } = method;
  // A handler without input is called with undefined.
  const received = input === undefined ? "undefined" : of(input, "received");
  const types = [of(input, "sent"), received, of(output, "sent"), of(output, "received")];
  const errors = errorFields(method, of);
  const all = [JSON.stringify(method.kind), ...types, ...(errors.length === 0 ? [] : [`{ ${errors.join("; ")} }`])];
  const line = `MethodDescriptor<${all.join(", ")}>`;
  if (method.name.length + line.length + 14 <= MAX_WIDTH) return line;
  if (errors.length > 0) all[all.length - 1] = `{\n${errors.map((each) => `      ${each};\n`).join("")}    }`;
  return `MethodDescriptor<\n${all.map((each) => `    ${each}`).join(",\n")}\n  >`;
}

function descriptor(method: MethodModel, identity: string): string {
  const options = [
    `id: ${method.id}`,
    ...(method.input === undefined ? [] : [`input: ${method.input.codec}`]),
    ...(method.output === undefined ? [] : [`output: ${method.output.codec}`]),
    ...(method.idempotent ? ["idempotent: true"] : []),
    ...(method.priority === undefined ? [] : [`priority: ${method.priority}`]),
    ...(method.delivery === undefined ? [] : [`delivery: ${JSON.stringify(method.delivery)}`]),
    ...(method.via === undefined ? [] : [`via: ${JSON.stringify(method.via)}`]),
    ...(method.errors.length === 0 ? [] : [errorsTable(method)]),
    `fingerprint: 0x${formatFingerprint(method.fingerprint)}`,
  ];
  const head = `defineMethod(${identity}, "${method.kind}", "${method.name}", {`;
  const line = `${head} ${options.join(", ")} })`;
  return method.name.length + line.length + 5 <= MAX_WIDTH && options.length <= 2
    ? line
    : `${head}\n${options.map((each) => `    ${each},\n`).join("")}  })`;
}

/** The errors of a method, as fields of a type. */
function errorFields({ errors }: MethodModel, of: TypeOfMessage): string[] {
  return errors.map(({ name, code, details }) => {
    const types = details === undefined ? [] : [...new Set([of(details, "sent"), of(details, "received")])];
    return `readonly ${keyText(name)}: ErrorDescriptor<${[JSON.stringify(code), ...types].join(", ")}>`;
  });
}

/** The errors of a method, as its descriptor has them. */
function errorsTable({ errors }: MethodModel): string {
  const lines = errors.map(({ name, code, details }) => {
    const more = details === undefined ? "" : `, details: ${details.codec}`;
    return `      ${keyText(name)}: { code: ${JSON.stringify(code)}${more} },\n`;
  });
  return `errors: {\n${lines.join("")}    }`;
}

/** The union type of the errors that each method declares, as its caller catches them. */
function errorTypes({ prefix, methods }: ServiceModel): string[] {
  return methods
    .filter(({ errors }) => errors.length > 0)
    .map(({ name }) => {
      const type = `RpcErrorOf<(typeof ${camelCase(prefix)}Methods)[${JSON.stringify(name)}]["errors"]>`;
      const comment = jsDoc(`What ${name} throws by name; see \`isRpcErrorOf\`.`);
      return `${comment}export type ${errorTypeName(prefix, name)} = ${type};\n`;
    });
}

function handlerInput({ kind, input }: MethodModel, of: TypeOfMessage): string {
  if (input === undefined) return "undefined";
  const received = of(input, "received");
  return STREAMS_INPUT.has(kind) ? `ItemStream<${received}>` : received;
}

function handlerResult({ kind, output }: MethodModel, of: TypeOfMessage): string {
  const returned = of(output, "sent");
  return STREAMS_OUTPUT.has(kind) ? `Awaitable<StreamSource<${returned}>>` : `Awaitable<${returned}>`;
}

/** The parameters of a client's method before its options. */
function clientInput({ kind, input }: MethodModel, of: TypeOfMessage): string {
  // What a duplex call sends is written to what it gives back.
  if (input === undefined || kind === "duplex") return "";
  const sent = of(input, "sent");
  return kind === "client_stream" ? `source: StreamSource<${sent}>, ` : `input: ${sent}, `;
}

function clientResult({ kind, input, output }: MethodModel, of: TypeOfMessage): string {
  const result = of(output, "received");
  if (kind === "duplex") return `DuplexStream<${of(input, "sent")}, ${result}>`;
  return kind === "server_stream" ? `ItemStream<${result}>` : `Promise<${result}>`;
}

/** The parameters of a client's method, and what it passes to the caller after the descriptor. */
function callArguments({ kind, input }: MethodModel): readonly [parameters: string, passed: string] {
  if (kind === "duplex") return ["options", "options"];
  if (kind === "client_stream") return ["source, options", "source, options"];
  return input === undefined ? ["options", "undefined, options"] : ["input, options", "input, options"];
}
