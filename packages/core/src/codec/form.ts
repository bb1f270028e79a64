import type { Check } from "./check.js";

/** The structure of a shape: its kind, and the shapes and checks inside it. */
export type Form<Part, Condition = Check> =
  | Structure<{ readonly part: Part; readonly check: Condition }>
  /** A shape, `inner`, followed by checks of a zod schema that are not compiled. */
  | { readonly kind: "refined"; readonly inner: Part; readonly schema: unknown }
  /** A shape that is created when it is first needed, or that contains itself. */
  | { readonly kind: "lazy"; readonly inner: () => Part }
  /**
   * A schema that zod runs as a whole. `given` is the shape of its input, present if the wire format loses information
   * about it.
   */
  | {
      readonly kind: "external";
      readonly schema: unknown;
      readonly given?: Part | undefined;
      readonly takes?: PlainJson | undefined;
    };

/**
 * How a schema that zod runs as a whole treats plain JSON: "json" accepts it unchanged; "date" and "bigint" convert it.
 */
export type PlainJson = "json" | "date" | "bigint";

/**
 * The structure of a schema as data. Shapes at run time and the generator's schema nodes both have it; only the
 * generator sets the optional properties.
 *
 * @typeParam T the types of the nested schemas and the checks
 */
export type Structure<T extends Inside> =
  | { readonly kind: "string" | "number" | "bigint" | "date"; readonly checks: readonly T["check"][] }
  | { readonly kind: "boolean" | "null" | "undefined" | "any" | "never" }
  /** Bytes. `view` is the name of their typed array class, unless that is `Uint8Array`. */
  | { readonly kind: "bytes"; readonly view?: string | undefined }
  /** One of several literals. `entries` are the members of an enum by name. */
  | {
      readonly kind: "literal";
      readonly values: readonly unknown[];
      readonly entries?: Readonly<Record<string, unknown>>;
    }
  /** A template literal. `parts` are its texts and schemas, in order. */
  | { readonly kind: "template"; readonly regex: RegExp; readonly parts?: readonly (string | T["part"])[] }
  | {
      readonly kind: "object";
      readonly fields: Readonly<Record<string, T["part"]>>;
      /** How undeclared keys are handled: dropped ("strip"), refused ("strict"), or parsed with a schema. */
      readonly others: "strip" | "strict" | T["part"];
    }
  | { readonly kind: "array" | "set"; readonly element: T["part"]; readonly checks: readonly T["check"][] }
  | { readonly kind: "tuple"; readonly items: readonly T["part"][]; readonly rest: T["part"] | undefined }
  /** A record. If `partial`, keys may be missing; if `loose`, entries whose keys do not match are kept. */
  | {
      readonly kind: "record";
      readonly keys: RecordKeys<T["part"]>;
      readonly element: T["part"];
      readonly partial?: boolean;
      readonly loose?: boolean;
    }
  | {
      readonly kind: "map";
      readonly key: T["part"];
      readonly element: T["part"];
      readonly checks: readonly T["check"][];
    }
  /** A union. If `exclusive`, a value must match exactly one option. */
  | {
      readonly kind: "union";
      readonly options: readonly T["part"][];
      readonly exclusive?: boolean;
      /**
       * Name of the field that distinguishes the options. The generator sets it for a discriminated union that zod
       * itself parses.
       */
      readonly discriminator?: string | undefined;
    }
  | {
      readonly kind: "discriminated";
      readonly key: string;
      readonly options: readonly (readonly [value: unknown, option: T["part"]])[];
    }
  | { readonly kind: "intersection"; readonly left: T["part"]; readonly right: T["part"] }
  | { readonly kind: "optional" | "exactOptional" | "nullable" | "nonOptional" | "frozen"; readonly inner: T["part"] }
  /** A schema with a default. If `isConstant`, `value` returns the same value each time. */
  | {
      readonly kind: "default" | "prefault";
      readonly inner: T["part"];
      readonly value: () => unknown;
      readonly isConstant?: boolean;
    }
  | {
      readonly kind: "caught";
      readonly inner: T["part"];
      readonly value: (refused: Refused) => unknown;
      readonly isConstant?: boolean;
    }
  /** Two schemas in sequence. If `preprocesses`, `from` is a function whose input has the type that `to` accepts. */
  | { readonly kind: "pipe"; readonly from: T["part"]; readonly to: T["part"]; readonly preprocesses?: boolean };

