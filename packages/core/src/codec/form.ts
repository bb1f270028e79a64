import type { Check } from "./check.js";

/** The structure of a shape. */
export type Form<Part, Condition = Check> =
  | Structure<{ readonly part: Part; readonly check: Condition }>
  /** Checks of a zod schema on the result of `inner`. */
  | { readonly kind: "refined"; readonly inner: Part; readonly schema: unknown }
  /** A shape that is created when it is needed, or that contains itself. */
  | { readonly kind: "lazy"; readonly inner: () => Part }
  /** A schema that zod runs as a whole; `given` is the shape of its input, if the wire loses information about it. */
  | {
      readonly kind: "external";
      readonly schema: unknown;
      readonly given?: Part | undefined;
      readonly takes?: PlainJson | undefined;
    };

/** How a schema that zod runs as a whole treats plain JSON: accepts it as it is, or converts it to a date or a bigint. */
export type PlainJson = "json" | "date" | "bigint";

/**
 * A schema as data. Shapes at run time and the nodes of the generator have these kinds; only the generator sets the
 * optional properties.
 *
 * @typeParam T the types of its parts and checks
 */
export type Structure<T extends Inside> =
  | { readonly kind: "string" | "number" | "bigint" | "date"; readonly checks: readonly T["check"][] }
  | { readonly kind: "boolean" | "null" | "undefined" | "any" | "never" }
  /** `view` is the name of its class of typed arrays, unless that is `Uint8Array`. */
  | { readonly kind: "bytes"; readonly view?: string | undefined }
  /** `entries` are the members of an enum by name. */
  | {
      readonly kind: "literal";
      readonly values: readonly unknown[];
      readonly entries?: Readonly<Record<string, unknown>>;
    }
  /** `parts` are its texts and schemas, in order. */
  | { readonly kind: "template"; readonly regex: RegExp; readonly parts?: readonly (string | T["part"])[] }
  | {
      readonly kind: "object";
      readonly fields: Readonly<Record<string, T["part"]>>;
      /** How other keys are handled: dropped, refused, or by a schema. */
      readonly others: "strip" | "strict" | T["part"];
    }
  | { readonly kind: "array" | "set"; readonly element: T["part"]; readonly checks: readonly T["check"][] }
  | { readonly kind: "tuple"; readonly items: readonly T["part"][]; readonly rest: T["part"] | undefined }
  /** A `partial` record may lack keys; a `loose` one keeps entries whose keys do not match. */
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
  /** An `exclusive` union accepts values that match exactly one option. */
  | {
      readonly kind: "union";
      readonly options: readonly T["part"][];
      readonly exclusive?: boolean;
      /** The field that distinguishes the options, in the generator's model of a discriminated union that zod tests itself. */
      readonly discriminator?: string | undefined;
    }
  | {
      readonly kind: "discriminated";
      readonly key: string;
      readonly options: readonly (readonly [value: unknown, option: T["part"]])[];
    }
  | { readonly kind: "intersection"; readonly left: T["part"]; readonly right: T["part"] }
  | { readonly kind: "optional" | "exactOptional" | "nullable" | "nonOptional" | "frozen"; readonly inner: T["part"] }
  /** If it `isConstant`, `value` returns the same value each time. */
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
  /** If it `preprocesses`, `from` is a function whose input has the type that `to` accepts. */
  | { readonly kind: "pipe"; readonly from: T["part"]; readonly to: T["part"]; readonly preprocesses?: boolean };

/** The types inside a structure. */
export interface Inside {
  /** Schemas inside a schema. */
  readonly part: unknown;
  /** A check on a value of the right type. */
  readonly check: unknown;
}

/** A value that `caught` replaces: the input, the result of parsing it so far, and its issues. */
export interface Refused {
  readonly input: unknown;
  readonly value: unknown;
  readonly issues: readonly object[];
}

/** How a record treats keys. */
export interface RecordKeys<Part> {
  /** Keys that are all required. */
  readonly exactly?: readonly string[];
  /** Keys that are allowed. */
  readonly among?: readonly string[];
  /** The schema that each key must match. Numbers are keys as text. */
  readonly fit?: Part;
}

/** A part of a form: its property, and its name or index there. */
export interface Place<Part> {
  readonly slot: string;
  readonly at?: string | number;
  readonly part: Part;
}

/** The properties that contain parts, by the kind of form, in the order of a schema. */
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

/** Returns the places directly inside a form, including the keys of a map. */
export function placesOf<Part>(form: Form<Part, unknown>): Place<Part>[] {
  const places: Place<unknown>[] = [];
  for (const slot of SLOTS[form.kind] ?? WRAPPER) {
    const value = (form as Readonly<Record<string, unknown>>)[slot];
    if (typeof value === "function") places.push({ slot, part: (value as () => unknown)() });
    else if (slot === "fields")
      for (const [at, part] of Object.entries(value as object)) places.push({ slot, at, part });
    else if (Array.isArray(value)) for (const [at, part] of partsIn(value).entries()) places.push({ slot, at, part });
    // How an object handles other keys may be a word.
    else if (typeof value === "object") places.push({ slot, part: value });
  }
  return places as Place<Part>[];
}

/** Kinds whose values are objects in JSON. */
export const OBJECTS: ReadonlySet<string> = /* @__PURE__ */ new Set(["object", "record", "map"]);
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

/** Returns the part for the item or property `key` of a value; undefined if there is none. */
export function partAt<Part>(form: Form<Part, unknown>, key: string | number): Part | undefined {
  if (form.kind === "tuple") return form.items[Number(key)] ?? form.rest;
  if (form.kind === "object") {
    const { others } = form;
    return Object.hasOwn(form.fields, key) ? form.fields[key] : typeof others === "object" ? others : undefined;
  }
  return form.kind !== "map" && "element" in form ? form.element : undefined;
}

/** Returns the parts in a list. A discriminated union has pairs, several of which may have the same option. */
function partsIn(list: readonly unknown[]): readonly unknown[] {
  return Array.isArray(list[0]) ? [...new Set(list.map((pair) => (pair as readonly unknown[])[1]))] : list;
}

/** Returns the parts at these places. */
export function partsOf<Part>(form: Form<Part, unknown>): Part[] {
  return placesOf(form).map(({ part }) => part);
}
