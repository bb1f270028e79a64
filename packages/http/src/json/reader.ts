import { applyChecks, freeze, misfit, run, type Shape } from "@quicrpc/core/codec";
import { type Check, isObject, setOf } from "@quicrpc/core/internal";
import { checking, jsonMode, requireAll } from "./conversions.js";

/**
 * Converts a JSON value, which it may modify, to a value of its shape. Throws the mismatch error if the value does not
 * match.
 */
export type ReadJson = (json: unknown) => unknown;

/** Creates functions that read JSON, one for each shape, when they are first needed. */
export class JsonReaders {
  readonly #made = new Map<Shape, ReadJson>();

  of(shape: Shape): ReadJson {
    let read = this.#made.get(shape);
    if (read === undefined) this.#made.set(shape, (read = this.#make(shape)));
    return read;
  }

  #make(shape: Shape): ReadJson {
    const { form } = shape;
    switch (form.kind) {
      case "string":
        return checking((json) => (typeof json === "string" ? json : misfit()), form.checks);
      case "number":
        return checking((json) => (Number.isFinite(json) ? json : misfit()), form.checks);
      case "boolean":
        return (json) => (typeof json === "boolean" ? json : misfit());
      case "null":
        return (json) => (json === null ? null : misfit());
      case "object":
        return typeof form.others === "object" ? byShape(shape) : this.#object(form.fields, form.others, shape);
      case "array":
        return this.#array(form.element, form.checks);
      case "set":
        return this.#set(form.element, form.checks);
      case "record":
        return Object.keys(form.keys).length > 0 ? byShape(shape) : this.#record(form.element);
      case "discriminated":
        return this.#discriminated(form.key, form.options);
      case "nullable": {
        const read = this.of(form.inner);
        return (json) => (json === null ? null : read(json));
      }
      case "optional":
      case "prefault":
        return this.of(form.inner);
      case "default": {
        const read = this.of(form.inner);
        return (json) => {
          const value = read(json);
          return value === undefined ? misfit() : value;
        };
      }
      case "frozen": {
        const read = this.of(form.inner);
        return (json) => freeze(read(json));
      }
      case "refined": {
        const read = this.of(form.inner);
        const check = applyChecks(form.schema);
        return (json) => check(read(json));
      }
      case "lazy": {
        const { inner } = form;
        let read: ReadJson | undefined;
        return (json) => (read ??= this.of(inner()))(json);
      }
      default:
        return byShape(shape);
    }
  }

  #object(fields: Readonly<Record<string, Shape>>, others: "strip" | "strict", whole: Shape): ReadJson {
    const names = Object.keys(fields);
    // Every object inherits properties with these names.
    if (names.some((name) => name in Object.prototype)) return byShape(whole);
    const shapes = Object.values(fields);
    const readers = shapes.map((shape) => this.of(shape));
    return (json) => {
      if (!isObject(json)) return misfit();
      let unread = 0;
      for (const _key in json) unread++;
      for (let i = 0; i < names.length; i++) {
        const name = names[i] as string;
        const given = json[name];
        if (given === undefined) {
          setAbsent(json, name, shapes[i] as Shape);
          continue;
        }
        unread--;
        const value = (readers[i] as ReadJson)(given);
        if (value !== given) json[name] = value;
      }
      if (unread === 0) return json;
      return others === "strict" ? misfit() : pick(json, names);
    };
  }

  #array(element: Shape, checks: readonly Check[]): ReadJson {
    const read = this.of(element);
    return (json) => {
      if (!Array.isArray(json)) return misfit();
      requireAll(checks, json);
      for (let i = 0; i < json.length; i++) {
        const given: unknown = json[i];
        const value = read(given);
        if (value !== given) json[i] = value;
      }
      return json;
    };
  }

  #set(element: Shape, checks: readonly Check[]): ReadJson {
    const read = this.of(element);
    return (json) => {
      if (!Array.isArray(json)) return misfit();
      const given = setOf(json) ?? misfit();
      requireAll(checks, given);
      const items: unknown[] = [];
      for (const each of given) items.push(read(each));
      return setOf(items) ?? misfit();
    };
  }

  #record(element: Shape): ReadJson {
    const read = this.of(element);
    return (json) => {
      if (!isObject(json) || Object.hasOwn(json, "__proto__") || Object.hasOwn(json, "constructor")) {
        return misfit();
      }
      for (const key in json) {
        const given = json[key];
        const value = read(given);
        if (value !== given) json[key] = value;
      }
      return json;
    };
  }

  #discriminated(key: string, options: readonly (readonly [value: unknown, option: Shape])[]): ReadJson {
    const readers = new Map(options.map(([value, option]) => [value, this.of(option)]));
    return (json) => {
      if (!isObject(json)) return misfit();
      const read = readers.get(json[key]);
      return read === undefined ? misfit() : read(json);
    };
  }
}

/** Returns a reader that runs the shape, for schemas that specialized code would not make faster. */
function byShape(shape: Shape): ReadJson {
  return (json) => {
    const { value, issues } = run(shape, json, jsonMode);
    return issues.length > 0 ? misfit() : value;
  };
}

/** Handles a field that the JSON lacks: sets it to the schema's default, if there is one. */
function setAbsent(json: Record<string, unknown>, name: string, shape: Shape): void {
  const { optin, optout } = shape;
  if (optin === undefined) misfit();
  if (optin === "optional" && optout === "optional") return;
  const { value, issues } = run(shape, undefined, jsonMode);
  if (issues.length > 0) {
    if (optout !== "optional") misfit();
  } else if (value !== undefined || (optin === "defaulted" && optout !== "optional")) json[name] = value;
}

function pick(json: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const name of names) {
    const value = json[name];
    if (value !== undefined) result[name] = value;
  }
  return result;
}
