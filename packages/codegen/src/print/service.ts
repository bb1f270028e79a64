import type { MessageModel, MethodModel, ServiceModel } from "../model.js";
import { camelCase } from "../names.js";
import { type SchemaTypeText, typeText } from "./type-text.js";
import { jsDoc, MAX_WIDTH } from "./writer.js";

/** The descriptors, handlers interface, router factory and client of `service`. */
export function printService(service: ServiceModel, schemaName: string, schemaText: SchemaTypeText): string {
  const { prefix, name, docs, methods } = service;
  const camel = camelCase(prefix);
  const table = `${camel}Methods`;
  const of = (message: MessageModel | undefined, side: keyof MessageModel): string =>
    message === undefined ? "void" : typeText(message[side], schemaText);
  const about = docs === undefined ? "" : `\n\n${docs}`;

  const identity = `const ${camel}Service = { name: ${JSON.stringify(name)}, id: ${service.id} } as const;\n`;
  const descriptors = [
    jsDoc(`Descriptors of the methods of ${name}, for tools and for calls made by hand.`),
    `export const ${table}: {\n`,
    ...methods.map((method) => `  readonly ${method.name}: ${descriptorType(method, of)};\n`),
    "} = {\n",
    ...methods.map((method) => `  ${method.name}: ${descriptor(method, `${camel}Service`, schemaName)},\n`),
    "};\n",
  ].join("");

  const handlers = [
    jsDoc(`What a server of ${name} implements. \`Context\` is what the application keeps for a connection.${about}`),
    `export interface ${prefix}Handlers<Context = unknown> {\n`,
    ...methods.map((method) => {
      const input = method.input === undefined ? "undefined" : of(method.input, "received");
      return `${jsDoc(method.docs, "  ")}  ${method.name}(input: ${input}, context: CallContext<Context>): ${handlerResult(method, of)};\n`;
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
      const input = method.input === undefined ? "" : `input: ${of(method.input, "sent")}, `;
      return `${jsDoc(method.docs, "  ")}  ${method.name}(${input}options?: CallOptions): ${clientResult(method, of)};\n`;
    }),
    "}\n",
  ].join("");

  const factory = [
    jsDoc(`Calls ${name} over \`caller\`, such as a session.`),
    `export function create${prefix}Client(caller: Caller): ${prefix}Client {\n`,
    "  return {\n",
    ...methods.map((method) => {
      const [parameters, input] = method.input === undefined ? ["options", "undefined"] : ["input, options", "input"];
      return `    ${method.name}: (${parameters}) => caller.${INVOKE[method.kind]}(${table}.${method.name}, ${input}, options),\n`;
    }),
    "  };\n",
    "}\n",
  ].join("");
  return [identity, descriptors, handlers, router, client, factory].join("\n");
}

const INVOKE: Readonly<Record<MethodModel["kind"], string>> = {
  unary: "unary",
  notify: "notify",
  server_stream: "serverStream",
};

type TypeOfMessage = (message: MessageModel | undefined, side: keyof MessageModel) => string;

function descriptorType(method: MethodModel, of: TypeOfMessage): string {
  const { input, output } = method;
  // A handler without input is called with undefined.
  const received = input === undefined ? "undefined" : of(input, "received");
  const types = [of(input, "sent"), received, of(output, "sent"), of(output, "received")];
  const all = [JSON.stringify(method.kind), ...types];
  const line = `MethodDescriptor<${all.join(", ")}>`;
  if (method.name.length + line.length + 14 <= MAX_WIDTH) return line;
  return `MethodDescriptor<\n${all.map((each) => `    ${each}`).join(",\n")}\n  >`;
}

function descriptor(method: MethodModel, identity: string, schemaName: string): string {
  const at = `${schemaName}.methods.${method.name}`;
  const output = method.kind === "server_stream" ? "output.item" : "output";
  const options = [
    `id: ${method.id}`,
    ...(method.input === undefined ? [] : [`input: zodCodec(${at}.input)`]),
    ...(method.output === undefined ? [] : [`output: zodCodec(${at}.${output})`]),
    ...(method.idempotent ? ["idempotent: true"] : []),
  ];
  const head = `defineMethod(${identity}, "${method.kind}", "${method.name}", `;
  return options.length === 1
    ? `${head}{ ${options[0]} })`
    : `${head}{\n${options.map((each) => `    ${each},\n`).join("")}  })`;
}

function handlerResult({ kind, output }: MethodModel, of: TypeOfMessage): string {
  if (kind === "server_stream") return `Awaitable<StreamSource<${of(output, "sent")}>>`;
  return `Awaitable<${of(output, "sent")}>`;
}

function clientResult({ kind, output }: MethodModel, of: TypeOfMessage): string {
  return kind === "server_stream" ? `ItemStream<${of(output, "received")}>` : `Promise<${of(output, "received")}>`;
}