/** Type parameters of a structure: the types of the schemas and checks inside it. */
export interface Inside {
  readonly part: unknown;
  readonly check: unknown;
}

/** A value that a schema's `catch` replaces: the input, the result of parsing it so far, and its issues. */
export interface Refused {
  readonly input: unknown;
  readonly value: unknown;
  readonly issues: readonly object[];
}

export interface RecordKeys<Part> {
  /** The keys of the record; all are required. */
  readonly exactly?: readonly string[];
  /** The keys that the record allows; none is required. */
  readonly among?: readonly string[];
  /** The schema that each key must match. A number in decimal digits matches a schema for numbers. */
  readonly fit?: Part;
}

/** Position of a schema inside another: the property that contains it, and its name or index there. */
export interface Place<Part> {
  readonly slot: string;
  readonly at?: string | number;
  readonly part: Part;
}

/** Names of the properties that contain nested schemas, by kind of structure, in the order of a schema. */
const SLOTS: Readonly<Record<string, readonly string[]>> = {
  object: ["fields", "others"],
  array: ["element"],
  set: ["element"],
  record: ["element"],
  map: ["key", "element"],
  tuple: ["items", "rest"],
  union: ["options"],
  discriminated: ["options"],
  intersection: ["left", "right"],
  pipe: ["from", "to"],
};
const WRAPPER: readonly string[] = ["inner"];

/** Returns the positions of the schemas directly inside a structure, including the key schema of a map. */
export function placesOf<Part>(form: Form<Part, unknown>): Place<Part>[] {
  const places: Place<unknown>[] = [];
  for (const slot of SLOTS[form.kind] ?? WRAPPER) {
    const value = (form as Readonly<Record<string, unknown>>)[slot];
    if (typeof value === "function") places.push({ slot, part: (value as () => unknown)() });
    else if (slot === "fields")
      for (const [at, part] of Object.entries(value as object)) places.push({ slot, at, part });
    else if (Array.isArray(value)) for (const [at, part] of partsIn(value).entries()) places.push({ slot, at, part });
    // `others` of an object is a schema or a string.
    else if (typeof value === "object") places.push({ slot, part: value });
  }
  return places as Place<Part>[];
}

/** Kinds whose values are arrays in JSON. */
export const LISTS: ReadonlySet<string> = /* @__PURE__ */ new Set(["array", "set", "tuple"]);
/** Kinds whose values consist of other values. */
export const CONTAINERS: ReadonlySet<string> = /* @__PURE__ */ new Set([
  "object",
  "record",
  "map",
  "array",
  "set",
  "tuple",
]);

/** Returns the schema for the item or property `key` of a value; undefined if there is none. */
export function partAt<Part>(form: Form<Part, unknown>, key: PropertyKey): Part | undefined {
  if (form.kind === "tuple") return form.items[Number(key)] ?? form.rest;
  if (form.kind === "object") {
    const { others } = form;
    return Object.hasOwn(form.fields, key)
      ? form.fields[key as string]
      : typeof others === "object"
        ? others
        : undefined;
  }
  return form.kind !== "map" && "element" in form ? form.element : undefined;
}

/**
 * Returns the schemas in a list. The list of a discriminated union contains pairs, and several of them may have the
 * same option.
 */
function partsIn(list: readonly unknown[]): readonly unknown[] {
  return Array.isArray(list[0]) ? [...new Set(list.map((pair) => (pair as readonly unknown[])[1]))] : list;
}

/** Returns the schemas directly inside a structure. */
export function partsOf<Part>(form: Form<Part, unknown>): Part[] {
  return placesOf(form).map(({ part }) => part);
}
