import { CONTAINERS, type Form, LISTS, partAt, readIsoDate } from "@quicrpc/core/internal";
import { bigintOf, bytesOfBase64 } from "./conversions.js";
import { basesOf, type Describe, unwrapped } from "./own-forms.js";

/** Returns a description of two of `options` that look the same in JSON; undefined if all can be distinguished. */
export function confusable<Part>(options: readonly Part[], describe: Describe<Part>): string | undefined {
  const reason = new Comparison(describe, jsonReason).among(options);
  return reason === undefined ? undefined : `a union of ${reason}`;
}

/**
 * Returns the names of two typed array classes that `options` have in the same place, where a receiver could not
 * distinguish them; undefined if there are none.
 */
export function confusedViews<Part>(options: readonly Part[], describe: Describe<Part>): string | undefined {
  return new Comparison(describe, viewReason).among(options);
}

/** Parsers for types whose values are strings in JSON. */
const AS_TEXT: Readonly<Record<string, (text: string) => unknown>> = {
  date: readIsoDate,
  bytes: bytesOfBase64,
  bigint: bigintOf,
};

/** Returns a description of two schemas without inner schemas if their values cannot be distinguished in JSON. */
type Reason = (a: Form<unknown, unknown>, b: Form<unknown, unknown>) => string | undefined;

class Comparison<Part> {
  readonly #describe: Describe<Part>;
  readonly #reason: Reason;
  /** Pairs of schemas that were compared or are being compared. */
  readonly #seen = new Map<Part, Set<Part>>();

  constructor(describe: Describe<Part>, reason: Reason) {
    this.#describe = describe;
    this.#reason = reason;
  }

  among(options: readonly Part[]): string | undefined {
    for (const [i, option] of options.entries()) {
      for (const other of options.slice(i)) {
        const reason = this.#between(option, other, other === option);
        if (reason !== undefined) return reason;
      }
    }
    return undefined;
  }

  /**
   * Returns a description of what makes two schemas indistinguishable in JSON; undefined if nothing does.
   * @param isSame true to compare an option with itself, which finds only literals that look the same
   */
  #between(left: Part, right: Part, isSame = false): string | undefined {
    const seen = this.#seen.get(left) ?? new Set();
    if (seen.has(right)) return undefined;
    this.#seen.set(left, seen.add(right));
    const bases = basesOf([left], this.#describe);
    const others = isSame ? bases : basesOf([right], this.#describe);
    for (const a of bases) {
      for (const b of others) {
        if (isSame && (a !== b || a.kind !== "literal")) continue;
        const reason = this.#ofBases(a, b) ?? this.#ofBases(b, a);
        if (reason !== undefined) return reason;
      }
    }
    return undefined;
  }

  #ofBases(a: Form<Part, unknown>, b: Form<Part, unknown>): string | undefined {
    if (!CONTAINERS.has(a.kind)) return this.#reason(a, b);
    if (!CONTAINERS.has(b.kind) || LISTS.has(a.kind) !== LISTS.has(b.kind)) return undefined;
    if (areDisjoint(a, b, this.#describe)) return undefined;
    for (const key of new Set([...keysOf(a), ...keysOf(b)])) {
      const [left, right] = [partFor(a, key), partFor(b, key)];
      const reason = left && right && this.#between(left, right);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }
}

/** Stands for the keys of an object that its schema does not declare. */
const UNDECLARED = Symbol("undeclared");

/** Returns a key for each part that a container may have. */
function keysOf(form: Form<unknown, unknown>): PropertyKey[] {
  if (LISTS.has(form.kind)) return [...("items" in form ? form.items : []).keys(), Infinity];
  return [...("fields" in form ? Object.keys(form.fields) : []), UNDECLARED];
}

function partFor<Part>(form: Form<Part, unknown>, key: PropertyKey): Part | undefined {
  return form.kind === "map" ? form.element : partAt(form, key);
}

function viewReason(a: Form<unknown, unknown>, b: Form<unknown, unknown>): string | undefined {
  if (a.kind !== "bytes" || b.kind !== "bytes" || a.view === b.view) return undefined;
  return `${a.view ?? "Uint8Array"} and ${b.view ?? "Uint8Array"}`;
}

function jsonReason(a: Form<unknown, unknown>, b: Form<unknown, unknown>): string | undefined {
  const asText = AS_TEXT[a.kind];
  if (asText !== undefined) return a.kind === b.kind ? viewReason(a, b) : scalarReason(a.kind, asText, b);
  const hasBigints = a.kind === "literal" && a.values.some((value) => typeof value === "bigint");
  return hasBigints ? literalReason(a.values, b) : undefined;
}

/** Returns true if both objects require a field by which their values can be distinguished. */
export function areDisjoint<Part>(a: Form<Part, unknown>, b: Form<Part, unknown>, describe: Describe<Part>): boolean {
  if (a.kind !== "object" || b.kind !== "object") return false;
  return Object.entries(a.fields).some(([name, part]) => {
    const other = Object.hasOwn(b.fields, name) ? b.fields[name] : undefined;
    if (other === undefined) return false;
    const [left, right] = [unwrapped(part, describe), unwrapped(other, describe)];
    if (left.kind === "literal" && right.kind === "literal") {
      return left.values.every((value) => typeof value !== "bigint" && !right.values.includes(value));
    }
    const [types, others] = [typesOf(left), typesOf(right)];
    return types.length > 0 && others.length > 0 && !types.some((type) => others.includes(type));
  });
}

/** Returns the JSON types of the values of `form`; an empty list if values may be absent or the types are unknown. */
function typesOf(form: Form<unknown, unknown>): readonly string[] {
  if (form.kind === "literal") {
    const types = form.values.map((value) => (value === null ? "null" : typeof value));
    return types.some((type) => type === "bigint" || type === "undefined") ? [] : types;
  }
  return TYPES[form.kind] ?? [];
}

const TYPES: Readonly<Record<string, readonly string[]>> = {
  string: ["string"],
  template: ["string"],
  date: ["string"],
  bytes: ["string"],
  number: ["number"],
  boolean: ["boolean"],
  null: ["null"],
};

function scalarReason(
  kind: string,
  asText: (text: string) => unknown,
  other: Form<unknown, unknown>,
): string | undefined {
  switch (other.kind) {
    case "string":
    case "template":
    case "external":
    case "any":
      return `text and ${kind}`;
    case "date":
    case "bytes":
    case "bigint":
      return `${kind} and ${other.kind}`;
    case "number":
      return kind === "bigint" ? "number and bigint" : undefined;
    case "literal":
      return other.values.some((value) => isTakenFor(value, kind, asText)) ? `text and ${kind}` : undefined;
    default:
      return undefined;
  }
}

function isTakenFor(value: unknown, kind: string, asText: (text: string) => unknown): boolean {
  if (typeof value === "string") return asText(value) !== undefined;
  return kind === "bigint" && typeof value === "number";
}

/**
 * Returns the reason if one of the bigint literals `values` looks the same in JSON as a value of `other`; undefined
 * otherwise.
 */
function literalReason(values: readonly unknown[], other: Form<unknown, unknown>): string | undefined {
  if (other.kind === "string" || other.kind === "template" || other.kind === "external") return "text and bigint";
  if (other.kind === "number") return "number and bigint";
  if (other.kind !== "literal") return undefined;
  const bigints = new Set(values.filter((value) => typeof value === "bigint").map(String));
  const isSame = other.values.some((value) => typeof value !== "bigint" && bigints.has(String(value)));
  return isSame ? "a bigint and the same as text or number" : undefined;
}
