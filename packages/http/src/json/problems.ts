import { placesOf } from "@quicrpc/core/internal";
import { confusable } from "./confusable.js";
import { type Describe, hasOwnForms, isSingle, objectOf, unwrapped } from "./own-forms.js";

/** A place in a message that plain JSON cannot represent unambiguously. */
export interface JsonProblem<Part> {
  /** Keys that lead to the place; `*` stands for any item of a container. */
  readonly path: readonly string[];
  readonly reason: string;
  readonly part: Part;
}

/** Returns the first place at which plain JSON cannot represent messages of `part`; undefined if there is none. */
export function jsonProblem<Part>(part: Part, describe: Describe<Part>): JsonProblem<Part> | undefined {
  const search = new Search(describe);
  if (mayBeUndefined(part, describe)) return { path: [], reason: "a message that may be undefined", part };
  return search.find(part, []);
}

class Search<Part> {
  readonly #describe: Describe<Part>;
  readonly #seen = new Set<Part>();

  constructor(describe: Describe<Part>) {
    this.#describe = describe;
  }

  find(part: Part, path: readonly string[]): JsonProblem<Part> | undefined {
    if (this.#seen.has(part)) return undefined;
    this.#seen.add(part);
    const reason = this.#reason(part);
    if (reason !== undefined) return { path, reason, part };
    for (const [key, each] of this.#inside(part)) {
      const problem = this.find(each, key === undefined ? path : [...path, key]);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #reason(part: Part): string | undefined {
    const describe = this.#describe;
    const { form } = describe(part);
    const undefinedIn = (each: Part, where: string): string | undefined =>
      mayBeUndefined(each, describe) ? `undefined in ${where}` : undefined;
    switch (form.kind) {
      case "any":
        return "a value of any type (z.json() takes what JSON has)";
      case "external":
        return form.takes === undefined ? UNKNOWN_TYPE : undefined;
      case "object": {
        const required = Object.entries(form.fields).find(
          ([, field]) => describe(field).optin === undefined && mayBeUndefined(field, describe),
        );
        return required === undefined ? undefined : `${required[0]}, which has to be there and may be undefined`;
      }
      case "array":
        return undefinedIn(form.element, "an array");
      case "set":
        return undefinedIn(form.element, "a set");
      case "map":
        return keyProblem(form.key, describe) ?? undefinedIn(form.element, "a map");
      case "tuple":
        return [
          ...form.items.filter((item) => describe(item).optin === undefined),
          ...(form.rest === undefined ? [] : [form.rest]),
        ]
          .map((item) => undefinedIn(item, "a tuple"))
          .find((problem) => problem !== undefined);
      case "union":
        return confusable(form.options, describe);
      case "discriminated": {
        const isText = form.options.every(([value]) => typeof value !== "bigint" && typeof value !== "object");
        return isText ? undefined : `a union whose ${form.key} is no text, number or boolean`;
      }
      case "literal": {
        const number = form.values.find((value) => typeof value === "number" && !Number.isFinite(value));
        return number === undefined ? confusable([part], describe) : `the number ${number as number}`;
      }
      case "intersection":
        return isWritable([form.left, form.right], describe)
          ? undefined
          : "an intersection of other than objects, with dates, bytes, bigints, maps or sets inside";
      default:
        return undefined;
    }
  }

  #inside(part: Part): (readonly [key: string | undefined, part: Part])[] {
    return placesOf(this.#describe(part).form)
      .filter(({ slot }) => slot !== "key" && slot !== "to")
      .map(({ slot, at, part: each }) => [ITEMS.has(slot) ? "*" : NAMED.has(slot) ? String(at) : undefined, each]);
  }
}

/** Most levels of objects that match several schemas: these may be recursive. */
const MAX_LEVELS = 20;

/** Returns true if values that match all of `parts` can be written in JSON. */
function isWritable<Part>(parts: readonly Part[], describe: Describe<Part>, levels = MAX_LEVELS): boolean {
  if (isSingle(parts, describe) || !parts.some((part) => hasOwnForms(part, describe))) return true;
  const object = levels === 0 ? undefined : objectOf(parts, describe);
  return object !== undefined && Object.values(object.fields).every((each) => isWritable(each, describe, levels - 1));
}

/** Positions in a schema that describe any number of items. The positions in `NAMED` have a name or an index. */
const ITEMS: ReadonlySet<string> = new Set(["element", "others", "rest"]);
const NAMED: ReadonlySet<string> = new Set(["fields", "items"]);

/**
 * Reason for schemas from code of an earlier generator, which does not state whether plain JSON can represent a type.
 */
const UNKNOWN_TYPE =
  "a value whose type only zod knows (if the code was generated by an earlier version, run quicrpc gen again)";

/** Kinds of map keys that can be JSON keys, provided that all keys of a map have the same kind. */
const KEY_KINDS: ReadonlySet<string> = new Set(["string", "template", "number", "bigint"]);

function keyProblem<Part>(key: Part, describe: Describe<Part>): string | undefined {
  const form = unwrapped(key, describe);
  if (form.kind === "pipe") return keyProblem(form.from, describe);
  if (form.kind === "external") return form.takes === undefined ? "a map whose keys only zod knows" : undefined;
  if (form.kind !== "literal")
    return KEY_KINDS.has(form.kind) ? undefined : `a map whose keys are no text (${form.kind})`;
  const texts = new Set(form.values.map(String));
  return texts.size === form.values.length ? undefined : "a map with keys that are the same as text";
}

const UNDEFINED: ReadonlySet<string> = new Set(["undefined", "optional", "exactOptional", "default", "prefault"]);
/** Kinds of schemas that accept undefined if one of their inner schemas does. */
const TRANSPARENT: ReadonlySet<string> = new Set(["union", "nullable", "pipe"]);

/** Returns true if a value of `part` may be present but undefined. */
function mayBeUndefined<Part>(part: Part, describe: Describe<Part>, seen: Set<Part> = new Set()): boolean {
  if (seen.has(part)) return false;
  seen.add(part);
  const form = unwrapped(part, describe);
  const may = (each: Part): boolean => mayBeUndefined(each, describe, seen);
  if (form.kind === "literal") return form.values.includes(undefined);
  if (form.kind === "external") return describe(part).optin !== undefined;
  if (form.kind === "intersection") return may(form.left) && may(form.right);
  if (!TRANSPARENT.has(form.kind)) return UNDEFINED.has(form.kind);
  return placesOf(form).some(({ slot, part: each }) => slot !== "to" && may(each));
}
