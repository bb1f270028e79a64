import type { ItemCursor } from "@quicrpc/core/generated";

/** A value of a literal: JSON, and what JSON lacks. Numbers that JSON lacks are NaN, -0 and the infinite ones. */
export type LiteralValue =
  | string
  | number
  | boolean
  | null
  | { readonly bigint: string }
  | { readonly number: "NaN" | "-0" | "Infinity" | "-Infinity" };

/** The value that stands for a literal in a file of JSON. */
export function valueOfLiteral(value: LiteralValue): string | number | bigint | boolean | null {
  if (typeof value !== "object" || value === null) return value;
  return "bigint" in value ? BigInt(value.bigint) : Number(value.number);
}

/** Demands on a value besides its type: lengths, bounds, formats. */
export interface Checks {
  /** The bound of a number, of a date in milliseconds, of a string's length, of a collection's size. */
  readonly min?: number | string;
  readonly max?: number | string;
  /** Exclusive bounds. */
  readonly above?: number | string;
  readonly below?: number | string;
  readonly multipleOf?: number | string;
  /** `integer`, `email`, `uuid` …; several are joined by "and". */
  readonly format?: string;
  /** Options that formats were asked for with, such as `time.precision` or `uuid.version`. */
  readonly options?: Readonly<Record<string, string>>;
  /** Regular expressions that a string must match. */
  readonly patterns?: readonly string[];
  /** How many functions of the user check the value, by `refine` and the like. */
  readonly custom?: number;
  /** The receiver takes anything, as by `catch`. */
  readonly lenient?: true;
  /** Demands on the value after `trim` or another function of zod's has changed it. */
  readonly changed?: Checks;
  /** Conditions that are compared as text: the shape that a converted value must fit, the options of which one must fit. */
  readonly others?: readonly string[];
}

/**
 * Types without parts. `opaque` is what only the schema's own code knows, `any` what may be anything, `raw` chunks of bytes
 * that are no messages.
 */
export type ScalarType =
  | "any"
  | "opaque"
  | "never"
  | "undefined"
  | "null"
  | "boolean"
  | "string"
  | "number"
  | "bigint"
  | "date"
  | "bytes"
  | "raw";

/**
 * A message's form on the wire, free of the library that describes it: the same schema has the same shape under
 * every version of zod, and a shape can be kept in a file and compared with a later one.
 */
export type Shape =
  | { readonly type: ScalarType; readonly checks?: Checks }
  | { readonly type: "literal"; readonly values: readonly LiteralValue[]; readonly checks?: Checks }
  | ObjectShape
  | { readonly type: "array" | "set"; readonly items: Shape; readonly checks?: Checks }
  | {
      readonly type: "tuple";
      readonly items: readonly Shape[];
      readonly required: number;
      readonly rest?: Shape;
      readonly checks?: Checks;
    }
  | {
      readonly type: "record" | "map";
      readonly key: Shape;
      readonly value: Shape;
      /** Not every key of a finite set need be there. */
      readonly partial?: true;
      readonly checks?: Checks;
    }
  | { readonly type: "union"; readonly options: readonly Shape[] }
  | { readonly type: "intersection"; readonly parts: readonly Shape[]; readonly checks?: Checks }
  /** A type of the service, by name; with `checks` in the place of its own, or `more` beside them, where it is used with others. */
  | { readonly type: "ref"; readonly name: string; readonly checks?: Checks; readonly more?: Checks };

/** An object: what else than its fields it may have is `rest`, `"refused"`, or dropped by the receiver. */
export interface ObjectShape {
  readonly type: "object";
  readonly fields: Readonly<Record<string, Shape>>;
  /** The names of fields that may be left out. */
  readonly optional?: readonly string[];
  readonly rest?: Shape | "refused";
  readonly checks?: Checks;
}

/** Named shapes, as `ref` refers to them. */
export type ShapeTypes = Readonly<Record<string, Shape>>;

/** One method as a peer sees it. */
export interface MethodSnapshot {
  readonly id: number;
  readonly kind: string;
  readonly idempotent?: true;
  readonly readOnly?: true;
  readonly once?: true;
  readonly delivery?: string;
  /** Where the items of its stream have their cursors. */
  readonly cursor?: ItemCursor;
  /** The message that the caller sends; of a stream, one item. */
  readonly input?: Shape;
  /** The message that the callee sends; of a stream, one item. */
  readonly output?: Shape;
  /** The value that a caller receives, where it differs from what was sent: defaults and conversions are the receiver's. */
  readonly result?: Shape;
  readonly errors?: Readonly<Record<string, ErrorSnapshot>>;
}

/** One error that a method declares. */
export interface ErrorSnapshot {
  readonly code: string;
  readonly details?: Shape;
}

/** One service as a peer sees it. */
export interface ServiceSnapshot {
  /** The `SHAPE_FORMAT` of the version that made its shapes. The first versions wrote none. */
  readonly format?: number;
  readonly id: number;
  readonly methods: Readonly<Record<string, MethodSnapshot>>;
  readonly types: ShapeTypes;
}

/** Greater by one whenever shapes say of schemas what they did not before, as another check. */
export const SHAPE_FORMAT: number = 2;

/** All services of a project at one time. */
export interface SchemaSnapshot {
  readonly version: 1;
  readonly services: Readonly<Record<string, ServiceSnapshot>>;
}
