import { intersection, MAX_DEPTH, misfit, requireObject, run, type Shape } from "@quicrpc/core/codec";
import {
  type Check,
  type Form,
  isPlainObject,
  MAX_BIGINT_DIGITS,
  Mode,
  partAt,
  type PlainJson,
  sentBytes,
  toBase64,
} from "@quicrpc/core/internal";
import { checking, jsonMode, requireAll } from "./conversions.js";
import { areDisjoint } from "./confusable.js";
import { basesOf, hasOwnForms, isSingle, objectOf, shapeAsIs, unwrapped } from "./own-forms.js";
import { plainText, quote } from "./plain-text.js";

/** Returns the JSON of a value. Throws the mismatch error if the value does not match its shape, or cannot be represented. */
export type WriteJson = (value: unknown) => string;

/** Creates functions that write JSON, one for each shape, when they are first needed. */
export class JsonWriters {
  readonly #made = new Map<Shape, WriteJson>();
  #depth = 0;

  of(shape: Shape): WriteJson {
    let write = this.#made.get(shape);
    if (write === undefined) this.#made.set(shape, (write = this.#make(shape)));
    return write;
  }

  #make(shape: Shape): WriteJson {
    const { form } = shape;
    switch (form.kind) {
      case "string":
        return checking((value) => (typeof value === "string" ? quote(value) : misfit()), form.checks);
      case "number":
        return checking((value) => (Number.isFinite(value) ? `${value as number}` : misfit()), form.checks);
      case "bigint":
        return checking((value) => (typeof value === "bigint" ? digits(value) : misfit()), form.checks);
      case "date":
        return checking((value) => (value instanceof Date ? time(value) : misfit()), form.checks);
      case "boolean":
        return (value) => (typeof value === "boolean" ? `${value}` : misfit());
      case "bytes":
        return fitting(shape, (value) => `"${toBase64(sentBytes(value as object) ?? misfit())}"`);
      case "null":
        return (value) => (value === null ? "null" : misfit());
      case "literal": {
        const texts = new Map(form.values.map((value) => [value, literalText(value)]));
        return (value) => texts.get(value) ?? misfit();
      }
      case "object":
        return this.#object(form.fields, form.others);
      case "array":
        return this.#array(form.element, form.checks);
      case "tuple":
        return this.#tuple(shape, form.items, form.rest);
      case "set": {
        const write = this.#array(form.element, []);
        return (value) => {
          if (!(value instanceof Set)) return misfit();
          requireAll(form.checks, value);
          return write([...(value as Set<unknown>)]);
        };
      }
      case "map":
        return this.#map(form.key, form.element, form.checks);
      case "record": {
        const write = this.of(form.element);
        const { element } = form;
        const entries = (value: unknown): string => {
          const all = Object.entries(value as object);
          if (all.some(([, each]) => each === undefined)) requireAbsence(element);
          return entriesText(all, write);
        };
        if (Object.keys(form.keys).length > 0) return fitting(shape, entries);
        return (value) => (isPlainObject(value) ? entries(value) : misfit());
      }
      case "union": {
        const { options } = form;
        const writers = options.map((option) => this.of(option));
        let rivals: readonly (readonly Shape[])[] | undefined;
        return (value) => {
          const chosen = options.findIndex((option) => fits(option, value));
          const write = writers[chosen] ?? misfit;
          const text = write(value);
          rivals ??= options.map((option, at) => options.slice(0, at).filter((each) => mayBeTaken(each, option)));
          const earlier = rivals[chosen] ?? [];
          if (earlier.length === 0 || !/^[[{]/.test(text) || !earlier.some((each) => isJsonOf(each, text))) return text;
          // The receiver would choose an earlier option for this JSON, so keys that other options declare are written
          // too.
          const option = options[chosen] as Shape;
          const kept = declared(value, [option], options);
          const whole = asIs(option)(kept);
          const isClear = !options.slice(0, chosen).some((each) => isJsonOf(each, whole));
          return isClear && fits(option, kept) && write(kept) === text ? whole : misfit();
        };
      }
      case "discriminated": {
        const { key } = form;
        const options = new Map(form.options.map(([value, option]) => [value, this.of(option)]));
        return (value) => {
          requireObject(value);
          const write = options.get((value as Record<string, unknown>)[key]);
          return write === undefined ? misfit() : write(value);
        };
      }
      case "intersection":
        return fitting(shape, this.#all([form.left, form.right]));
      case "nullable": {
        const write = this.of(form.inner);
        return (value) => (value === null ? "null" : write(value));
      }
      case "optional":
      case "default":
      case "prefault":
      case "nonOptional":
      case "frozen":
        return this.of(form.inner);
      case "caught": {
        const { inner } = form;
        const write = this.of(inner);
        const other = asIs(inner);
        return (value) => {
          if (fits(inner, value)) return write(value);
          const text = other(run(shape, value, Mode.Sent).value);
          // Without its undefined properties, the value may match, and the receiver would not replace it.
          return isJsonOf(inner, text) ? misfit() : text;
        };
      }
      case "pipe":
        return fitting(shape, this.of(form.from));
      case "refined":
        return fitting(shape, this.of(form.inner));
      case "lazy":
        return this.#lazy(form.inner);
      case "external": {
        const write = externalWriter(form.takes);
        return (value) => {
          const sent = run(shape, value, Mode.Sent);
          return sent.issues.length === 0 ? write(sent.value) : misfit();
        };
      }
      default:
        return fitting(shape, plainText);
    }
  }

  /** Called before a message is written. */
  begin(): void {
    this.#depth = 0;
  }

  #lazy(inner: () => Shape): WriteJson {
    let write: WriteJson | undefined;
    return (value) => {
      if (++this.#depth > MAX_DEPTH) return misfit();
      const text = (write ??= this.of(inner()))(value);
      this.#depth--;
      return text;
    };
  }

  /** Returns the writer of values that match all of `shapes`. */
  #all(shapes: readonly Shape[]): WriteJson {
    if (isSingle(shapes, shapeAsIs)) return this.of(shapes.at(-1) as Shape);
    const object = objectOf(shapes, shapeAsIs);
    if (object === undefined) {
      const all = shapes.reduce((left, right) => intersection(left, right));
      return fitting(all, (value) => plainText(run(all, value, Mode.Sent).value));
    }
    const entries = Object.entries(object.fields);
    const fields = Object.fromEntries(entries.map(([name, parts]) => [name, parts.at(-1) as Shape]));
    const writers = entries.map(([, parts]): WriteJson => {
      if (parts.length === 1) return this.of(parts[0] as Shape);
      let write: WriteJson | undefined;
      return (value) => (write ??= this.#all(parts))(value);
    });
    return this.#object(fields, object.others, writers);
  }

  #object(
    fields: Readonly<Record<string, Shape>>,
    others: "strip" | "strict" | Shape,
    writers: readonly WriteJson[] = Object.values(fields).map((shape) => this.of(shape)),
  ): WriteJson {
    const names = Object.keys(fields);
    const known = new Set(names);
    const shapes = Object.values(fields);
    const starts = names.map((name) => `${quote(name)}:`);
    const writeOther = typeof others === "object" ? this.of(others) : misfit;
    return (value) => {
      requireObject(value);
      const object = value as Record<string, unknown>;
      let text = "{";
      for (let i = 0; i < names.length; i++) {
        const name = names[i] as string;
        const field = object[name];
        if (field === undefined) {
          const shape = shapes[i] as Shape;
          const isLeftOut = shape.optout === "optional" && !(name in object);
          if (shape.optin === undefined || (!isLeftOut && !fits(shape, undefined))) misfit();
        } else {
          text += text.length === 1 ? (starts[i] as string) : `,${starts[i]}`;
          text += (writers[i] as WriteJson)(field);
        }
      }
      if (others !== "strip") {
        for (const key in object) {
          const other = object[key];
          if (known.has(key) || key === "__proto__") continue;
          if (other === undefined && others !== "strict") {
            requireAbsence(others);
            continue;
          }
          text += `${text.length === 1 ? "" : ","}${quote(key)}:${writeOther(other)}`;
        }
      }
      return `${text}}`;
    };
  }

  #array(element: Shape, checks: readonly Check[]): WriteJson {
    const write = this.of(element);
    return (value) => {
      if (!Array.isArray(value)) return misfit();
      requireAll(checks, value);
      let text = "[";
      for (let i = 0; i < value.length; i++) text += i === 0 ? write(value[i]) : `,${write(value[i])}`;
      return `${text}]`;
    };
  }

