import { isBytesSchema, isStreamSchema, type Payload } from "@quicrpc/core";
import { type Expression, Node } from "ts-morph";
import type { Diagnostic } from "./diagnostics.js";
import type { FoundMethod } from "./discover.js";
import type { GeneratedKind } from "./model.js";

/** A method whose shape can be generated, with the schemas of its messages. */
export interface MethodShape {
  readonly kind: GeneratedKind;
  readonly input: PayloadPart | undefined;
  readonly output: PayloadPart | undefined;
}

/** One message schema of a method. */
export interface PayloadPart {
  readonly schema: unknown;
  /** `input` or `output`: the option it stands in. */
  readonly option: "input" | "output";
  /** Whether it is the item of a stream. */
  readonly streams: boolean;
  /** Whether it is `bytes()`, which has no schema. */
  readonly raw: boolean;
  readonly written: Expression | undefined;
}

/** A mistake in a method, with the node to point at. */
export type MethodProblem = Pick<Diagnostic, "code" | "message" | "help" | "path"> & {
  readonly node: Node | undefined;
};

/** What `method` is; mistakes go to `report`, and then there is no shape. */
export function shapeOfMethod(method: FoundMethod, report: (problem: MethodProblem) => void): MethodShape | undefined {
  const options = method.schema as unknown as Readonly<Record<string, unknown>>;
  const { input, output } = options as { readonly input?: Payload; readonly output?: Payload };
  const problem = (option: string, code: Diagnostic["code"], message: string, help: string): undefined => {
    report({ code, message, help, path: option, node: method.options.get(option)?.node ?? method.node });
  };

  // `rpc` adds an empty table where no errors are declared.
  const none = Object.keys((options["errors"] as object | undefined) ?? {}).length === 0;
  const unknown = Object.keys(options).find((option) => !KNOWN_OPTIONS.has(option) && !(option === "errors" && none));
  if (unknown !== undefined) {
    const known = options["type"] === "notify" ? "input" : "input, output and idempotent";
    return problem(unknown, "unknown-option", `${unknown} is not an option.`, `The options here are ${known}.`);
  }
  if (options["type"] === "notify") {
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
    return { kind: "notify", input: part(method, "input", input), output: undefined };
  }

  const streams = [input, output].map((payload) => isStream(payload) || isBytes(payload));
  const kind = KINDS[streams[0] ? "streams" : "single"][streams[1] ? "streams" : "single"];
  return { kind, input: part(method, "input", input), output: part(method, "output", output) };
}

const KNOWN_OPTIONS: ReadonlySet<string> = new Set(["type", "input", "output", "idempotent"]);

/** By what the input is, then by what the output is. */
const KINDS: Readonly<Record<Side, Readonly<Record<Side, GeneratedKind>>>> = {
  single: { single: "unary", streams: "server_stream" },
  streams: { single: "client_stream", streams: "duplex" },
};
type Side = "single" | "streams";

function part(method: FoundMethod, option: "input" | "output", payload: unknown): PayloadPart | undefined {
  if (payload === undefined && !method.options.has(option)) return undefined;
  const written = method.options.get(option)?.value;
  if (payload === undefined && Node.isIdentifier(written) && written.getText() === "undefined") return undefined;
  if (isBytes(payload)) return { schema: payload, option, streams: true, raw: true, written };
  if (!isStream(payload)) return { schema: payload, option, streams: false, raw: false, written };
  const [item] = Node.isCallExpression(written) ? written.getArguments() : [];
  return {
    schema: (payload as { readonly item: unknown }).item,
    option,
    streams: true,
    raw: false,
    written: item as Expression | undefined,
  };
}

// Both take anything: what a person has written there may be no payload at all.
function isStream(payload: unknown): boolean {
  return typeof payload === "object" && payload !== null && isStreamSchema(payload as Payload);
}

function isBytes(payload: unknown): boolean {
  return typeof payload === "object" && payload !== null && isBytesSchema(payload as Payload);
}
