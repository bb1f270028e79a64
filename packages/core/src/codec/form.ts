import type { Check } from "./check.js";

/** The structure of a shape. */
export type Form<Part, Condition = Check> =
  | Structure<{ readonly part: Part; readonly check: Condition }>
  /** Checks of a zod schema, on what `inner` results in. */
  | { readonly kind: "refined"; readonly inner: Part; readonly schema: unknown }
  /** A shape that is made when it is needed, or is inside itself. */
  | { readonly kind: "lazy"; readonly inner: () => Part }
  /** A zod schema, which zod runs whole; `given` is what it takes, where the wire says less than that. */
  | {
      readonly kind: "external";
      readonly schema: unknown;
      readonly given?: Part | undefined;
      readonly takes?: PlainJson | undefined;
    };

/** What a schema that zod runs whole makes of plain JSON: it takes that as it is, or makes dates or bigints of it. */
export type PlainJson = "json" | "date" | "bigint";

/**
 * A schema as data: the list of the kinds of schema, for shapes at run time and for the nodes of the generator. What is optional here only the
 * generator knows.
 *
 * @typeParam T the types of what is inside it
 */
export type Structure<T extends Inside> =
  | { readonly kind: "string" | "number" | "bigint" | "date"; readonly checks: readonly T["check"][] }
  | { readonly kind: "boolean" | "null" | "undefined" | "any" | "never" }
  /** `view` is the name of the class of typed arrays of which it is, unless that is `Uint8Array`. */
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
  /** Not every key need be there in one that is `partial`; one that is `loose` leaves keys alone that do not fit. */
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
  /** One that is `exclusive` takes what exactly one option takes. */
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
  /** The value of one that `isConstant` is the same each time. */
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
  /** The function of one that `preprocesses` is run on what the schema after it takes. */
  | { readonly kind: "pipe"; readonly from: T["part"]; readonly to: T["part"]; readonly preprocesses?: boolean };

/** What structures consist of. */
export interface Inside {
  /** Schemas inside a schema. */
  readonly part: unknown;
  /** A check on a value of the right type. */
  readonly check: unknown;
}

/** A value that is caught: as it was given, as far as it was parsed, and what is wrong with it. */
export interface Refused {
  readonly input: unknown;
  readonly value: unknown;
  readonly issues: readonly object[];
}

/** How a record treats keys. */
export interface RecordKeys<Part> {
  /** The keys it must have, each of them. */
  readonly exactly?: readonly string[];
  /** The keys it may have. */
  readonly among?: readonly string[];
  /** The schema that each key must fit; a number as a key is text. */
  readonly fit?: Part;
}

/** A part of a form: the property that it is in, with its name or index there. */
export interface Place<Part> {
  readonly slot: string;
  readonly at?: string | number;
  readonly part: Part;
}

/** The properties that are parts or have some, by the kind of form, in the order in which a schema lists them. */
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

/** The places of the schemas directly inside a form that a value of it may have, and of those of the keys of a map. */
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

/** The options of a discriminated union are pairs, several of which may have one option. */
function partsIn(list: readonly unknown[]): readonly unknown[] {
  return Array.isArray(list[0]) ? [...new Set(list.map((pair) => (pair as readonly unknown[])[1]))] : list;
}

/** The schemas at these places. */
export function partsOf<Part>(form: Form<Part, unknown>): Part[] {
  return placesOf(form).map(({ part }) => part);
}