  #tuple(shape: Shape, items: readonly Shape[], rest: Shape | undefined): WriteJson {
    const writers = items.map((item) => this.of(item));
    const others = rest === undefined ? misfit : this.of(rest);
    return fitting(shape, (value) => {
      const given = value as readonly unknown[];
      // Undefined items at the end are omitted.
      const hasRest = given.length > items.length;
      const length = hasRest ? given.length : given.findLastIndex((item) => item !== undefined) + 1;
      // `Array.from` also visits the holes of a sparse array.
      return `[${Array.from({ length }, (_, i) => (writers[i] ?? others)(given[i])).join()}]`;
    });
  }

  #map(key: Shape, element: Shape, checks: readonly Check[]): WriteJson {
    const write = this.of(element);
    return (value) => {
      if (!(value instanceof Map)) return misfit();
      requireAll(checks, value);
      const entries = [...(value as Map<unknown, unknown>)];
      for (const [name, item] of entries) if (item === undefined || !fits(key, name)) misfit();
      return entriesText(entries, write);
    };
  }
}

function entriesText(entries: readonly (readonly [key: unknown, value: unknown])[], write: WriteJson): string {
  let text = "{";
  for (const [key, value] of entries) {
    if (value !== undefined) text += `${text.length === 1 ? "" : ","}${quote(String(key))}:${write(value)}`;
  }
  return `${text}}`;
}

