import type { Check } from "./check.js";

/**
 * The structure of a shape as data, for those who make more of a schema than parsing.
 *
 * @typeParam Part the shapes inside it
 */
export type Form<Part> =
  | { readonly kind: "string" | "number" | "bigint" | "date"; readonly checks: readonly Check[] }
  | { readonly kind: "boolean" | "bytes" | "null" | "undefined" | "any" | "never" }
  | { readonly kind: "literal"; readonly values: readonly unknown[] }
  | { readonly kind: "template"; readonly regex: RegExp }
  | {
      readonly kind: "object";
      readonly fields: Readonly<Record<string, Part>>;
      /** How other keys are handled: dropped, refused, or by a shape. */
      readonly others: "strip" | "strict" | Part;
    }
  | { readonly kind: "array" | "set"; readonly element: Part; readonly checks: readonly Check[] }
  | { readonly kind: "tuple"; readonly items: readonly Part[]; readonly rest: Part | undefined }
  | { readonly kind: "record"; readonly keys: RecordKeys<Part>; readonly element: Part }
  | { readonly kind: "map"; readonly key: Part; readonly element: Part; readonly checks: readonly Check[] }
  | { readonly kind: "union"; readonly options: readonly Part[] }
  | {
      readonly kind: "discriminated";
      readonly key: string;
      readonly options: readonly (readonly [value: unknown, option: Part])[];
    }
  | { readonly kind: "intersection"; readonly left: Part; readonly right: Part }
  | { readonly kind: "optional" | "nullable" | "nonOptional" | "frozen"; readonly inner: Part }
  | { readonly kind: "default" | "prefault"; readonly inner: Part; readonly value: () => unknown }
  | { readonly kind: "caught"; readonly inner: Part; readonly value: (refused: Refused) => unknown }
  | { readonly kind: "pipe"; readonly from: Part; readonly to: Part }
  /** Checks of a zod schema, on what `inner` results in. */
  | { readonly kind: "refined"; readonly inner: Part; readonly schema: unknown }
  /** A shape that is made when it is needed, or is inside itself. */
  | { readonly kind: "lazy"; readonly inner: () => Part }
  /** A zod schema, which zod runs whole; `given` is what it takes, where the wire says less than that. */
  | { readonly kind: "external"; readonly schema: unknown; readonly given?: Part | undefined };

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
  /** Shape that each key must fit; a number as a key is text. */
  readonly fit?: Part;
}
