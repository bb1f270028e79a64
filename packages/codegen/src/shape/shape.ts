import type { ItemCursor, Structure } from "@quicrpc/core/internal";

/**
 * A literal value: a JSON value, or an object that represents a bigint or a number which JSON lacks (NaN, -0 or an
 * infinity).
 */
export type LiteralValue =
  | string
  | number
  | boolean
  | null
  | { readonly bigint: string }
  | { readonly number: "NaN" | "-0" | "Infinity" | "-Infinity" };

/** Converts a literal to the value by which it is compared and printed. */
export function valueOfLiteral(value: LiteralValue): string | number | bigint | boolean | null {
  if (typeof value !== "object" || value === null) return value;
  return "bigint" in value ? BigInt(value.bigint) : Number(value.number);
}

/** Conditions on a value in addition to its type, such as lengths, bounds and formats. */
export interface Checks {
  /**
   * Minimum of a number, of a date in milliseconds, of a string's length or of a collection's size; `max` is the
   * maximum.
   */
  readonly min?: number | string;
  readonly max?: number | string;
  /** Exclusive minimum; `below` is the exclusive maximum. */
  readonly above?: number | string;
  readonly below?: number | string;
  readonly multipleOf?: number | string;
  /** Format such as `integer`, `email` or `uuid`; several formats are joined by "and". */
  readonly format?: string;
  /** Options of the formats, such as `time.precision` or `uuid.version`. */
  readonly options?: Readonly<Record<string, string>>;
  /** Regular expressions that a string must match. */
  readonly patterns?: readonly string[];
  /** Number of user's functions that check the value, such as in `refine`. */
  readonly custom?: number;
  /** True if the receiver accepts every value, as with `catch`. */
  readonly lenient?: true;
  /** Checks that apply after a function such as `trim` has changed the value. */
  readonly changed?: Checks;
  /** Inside `changed`: name of the zod function that has changed the value. */
  readonly by?: string;
  /**
   * Conditions that are only compared as texts: the shape that a converted value or a property must match, or the
   * alternatives of a value.
   */
  readonly others?: readonly string[];
}

/** Kinds of schema nodes that shapes have. Shapes contain no wrappers, defaults and functions. */
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
  readonly optional?: true;
}

/**
 * The form of a message on the wire, which can be stored in a file and compared with a later version. A schema has the
 * same shape in every version of zod.
 */
export type Shape = ShapeFacts &
  (
    | Stored<WireKind>
    | { readonly kind: "literal"; readonly values: readonly LiteralValue[] }
    /** An object. `others` states how undeclared keys are treated; if it is absent, the receiver drops them. */
    | (Omit<Stored<"object">, "others"> & { readonly others?: "strict" | Shape })
    /** A tuple. The first `required` items must be present; items after the declared ones match `rest`. */
    | (Omit<Stored<"tuple">, "rest"> & { readonly required: number; readonly rest?: Shape })
    /**
     * A value whose form only the schema's own code knows ("opaque"), or chunks of bytes that are not messages ("raw").
     */
    | { readonly kind: "opaque" | "raw" }
    /** A reference to a named type of the service. `checks` replaces the checks of the type, `more` adds to them. */
    | { readonly kind: "ref"; readonly name: string; readonly more?: Checks }
  );

export type ShapeOf<Kind> = Extract<Shape, { readonly kind: Kind }>;

/** Returns the name of a shape's type: its kind, or the class of a typed array. */
export function shapeTypeName(shape: { readonly kind: string; readonly view?: string | undefined }): string {
  return shape.view ?? shape.kind;
}

export type TableShape = ShapeOf<"record"> | ShapeOf<"map">;

export function keysOf(table: TableShape): Shape {
  return table.kind === "map" ? table.key : (table.keys.fit ?? { kind: "string" });
}

/** Returns true for a record that may lack some keys of a finite set. */
export function isPartial(table: TableShape): boolean {
  return table.kind === "record" && table.partial === true;
}

/** Named shapes, to which shapes of the kind "ref" refer. */
export type ShapeTypes = Readonly<Record<string, Shape>>;

/** Everything about a method that a peer depends on. */
export interface MethodSnapshot {
  readonly id: number;
  readonly kind: string;
  readonly idempotent?: true;
  readonly readOnly?: true;
  readonly once?: true;
  readonly delivery?: string;
  /** Name in the `.proto` file, if the method's metadata contains it. */
  readonly proto?: string;
  /** Fields of an item that are its cursor. */
  readonly cursor?: ItemCursor;
  /** Shape of the message from the caller, or of one item if the caller streams. */
  readonly input?: Shape;
  /** Shape of the message from the callee, or of one item if the callee streams. */
  readonly output?: Shape;
  /**
   * Shape of the value that a caller receives, if it differs from `output` because the receiver applies defaults and
   * conversions.
   */
  readonly result?: Shape;
  readonly errors?: Readonly<Record<string, ErrorSnapshot>>;
}

/** A declared error of a method. */
export interface ErrorSnapshot {
  readonly code: string;
  readonly details?: Shape;
}

/**
 * A protobuf message or enum: the number of each field or value, and the type of each field, such as `optional int64`.
 */
export interface ProtoShape {
  readonly fields?: Readonly<Record<string, readonly [number: number, type: string]>>;
  readonly values?: Readonly<Record<string, number>>;
}

/** Everything about a service that a peer depends on. */
export interface ServiceSnapshot {
  /** Value of `SHAPE_FORMAT` in the version that created the shapes; undefined in snapshots of the first versions. */
  readonly format?: number;
  readonly id: number;
  readonly methods: Readonly<Record<string, MethodSnapshot>>;
  readonly types: ShapeTypes;
  /** Protobuf messages and enums of the service, by name in the package; undefined if there are no `.proto` files. */
  readonly proto?: Readonly<Record<string, ProtoShape>>;
}

/**
 * Number that is increased when the shapes of unchanged schemas change, for example by a new check. Before format 3,
 * kinds of shapes had other names.
 */
export const SHAPE_FORMAT: number = 3;

/** Version of the snapshot file, in which its fields have their current names. */
export const SNAPSHOT_VERSION = 2;

/** Snapshot of all services of a project, to be compared with another version. */
export interface SchemaSnapshot {
  readonly version: typeof SNAPSHOT_VERSION;
  readonly services: Readonly<Record<string, ServiceSnapshot>>;
}