function fits(shape: Shape, value: unknown): boolean {
  return run(shape, value, Mode.Given).issues.length === 0;
}

/**
 * Returns a function that writes a value unchanged, with undeclared keys. It throws the mismatch error if the JSON of a
 * value depends on `shape`.
 */
function asIs(shape: Shape): WriteJson {
  return hasOwnForms(shape, shapeAsIs) ? misfit : plainText;
}

/**
 * Returns true if the JSON of an object or array of the shape `later` may also match `earlier`, or if that cannot be
 * determined.
 */
function mayBeTaken(earlier: Shape, later: Shape): boolean {
  const [a, b] = [unwrapped(earlier, shapeAsIs), unwrapped(later, shapeAsIs)];
  return !SCALARS.has(a.kind) && !SCALARS.has(b.kind) && !areDisjoint(a, b, shapeAsIs);
}

const SCALARS: ReadonlySet<string> = new Set(
  "string template number bigint boolean null literal date bytes".split(" "),
);

/**
 * Returns a copy of `value` without keys that no shape knows: at every depth, it keeps keys that a shape in `own`
 * accepts or that one in `all` declares by name. Throws the mismatch error if only zod knows the keys.
 */
function declared(value: unknown, own: readonly Shape[], all: readonly Shape[]): unknown {
  const isArray = Array.isArray(value);
  if (!isArray && !isPlainObject(value)) return value;
  const [ownForms, forms] = [basesOf(own, shapeAsIs), basesOf(all, shapeAsIs)];
  if (ownForms.some(({ kind }) => kind === "external" || kind === "any")) return misfit();
  const copy = (item: unknown, key: string | number): readonly unknown[] => {
    const partsIn = (some: typeof forms): readonly Shape[] => some.flatMap((form) => partAt(form, key) ?? []);
    const inOwn = partsIn(ownForms);
    const named = partsIn(forms.filter((form) => isNamed(form, key)));
    return inOwn.length + named.length === 0 ? [] : [declared(item, inOwn, [...inOwn, ...named])];
  };
  if (isArray) return value.flatMap(copy);
  return Object.fromEntries(Object.entries(value).flatMap(([key, item]) => copy(item, key).map((each) => [key, each])));
}

function isNamed(form: Form<Shape, unknown>, key: string | number): boolean {
  return form.kind === "object" ? Object.hasOwn(form.fields, key) : form.kind !== "record";
}

/** Returns true if a receiver that parses the JSON `text` with `shape` accepts it. */
function isJsonOf(shape: Shape, text: string): boolean {
  return run(shape, JSON.parse(text), jsonMode).issues.length === 0;
}

/**
 * Throws the mismatch error if the shape distinguishes an undefined property from an absent one, because JSON has no
 * undefined.
 */
function requireAbsence(shape: Shape): void {
  const { value, issues } = run(shape, undefined, Mode.Given);
  if (issues.length > 0 || value !== undefined) misfit();
}

function fitting(shape: Shape, write: WriteJson): WriteJson {
  return (value) => (fits(shape, value) ? write(value) : misfit());
}

function literalText(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === "bigint" ? digits(value) : JSON.stringify(value);
}

function digits(value: bigint): string {
  const text = `"${value}"`;
  return text.length <= MAX_BIGINT_DIGITS + 2 ? text : misfit();
}

function time(value: Date): string {
  return Number.isNaN(value.getTime()) ? misfit() : `"${value.toISOString()}"`;
}

/**
 * Returns the writer for a schema that zod runs as a whole. The schema's input is plain JSON, except for coerced dates
 * and bigints.
 */
function externalWriter(takes: PlainJson | undefined): WriteJson {
  if (takes === "date") return (value) => (value instanceof Date ? time(value) : plainText(value));
  if (takes === "bigint") return (value) => (typeof value === "bigint" ? digits(value) : plainText(value));
  return plainText;
}
