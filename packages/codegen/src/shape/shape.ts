import type { ItemCursor, Structure } from "@quicrpc/core/generated";

/** A literal value: JSON, or a value that JSON lacks. The numbers that JSON lacks are NaN, -0 and the infinities. */
export type LiteralValue =
  | string
  | number
  | boolean
  | null
  | { readonly bigint: string }
  | { readonly number: "NaN" | "-0" | "Infinity" | "-Infinity" };

/** Returns the value that represents a literal in a JSON file. */
export function valueOfLiteral(value: LiteralValue): string | number | bigint | boolean | null {
  if (typeof value !== "object" || value === null) return value;
  return "bigint" in value ? BigInt(value.bigint) : Number(value.number);
}

/** Conditions on a value besides its type: lengths, bounds, formats. */
export interface Checks {
  /** Bound of a number, of a date in milliseconds, of a string's length or of a collection's size. */
  readonly min?: number | string;
  readonly max?: number | string;
  /** Exclusive bounds. */
  readonly above?: number | string;
  readonly below?: number | string;
  readonly multipleOf?: number | string;
  /** A format such as `integer`, `email` or `uuid`; several are joined by "and". */
  readonly format?: string;
  /** Options of the formats, such as `time.precision` or `uuid.version`. */
  readonly options?: Readonly<Record<string, string>>;
  /** Regular expressions that a string must match. */
  readonly patterns?: readonly string[];
  /** Number of user functions that check the value, such as in `refine`. */
  readonly custom?: number;
  /** True if the receiver accepts anything, as with `catch`. */
  readonly lenient?: true;
  /** Checks after `trim` or another function has changed the value. */
  readonly changed?: Checks;
  /** Among the checks of a changed value: the name of the function of zod that has changed it. */
  readonly by?: string;
  /** Conditions that are compared as text: the shape that a converted value or a property must match, or the alternatives that the value may match. */
  readonly others?: readonly string[];
}

/** Kinds of the model that remain on the wire: wrappers, defaults and functions are resolved. */
type WireKind =
  | "any"
  | "never"
  | "undefined"
  | "null"
  | "boolean"
  | "string"
  | "number"
  | "bigint"
  | "date"
  | "bytes"
  | "array"
  | "set"
  | "record"
  | "map"
  | "union"
  | "intersection";

interface InsideShapes {
  readonly part: Shape;
  readonly check: never;
}
type Stored<Kind> = WithoutChecks<Extract<Structure<InsideShapes>, { readonly kind: Kind }>>;
type WithoutChecks<Body> = Body extends unknown ? Omit<Body, "checks"> : never;

interface ShapeFacts {
  readonly checks?: Checks;
  /** True for the field of an object that may be left out. */
  readonly optional?: true;
}

/**
 * A message's form on the wire: a part of the model that can be stored in a file and compared with a later one. The
 * same schema has the same shape in every version of zod.
 */
export type Shape = ShapeFacts &
  (
    | Stored<WireKind>
    | { readonly kind: "literal"; readonly values: readonly LiteralValue[] }
    /** `others` states how other keys are handled, unless the receiver drops them. */
    | (Omit<Stored<"object">, "others"> & { readonly others?: "strict" | Shape })
    /** The items up to `required` must be present; further ones match `rest`. */
    | (Omit<Stored<"tuple">, "rest"> & { readonly required: number; readonly rest?: Shape })
    /** A value that only the schema's own code knows, and chunks of bytes that are not messages. */
    | { readonly kind: "opaque" | "raw" }
    /** A named type of the service. At a use with checks, `checks` replaces the type's own checks, or `more` adds to them. */
    | { readonly kind: "ref"; readonly name: string; readonly more?: Checks }
  );

/** A shape of one kind. */
export type ShapeOf<Kind> = Extract<Shape, { readonly kind: Kind }>;

/** Returns the name of a shape's type: its kind or, for typed arrays, their class. */
export function typeName(shape: { readonly kind: string; readonly view?: string | undefined }): string {
  return shape.view ?? shape.kind;
}

/** A record or a map. */
export type TableShape = ShapeOf<"record"> | ShapeOf<"map">;

/** Returns the shape of the keys of a record or a map. */
export function keysOf(table: TableShape): Shape {
  return table.kind === "map" ? table.key : (table.keys.fit ?? { kind: "string" });
}

/** Returns true for a record that need not have all keys of a finite set. */
export function isPartial(table: TableShape): boolean {
  return table.kind === "record" && table.partial === true;
}

/** Named shapes, to which `ref` refers. */
export type ShapeTypes = Readonly<Record<string, Shape>>;

/** A method as a peer sees it. */
export interface MethodSnapshot {
  readonly id: number;
  readonly kind: string;
  readonly idempotent?: true;
  readonly readOnly?: true;
  readonly once?: true;
  readonly delivery?: string;
  /** The cursor fields of the items. */
  readonly cursor?: ItemCursor;
  /** The caller's message, or one item if it streams. */
  readonly input?: Shape;
  /** The callee's message, or one item if it streams. */
  readonly output?: Shape;
  /** The value that a caller receives, if it differs from the value sent: defaults and conversions are applied by the receiver. */
  readonly result?: Shape;
  readonly errors?: Readonly<Record<string, ErrorSnapshot>>;
}

/** A declared error of a method. */
export interface ErrorSnapshot {
  readonly code: string;
  readonly details?: Shape;
}

/** A message or an enum of protobuf: the number of each part, and the type of a field, such as `optional int64`. */
export interface ProtoShape {
  readonly fields?: Readonly<Record<string, readonly [number: number, type: string]>>;
  readonly values?: Readonly<Record<string, number>>;
}

/** A service as a peer sees it. */
export interface ServiceSnapshot {
  /** The `SHAPE_FORMAT` of the version that made its shapes. The first versions did not write it. */
  readonly format?: number;
  readonly id: number;
  readonly methods: Readonly<Record<string, MethodSnapshot>>;
  readonly types: ShapeTypes;
  /** Its messages and enums in protobuf, if there are `.proto` files, by their name in the package. */
  readonly proto?: Readonly<Record<string, ProtoShape>>;
}

/** Increased whenever shapes change, such as by a new check. Shapes before format 3 have other names for their kinds. */
export const SHAPE_FORMAT: number = 3;

/** Version of the file with snapshots, whose parts it names. */
export const SNAPSHOT_VERSION = 2;

/** All services of a project at one time. */
export interface SchemaSnapshot {
  readonly version: typeof SNAPSHOT_VERSION;
  readonly services: Readonly<Record<string, ServiceSnapshot>>;
}
