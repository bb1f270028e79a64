import { placesOf } from "@quicrpc/core/generated";
import { confusable } from "./confusable.js";
import { type Describe, hasOwnForms, objectOf, unwrapped } from "./own-forms.js";

/** A place in a message at which JSON would be ambiguous. */
export interface JsonProblem<Part> {
  /** The keys that lead to the problem; `*` is any item of a container. */
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
        return form.takes === undefined ? "a value whose type only zod knows" : undefined;
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
        return hasOwnForms(part, describe) && objectOf(part, describe) === undefined
          ? "an intersection of other than objects, with dates, bytes, bigints, maps or sets inside"
          : undefined;
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

/** Places whose parts describe any number of items. The places in `NAMED` have a name or number. */
const ITEMS: ReadonlySet<string> = new Set(["element", "others", "rest"]);
const NAMED: ReadonlySet<string> = new Set(["fields", "items"]);

/** Kinds of map keys that can be keys in JSON, if all keys of a map are of one kind. */
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

/** Returns true if a value of `part` may be present but undefined. */
function mayBeUndefined<Part>(part: Part, describe: Describe<Part>, seen: Set<Part> = new Set()): boolean {
  if (seen.has(part)) return false;
  seen.add(part);
  const form = unwrapped(part, describe);
  const may = (each: Part): boolean => mayBeUndefined(each, describe, seen);
  switch (form.kind) {
    case "literal":
      return form.values.includes(undefined);
    case "union":
      return form.options.some(may);
    case "intersection":
      return may(form.left) && may(form.right);
    case "nullable":
      return may(form.inner);
    case "pipe":
      return may(form.from);
    case "external":
      return describe(part).optin !== undefined;
    default:
      return UNDEFINED.has(form.kind);
  }
}
