import type { Code } from "@quicrpc/core";
import { blobProblem } from "./blobs.js";
import { cursorProblem } from "./cursor.js";
import { isBytesSchema, isCode, isStreamSchema, type Payload } from "@quicrpc/core/internal";
import { type Expression, type SourceNode, ts } from "./source/compiler.js";
import type { Diagnostic } from "./diagnostics.js";
import type { FoundMethod } from "./discover.js";
import type { GeneratedKind } from "./model.js";
import { pascalCase } from "./names.js";
import { literalProperties } from "./source/object-literal.js";
import type { SchemaSource } from "./source/source-file.js";
import { unknownOption } from "./unknown-option.js";

export interface MethodShape {
  readonly kind: GeneratedKind;
  readonly input: PayloadPart | undefined;
  readonly output: PayloadPart | undefined;
  readonly errors: readonly ErrorShape[];
}

export interface PayloadPart {
  readonly schema: unknown;
  /** Keys that lead to the schema in the method, such as `["output", "item"]`. */
  readonly keys: readonly string[];
  /** Location of the schema for diagnostics, such as `errors.NOT_FOUND`. */
  readonly path: string;
  /** Last part of the type's name, such as `Input`, if the schema has no name of its own. */
  readonly role: string;
  /** True if the message is `bytes()`, which has no schema. */
  readonly raw: boolean;
  readonly written: Expression | undefined;
  /** Syntax node for diagnostics about parts of the schema whose source is unknown. */
  readonly node: SourceNode | undefined;
}

export interface ErrorShape {
  readonly name: string;
  readonly code: Code;
  readonly details: PayloadPart | undefined;
  /** Syntax node of the error's declaration; undefined if the source does not show it. */
  readonly node: SourceNode | undefined;
}

/** Returns all messages of a method. */
export function messagesOf({ input, output, errors }: MethodShape): PayloadPart[] {
  return [input, output, ...errors.map(({ details }) => details)].filter((part) => part !== undefined);
}

export type MethodProblem = Pick<Diagnostic, "code" | "message" | "help" | "path"> & {
  readonly node: SourceNode | undefined;
};

/** Validates `method` and returns its messages. Reports mistakes, and returns undefined if there are any. */
export function shapeOfMethod(
  method: FoundMethod,
  source: SchemaSource,
  report: (problem: MethodProblem) => void,
): MethodShape | undefined {
  const options = method.schema as unknown as Readonly<Record<string, unknown>>;
  const { input, output } = options as { readonly input?: Payload; readonly output?: Payload };
  const problem = (option: string, code: Diagnostic["code"], message: string, help: string): undefined => {
    report({ code, message, help, path: option, node: method.options.get(option)?.node ?? method.node });
  };

  const isNotify = options["type"] === "notify";
  const { type: _type, ...written } = options;
  // The output of a notification is reported by a separate error.
  const { output: _output, ...ofNotify } = written;
  const unknown = isNotify ? unknownOption(ofNotify, NOTIFY_OPTIONS) : unknownOption(written, RPC_OPTIONS);
  if (unknown !== undefined) return problem(unknown.name, "unknown-option", unknown.message, unknown.help);
  for (const { option, words, code, help } of WORDS) {
    const word = options[option];
    if (word === undefined || words.includes(word)) continue;
    return problem(option, code, `There is no ${option} ${JSON.stringify(word)}.`, help);
  }
  const { meta } = options;
  if (meta !== undefined && (typeof meta !== "object" || Array.isArray(meta) || !isJson(meta))) {
    const help = "Write an object of text, numbers, booleans, null, lists and objects.";
    return problem("meta", "invalid-meta", "What is said of a method is plain JSON.", help);
  }
  if (isNotify) {
    if (output !== undefined) {
      return problem(
        "output",
        "notify-output",
        "A notification has no answer, so it has no output.",
        "Use rpc, or leave output out.",
      );
    }
    if (isStream(input) || isBytes(input)) {
      return problem("input", "notify-stream", "A notification takes one message.", "Use rpc for a stream or bytes.");
    }
    const misplacedBlob = blobProblem("notify", false, input);
    if (misplacedBlob !== undefined) return problem("input", "invalid-blob", misplacedBlob.message, misplacedBlob.help);
    return { kind: "notify", input: part(method, "input", input, "Input"), output: undefined, errors: [] };
  }

  const misspelt = unknownInside(method, source);
  if (misspelt !== undefined) {
    report(misspelt);
    return undefined;
  }
  const errors = errorsOf(method, source);
  const wrong = errors.find(({ code }) => !isCode(code));
  if (wrong !== undefined) {
    report({
      code: "unknown-code",
      message: `${JSON.stringify(wrong.code)} is not a code.`,
      help: 'Use one of gRPC\'s sixteen, as in "not_found" or "failed_precondition".',
      path: `errors.${wrong.name}`,
      node: wrong.node,
    });
    return undefined;
  }

  const streams = [input, output].map((payload) => isStream(payload) || isBytes(payload));
  const kind = KINDS[streams[0] ? "streams" : "single"][streams[1] ? "streams" : "single"];
  if (options["once"] === true && kind !== "unary") {
    const help = "Leave out once, or make its input and output single messages.";
    return problem("once", "once-stream", "A call that takes effect once has one message each way.", help);
  }
  if (options["resumable"] === true && (kind === "unary" || options["cursor"] !== undefined)) {
    const help = "Leave out resumable: a single message is retried, and items with cursors go on by those.";
    return problem("resumable", "resumable-kind", "Only streams whose items have no cursors are resumable.", help);
  }
  // If only the output streams, the name `Item` is unambiguous.
  const item = kind === "server_stream" ? "Item" : "OutputItem";
  const misplaced = cursorProblem(options["cursor"], kind, output);
  if (misplaced !== undefined) return problem("cursor", "invalid-cursor", misplaced.message, misplaced.help);
  for (const [option, payload] of Object.entries({ input, output })) {
    const wrong = blobProblem(kind, options["once"], payload);
    if (wrong !== undefined) return problem(option, "invalid-blob", wrong.message, wrong.help);
  }
  return {
    kind,
    input: part(method, "input", input, streams[0] ? "InputItem" : "Input"),
    output: part(method, "output", output, streams[1] ? item : "Output"),
    errors,
  };
}

