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

  const unknown = Object.keys(options).find((option) => !KNOWN_OPTIONS.has(option));
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

  if (isBytes(input) !== isBytes(output)) {
    const given = isBytes(input) ? "input" : "output";
    return problem(
      given,
      "bytes-direction",
      `A byte tunnel goes both ways, and this method has bytes() as its ${given} only.`,
      "Use bytes() for both input and output, or z.instanceof(Uint8Array) for bytes in a message.",
    );
  }
  const kind = kindOf(input, output);
  if (kind === "bytes") {
    return problem(
      "input",
      "not-generated-yet",
      "not generated yet: a byte tunnel (bytes() as input and output).",
      "Use stream(z.instanceof(Uint8Array)) for both input and output.",
    );
  }
  return { kind, input: part(method, "input", input), output: part(method, "output", output) };
}

const KNOWN_OPTIONS: ReadonlySet<string> = new Set(["type", "input", "output", "idempotent"]);

function kindOf(input: Payload | undefined, output: Payload | undefined): GeneratedKind | "bytes" {
  if (isBytes(input)) return "bytes";
  if (isStream(input)) return isStream(output) ? "duplex" : "client_stream";
  return isStream(output) ? "server_stream" : "unary";
}

function part(method: FoundMethod, option: "input" | "output", payload: unknown): PayloadPart | undefined {
  if (payload === undefined && !method.options.has(option)) return undefined;
  const written = method.options.get(option)?.value;
  if (payload === undefined && Node.isIdentifier(written) && written.getText() === "undefined") return undefined;
  if (!isStream(payload)) return { schema: payload, option, streams: false, written };
  const [item] = Node.isCallExpression(written) ? written.getArguments() : [];
  return {
    schema: (payload as { readonly item: unknown }).item,
    option,
    streams: true,
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
