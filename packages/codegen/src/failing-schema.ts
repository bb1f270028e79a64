import { type Diagnostic, sourcePlaceOf } from "./diagnostics.js";
import type { SourceNode } from "./source/compiler.js";

/** The message, method or file that is being generated when a schema throws. */
interface Origin {
  readonly file: string;
  readonly service?: string;
  readonly method?: string;
  /** Location of the message in its method, such as `input`. */
  readonly path?: string;
  readonly node: SourceNode | undefined;
}

/**
 * Returns the result of `work`, which runs code of schemas. If it throws, reports the error at `origin` and returns
 * undefined.
 */
export function withSchema<T>(origin: Origin, report: (diagnostic: Diagnostic) => void, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    const { file, node, ...rest } = origin;
    report({
      code: "schema-fails",
      ...reasonOf(error),
      ...(node === undefined ? { file } : sourcePlaceOf(node)),
      ...rest,
    });
    return undefined;
  }
}

function reasonOf(error: unknown): Pick<Diagnostic, "message" | "help"> {
  if (error instanceof RangeError) {
    return {
      message: "The schema never ends: a part of it is made anew each time, or is nothing but itself.",
      help: "Have getters and z.lazy return constants: const Node = z.object({ get children() { return z.array(Node); } }).",
    };
  }
  const [reason = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  const message = `Nothing can be generated from this schema: ${reason.replace(/[.:]$/, "")}.`;
  return reason.startsWith("Duplicate schema id")
    ? { message, help: "Use one schema, a constant, in both places; or give each an id of its own." }
    : {
        message,
        help: "Change what fails: a getter, a default or metadata of the schema, or a schema that is frozen.",
      };
}
