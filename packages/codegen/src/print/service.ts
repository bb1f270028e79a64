import type { MethodModel, ServiceModel } from "../model.js";
import { errorTypeName } from "../names.js";
import { generic, text, type TypeNames, type TypeNode } from "../types/node.js";
import { messageType, printDescriptors, printIdentity, tableName } from "./descriptors.js";
import { PUBLISHES } from "../discover.js";
import { block, braced, callOf, signature } from "./syntax.js";
import { quoted } from "./text.js";
import { jsDoc, withLink } from "./writer.js";

/** The side for which code is generated. "http-client" is for clients that only use `httpTransport`. */
export type Target = "client" | "http-client" | "server" | "both";

export function isClient(target: Target): boolean {
  return target === "client" || target === "http-client";
}

/**
 * Returns the code of a service: its descriptors and, depending on `target`, the interface of its handlers with the
 * router factory, or the client with its factory.
 */
export function printService(
  service: ServiceModel,
  names: TypeNames,
  target: Target,
  tooling: string | undefined,
  taken: ReadonlySet<string>,
): string {
  const context = contextName(taken);
  const server = isClient(target)
    ? []
    : [
        printHandlers(service, names, context),
        ...printTopics(service, names, context),
        printRouter(service, names, context),
      ];
  const client =
    target === "server"
      ? []
      : [...errorTypes(service, names), printClient(service, names), printClientFactory(service, names)];
  return [
    printIdentity(service, names, tooling),
    printDescriptors(service, names, target === "http-client"),
    ...server,
    ...client,
  ].join("\n");
}

function contextName(taken: ReadonlySet<string>): string {
  let name = "Context";
  for (let n = 1; taken.has(name); n++) name = `AppContext${n === 1 ? "" : n}`;
  return name;
}

function printHandlers(service: ServiceModel, names: TypeNames, of: string): string {
  const { prefix, name, docs, methods } = service;
  const members = methods
    .filter(({ topic }) => topic === undefined)
    .map((method) => {
      const context = `context: ${names.core("CallContext")}<${of}>`;
      const parameters = [`input: ${handlerInput(method).print(names)}`, context];
      const link = methodLink(service, method, names);
      return member(method, link, methodSignature(method, parameters, handlerResult(method).print(names)));
    });
  const what = `The methods that a server of ${name} implements. \`${of}\` is what the application keeps for a connection.`;
  const head = `export interface ${prefix}Handlers<${of} = unknown>`;
  // The interface does not use the context if it has no members.
  if (members.length === 0)
    return `${jsDoc(about(what, docs))}export type ${prefix}Handlers<_${of} = unknown> = object;\n`;
  return `${jsDoc(about(what, docs))}${head} {\n${members.join("")}}\n`;
}

function printRouter(service: ServiceModel, names: TypeNames, of: string): string {
  const { prefix, name, methods } = service;
  const withTopics = hasTopics(service);
  const head = signature(
    `export function create${prefix}Router<${of} = unknown>`,
    [`handlers: ${prefix}Handlers<${of}>`, ...(withTopics ? [`topics: ${prefix}Topics<${of}>`] : [])],
    `${names.core("Router")}<${of}>`,
  );
  const make = names.core(withTopics ? "createTopicRouter" : "createRouter");
  const given = [tableName(service), "handlers", ...(withTopics ? ["topics"] : [])];
  const router = callOf(make, given);
  const served = methods.some(({ once, resumable }) => once || resumable)
    ? callOf(names.core("durableRouter"), [router])
    : router;
  return `${jsDoc(`Makes the router that serves ${name} by \`handlers\`${withTopics ? " and `topics`" : ""}.`)}${block(head, [`return ${served};`])}\n`;
}

function hasTopics({ methods }: Pick<ServiceModel, "methods">): boolean {
  return methods.some(({ topic }) => topic !== undefined);
}

/**
 * Returns the server code for a service's topics: their types, options and factory. Returns an empty list for a service
 * without topics.
 */
function printTopics(service: ServiceModel, names: TypeNames, of: string): string[] {
  const { prefix, name, methods } = service;
  const families = methods.flatMap((publish) => {
    const { topic } = publish;
    const subscribe = methods.find((each) => each.kind === "server_stream" && each.topic?.name === topic?.name);
    if (topic === undefined || publish.kind !== "unary" || subscribe === undefined) return [];
    const parameters = messageType(subscribe.input, "received");
    const types = [messageType(publish.input, "sent"), parameters, messageType(subscribe.output, "received")];
    const served = `readonly ${topic.name}: ${generic("ServedTopic", ...types).print(names)}`;
    const options = `readonly ${topic.name}: ${generic("ServedTopicOptions", parameters, text(of)).print(names)}`;
    return [{ publish, topic, served, options }];
  });
  if (families.length === 0) return [];
  const served = families.map((each) => member({ docs: docsOfTopic(each.publish) }, undefined, each.served));
  const options = families.map((each) => `  ${each.options};\n`);
  const patterns = families.map(({ topic }) => `${topic.name}: ${quoted(topic.pattern)}`);
  const interfaces = [
    `${jsDoc(`The topics of ${name}, for its server.`)}export interface ${prefix}Topics<${of} = unknown> extends ${names.core("ServedTopics")}<${of}> {\n${served.join("")}}\n`,
    `${jsDoc(`How a server serves each topic of ${name}.`)}export interface ${prefix}TopicsOptions<${of} = unknown> {\n${options.join("")}}\n`,
  ];
  const head = signature(
    `export function create${prefix}Topics<${of} = unknown>`,
    [`topics: ${names.core("ProcessTopics")}`, `options: ${prefix}TopicsOptions<${of}>`],
    `${prefix}Topics<${of}>`,
  );
  const make = callOf(names.core("serveTopics"), [tableName(service), braced(patterns), "topics", "options"]);
  const comment = jsDoc(`Makes the topics of ${name} on \`topics\`, as createTopics gives them.`);
  return [...interfaces, `${comment}${block(head, [`return ${make};`])}\n`];
}

