import { isBytesSchema, isStreamSchema, type Payload } from "@quicrpc/core/internal";
import { callsAsync, isConstantDefault } from "../schema/constant.js";
import type { DiagnosticCode } from "../diagnostics.js";
import { type AnySchema, canonical, defOf, isZod3Schema, isZodSchema } from "./zod.js";

export interface Unsupported {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help: string;
}

const REPLACEMENTS: Readonly<Record<string, readonly [what: string, help: string]>> = {
  function: ["a function", "Functions cannot be sent. Make it a method of the service, and send its arguments."],
  promise: ["a promise", "Write the schema of the value it gives: handlers may return a promise of any output."],
  symbol: ["a symbol", "Symbols cannot be sent. Use z.literal or z.enum."],
  file: [
    "a file",
    "Make it blob() of @quicrpc/blobs, a field of the whole message. What is small may be z.instanceof(Uint8Array).",
  ],
};

/** Returns the reason why `schema` cannot be sent, regardless of nested schemas; undefined if it can. */
export function unsupported(schema: AnySchema): Unsupported | undefined {
  const def = defOf(schema);
  const replacement = REPLACEMENTS[def.type];
  if (replacement !== undefined) {
    return unsupportedType(`z.${def.type}() is ${replacement[0]}, which has no form on the wire.`, replacement[1]);
  }
  if ((def.type === "default" || def.type === "prefault") && isConstantDefault(def) && def.defaultValue === undefined) {
    return unsupportedType("A default of undefined is none.", "Leave the default out: .optional() is enough.");
  }
  if (def.type === "literal" && def.values.some((value) => typeof value === "symbol")) {
    return unsupportedType("A symbol has no form on the wire.", 'Use a string, as in z.literal("name").');
  }
  if (def.type === "custom" && bytesClass(schema) === undefined) {
    const name = classOf(schema)?.name;
    if (name !== undefined) {
      return unsupportedType(
        `z.instanceof(${name}) is a class, and an instance would arrive as a plain object or not at all.`,
        name === "Date"
          ? "Use z.date()."
          : /^(Buffer|ArrayBuffer|DataView|\w+Array|Blob)$/.test(name)
            ? "Use z.instanceof(Uint8Array) for bytes, or another class of typed arrays."
            : "Describe its fields with z.object, and make the instance with z.codec or in the handler.",
      );
    }
  }
  return undefined;
}

/**
 * Returns the reason why a function of `schema` cannot be run: it is asynchronous, but messages are validated
 * synchronously. Returns undefined if there is none.
 */
export function asynchronous(schema: AnySchema): Unsupported | undefined {
  const def = defOf(schema);
  const { fn, catchValue, transform, reverseTransform } = def as unknown as Readonly<Record<string, unknown>>;
  const parts = def.type === "pipe" ? [def.in, def.out].filter(({ _zod }) => _zod.def.type === "transform") : [];
  const checks = (def.checks ?? []).map(({ _zod }) => _zod as unknown as CheckInternals);
  const functions = [
    fn,
    catchValue,
    transform,
    reverseTransform,
    ...checks.flatMap(({ def: { fn, tx }, check }) => [fn, tx, check]),
  ];
  const isAsynchronous =
    functions.some(isAsync) ||
    // Inspecting a function takes milliseconds, so only checks that call a user's function are inspected.
    checks.some(({ def, check }) => def.check === "custom" && def.fn === undefined && callsAsync(check));
  if (!isAsynchronous) {
    return parts.map(asynchronous).find((each) => each !== undefined);
  }
  return unsupportedType(
    "A function of this schema is asynchronous, and messages are checked synchronously: every call would fail.",
    "Check or convert the value in the handler, or before the call, where it may wait.",
  );
}

interface CheckInternals {
  readonly def: { readonly check?: unknown; readonly fn?: unknown; readonly tx?: unknown };
  readonly check: unknown;
}

function isAsync(value: unknown): boolean {
  return /^\[object Async(?:Generator)?Function\]$/.test(Object.prototype.toString.call(value));
}

/** Names of typed array classes, whose values are sent as bytes. */
const TYPED_ARRAYS: ReadonlySet<string> = new Set(
  (
    "Uint8Array Int8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array Float64Array " +
    "BigInt64Array BigUint64Array"
  ).split(" "),
);

/**
 * Returns the name of the typed array class that a custom schema accepts, such as `Float64Array`; undefined if it
 * accepts other values. A schema without a class counts as one for bytes if it accepts a Uint8Array, but not every
 * object.
 */
export function bytesClass(schema: AnySchema): string | undefined {
  const name = classOf(schema)?.name;
  if (name !== undefined) return TYPED_ARRAYS.has(name) ? name : undefined;
  const takesBytes = accepts(schema, new Uint8Array()) && !accepts(schema, {}) && !accepts(schema, "");
  return takesBytes ? "Uint8Array" : undefined;
}

/**
 * Returns the reason why the options of a union cannot be distinguished: they accept bytes of two classes, which are
 * the same on the wire.
 */
export function confusedBytes(views: string): Unsupported {
  return unsupportedType(
    `This union has ${views} in the same place: both are bytes on the wire, and the receiver cannot tell which.`,
    "Use one class, or objects with a literal field that differs.",
  );
}

export function notASchema(value: unknown, isRoot: boolean): Unsupported {
  if (typeof value === "object" && value !== null) {
    if (isStreamSchema(value as Payload)) {
      return {
        code: "nested-stream",
        message: "A stream cannot be inside a message.",
        help: "Stream the whole input or output, as in output: stream(z.object({ … })), or use z.array for a list.",
      };
    }
    if (isBytesSchema(value as Payload)) {
      return {
        code: "nested-bytes",
        message: "bytes() cannot be inside a message.",
        help: "Use z.instanceof(Uint8Array) for bytes in a message.",
      };
    }
    if (isZod3Schema(value)) {
      return {
        code: "zod-3",
        message: "This schema is made by zod 3.",
        help: 'Install zod 4 (npm install zod@^4), or import from "zod/v4" where zod 3.25 is installed.',
      };
    }
    const fields = Object.entries(value);
    if (fields.some(([, field]) => isZodSchema(field))) {
      return {
        code: "not-a-schema",
        message: "This is a plain object of schemas, not a schema.",
        help: "Put z.object around it: z.object({ … }).",
      };
    }
  }
  return {
    code: "not-a-schema",
    message: `This is ${describe(value)}, not a zod schema.`,
    help: isRoot ? "Use a zod 4 schema, such as z.object({ … }), stream(schema) or bytes()." : "Use a zod 4 schema.",
  };
}

function unsupportedType(message: string, help: string): Unsupported {
  return { code: "unsupported-type", message, help };
}

function classOf(schema: AnySchema): { readonly name: string } | undefined {
  // Copies of a schema made by checks and descriptions lack this property.
  const { Class } = canonical(schema)._zod.bag as { Class?: unknown };
  return typeof Class === "function" ? Class : undefined;
}

function accepts(schema: AnySchema, value: unknown): boolean {
  try {
    const result = schema._zod.run({ value, issues: [] }, {});
    return !(result instanceof Promise) && result.issues.length === 0;
  } catch {
    return false;
  }
}

function describe(value: unknown): string {
  if (value === undefined) return "undefined (an import that does not exist, or a constant used before it is set?)";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "function") return "a function";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