const RPC_OPTIONS: readonly string[] = [
  "input",
  "output",
  "idempotent",
  "readOnly",
  "once",
  "priority",
  "via",
  "cursor",
  "resumable",
  "errors",
  "meta",
];
const NOTIFY_OPTIONS: readonly string[] = ["input", "delivery", "priority", "via", "meta"];
const CURSOR_OPTIONS: readonly string[] = ["field", "predecessor"];
const ERROR_OPTIONS: readonly string[] = ["code", "details"];
const WORDS: readonly {
  readonly option: string;
  readonly words: readonly unknown[];
  readonly code: Diagnostic["code"];
  readonly help: string;
}[] = [
  {
    option: "delivery",
    words: ["datagram"],
    code: "unknown-delivery",
    help: 'Write delivery: "datagram", or leave it out for one that is not lost.',
  },
  {
    option: "via",
    words: ["auto", "lane", "stream"],
    code: "unknown-via",
    help: 'Write via: "lane" or via: "stream", or leave it out for what suits each call.',
  },
];

/** Kind of a method, by whether its input and its output are streams. */
const KINDS: Readonly<Record<Side, Readonly<Record<Side, GeneratedKind>>>> = {
  single: { single: "unary", streams: "server_stream" },
  streams: { single: "client_stream", streams: "duplex" },
};
type Side = "single" | "streams";

function part(
  method: FoundMethod,
  option: "input" | "output",
  payload: unknown,
  role: string,
): PayloadPart | undefined {
  if (payload === undefined && !method.options.has(option)) return undefined;
  const written = method.options.get(option)?.value;
  if (payload === undefined && written && ts.isIdentifier(written) && written.text === "undefined") return undefined;
  const node = method.options.get(option)?.node ?? method.node;
  const base = { schema: payload, keys: [option], path: option, role, raw: false, written, node };
  if (isBytes(payload)) return { ...base, raw: true };
  if (!isStream(payload)) return base;
  const [item] = written && ts.isCallExpression(written) ? written.arguments : [];
  const { item: schema } = payload as { readonly item: unknown };
  return { ...base, schema, keys: [option, "item"], written: item };
}

/** Returns the first unknown option inside the option `cursor` or a declared error; undefined if there is none. */
function unknownInside(method: FoundMethod, source: SchemaSource): MethodProblem | undefined {
  const { cursor, errors = {} } = method.schema as { readonly cursor?: unknown; readonly errors?: object };
  const errorOptions = Object.entries(errors).map(([name, given]: [string, unknown]) => ({
    path: ["errors", name],
    given,
    known: ERROR_OPTIONS,
  }));
  for (const { path, given, known } of [{ path: ["cursor"], given: cursor, known: CURSOR_OPTIONS }, ...errorOptions]) {
    const unknown = typeof given === "object" && given !== null ? unknownOption(given, known) : undefined;
    if (unknown === undefined) continue;
    const { name, message, help } = unknown;
    const full = [...path, name];
    return { code: "unknown-option", message, help, path: full.join("."), node: nodeAt(method, source, full) };
  }
  return undefined;
}

/** Returns the syntax node of the option at `path`, or of the innermost enclosing option that the source shows. */
function nodeAt({ options, node }: FoundMethod, source: SchemaSource, path: readonly string[]): SourceNode | undefined {
  let inside = [...options.values()];
  let found = node;
  for (const name of path) {
    const property = inside.findLast((each) => each.name === name);
    if (property === undefined) break;
    found = property.node;
    inside = literalProperties(source, property.value);
  }
  return found;
}

function errorsOf({ schema, options, node }: FoundMethod, source: SchemaSource): ErrorShape[] {
  const { errors = {} } = schema as { readonly errors?: Readonly<Record<string, { code: Code; details?: unknown }>> };
  const written = literalProperties(source, options.get("errors")?.value);
  return Object.entries(errors).map(([name, { code, details }]) => {
    const property = written.findLast((each) => each.name === name);
    // The details are given as a schema, or as an object with a code and a schema.
    const inside = literalProperties(source, property?.value).find((each) => each.name === "details");
    const at = property?.node ?? options.get("errors")?.node ?? node;
    const part: PayloadPart = {
      schema: details,
      keys: ["errors", name, "details"],
      path: `errors.${name}`,
      role: `${pascalCase(name === name.toUpperCase() ? name.toLowerCase() : name)}Details`,
      raw: false,
      written: inside?.value ?? property?.value,
      node: at,
    };
    return { name, code, details: details === undefined ? undefined : part, node: at };
  });
}

function isJson(value: unknown, depth = 20): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth === 0) return false;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  return isPlain && Object.values(value).every((each) => isJson(each, depth - 1));
}

// The parameter is `unknown`, because what the author has written may be invalid.
function isStream(payload: unknown): boolean {
  return typeof payload === "object" && payload !== null && isStreamSchema(payload as Payload);
}

function isBytes(payload: unknown): boolean {
  return typeof payload === "object" && payload !== null && isBytesSchema(payload as Payload);
}