/** Returns the comment of a topic, without the words that are added for its publish method. */
function docsOfTopic({ docs }: MethodModel): string | undefined {
  return docs?.slice(PUBLISHES.length) || undefined;
}

function printClient(service: ServiceModel, names: TypeNames): string {
  const { prefix, name, docs, methods } = service;
  const members = methods.map((method) => {
    const input = clientInput(method);
    const options = `options?: ${names.core("CallOptions")}`;
    const parameters = input === undefined ? [options] : [`${input[0]} ${input[1].print(names)}`, options];
    const link = methodLink(service, method, names);
    return member(method, link, methodSignature(method, parameters, clientResult(method).print(names)));
  });
  return `${jsDoc(about(`A client of ${name}.`, docs))}export interface ${prefix}Client {\n${members.join("")}}\n`;
}

function printClientFactory(service: ServiceModel, names: TypeNames): string {
  const { prefix, name, methods } = service;
  const entries = methods.map((method) => {
    const [parameters, passed] = callArguments(method);
    const call = callOf("caller.start", [`${tableName(service)}.${method.name}`, ...passed]);
    return `${method.name}: (${parameters.join(", ")}) => ${call}`;
  });
  const head = signature(
    `export function create${prefix}Client`,
    [`caller: ${names.core("Caller")}`],
    `${prefix}Client`,
  );
  return `${jsDoc(`Calls ${name} over \`caller\`, such as a session.`)}${block(head, [`return ${braced(entries, ",", true)};`])}\n`;
}

function about(what: string, docs: string | undefined): string {
  return docs === undefined ? what : `${what}\n\n${docs}`;
}

function member({ docs }: Pick<MethodModel, "docs">, link: string | undefined, code: string): string {
  return `${jsDoc(withLink(docs, link), "  ")}  ${code};\n`;
}

/**
 * Returns a method of an interface. A method called `new` becomes a property, because it would otherwise be a construct
 * signature.
 */
function methodSignature({ name }: MethodModel, parameters: readonly string[], result: string): string {
  return name === "new" ? `new: (${parameters.join(", ")}) => ${result}` : signature(name, parameters, result);
}

/** Returns a link to a method's declaration in the schema module, for a comment; undefined if the file has no links. */
function methodLink({ root }: ServiceModel, { name }: MethodModel, names: TypeNames): string | undefined {
  const service = names.link?.(root);
  return service && `${service}.methods.${name}`;
}

const STREAMS_INPUT: ReadonlySet<MethodModel["kind"]> = new Set(["client_stream", "duplex"]);
const STREAMS_OUTPUT: ReadonlySet<MethodModel["kind"]> = new Set(["server_stream", "duplex"]);

/** Returns a union type of the declared errors of each method, for callers that catch them. */
function errorTypes(service: ServiceModel, names: TypeNames): string[] {
  return service.methods
    .filter(({ errors }) => errors.length > 0)
    .map(({ name }) => {
      const type = text(`(typeof ${tableName(service)})[${quoted(name)}]["errors"]`);
      const comment = jsDoc(`The errors that ${name} throws by name; see \`isRpcErrorOf\`.`);
      return `${comment}export type ${errorTypeName(service.prefix, name)} = ${generic("RpcErrorOf", type).print(names)};\n`;
    });
}

function handlerInput({ kind, input }: MethodModel): TypeNode {
  if (input === undefined) return text("undefined");
  return STREAMS_INPUT.has(kind) ? generic("ItemStream", input.received) : input.received;
}

function handlerResult({ kind, output }: MethodModel): TypeNode {
  const returned = messageType(output, "sent");
  return generic("Awaitable", STREAMS_OUTPUT.has(kind) ? generic("StreamSource", returned) : returned);
}

/** Returns the parameter for the input in a client's method; undefined if the method has none. */
function clientInput({ kind, input }: MethodModel): readonly [head: string, type: TypeNode] | undefined {
  // Callers write the input of a duplex call to the returned stream.
  if (input === undefined || kind === "duplex") return undefined;
  return kind === "client_stream" ? ["source:", generic("StreamSource", input.sent)] : ["input:", input.sent];
}

function clientResult({ kind, input, output }: MethodModel): TypeNode {
  const result = messageType(output, "received");
  if (kind === "duplex") return generic("DuplexStream", messageType(input, "sent"), result);
  return generic(kind === "server_stream" ? "ItemStream" : "Promise", result);
}

/** Returns the parameters of a client's method, and the arguments that it passes to the caller after the descriptor. */
function callArguments({ kind, input }: MethodModel): readonly [parameters: string[], passed: string[]] {
  if (kind === "duplex" || input === undefined) return [["options"], ["undefined", "options"]];
  const own = kind === "client_stream" ? "source" : "input";
  return [
    [own, "options"],
    [own, "options"],
  ];
}
