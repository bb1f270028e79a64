import { isPartial, keysOf, type Shape, type ShapeTypes } from "./shape.js";

/**
 * Converts shapes to text that is equal for shapes that are equal on the wire. A recursive reference is written as the
 * number of levels to its target, so names do not matter.
 */
export class CanonicalText {
  readonly #types: ShapeTypes;
  /** Texts of types without references to outer types. */
  readonly #closed = new Map<string, string>();
  readonly #open = new Map<string, number>();
  #depth = 0;
  /** The outermost level to which the last written text refers. */
  #reaches = Number.POSITIVE_INFINITY;

  constructor(types: ShapeTypes) {
    this.#types = types;
  }

  of(shape: Shape): string {
    if (shape.kind === "ref") return this.#reference(shape.name);
    this.#depth++;
    const text = this.#write(shape);
    this.#depth--;
    return text;
  }

  #reference(name: string): string {
    const closed = this.#closed.get(name);
    if (closed !== undefined) return closed;
    const open = this.#open.get(name);
    if (open !== undefined) {
      this.#reaches = Math.min(this.#reaches, open);
      return `^${this.#depth - open}`;
    }
    const target = this.#types[name];
    if (target === undefined) return "any";
    const before = this.#reaches;
    this.#reaches = Number.POSITIVE_INFINITY;
    this.#open.set(name, this.#depth);
    const text = this.of(target);
    this.#open.delete(name);
    if (this.#reaches >= this.#depth) this.#closed.set(name, text);
    this.#reaches = Math.min(before, this.#reaches);
    return text;
  }

  #write(shape: Exclude<Shape, { readonly kind: "ref" }>): string {
    switch (shape.kind) {
      case "literal":
        return `=${shape.values
          .map((value) => JSON.stringify(value))
          .sort(compareText)
          .join("|")}`;
      case "object": {
        const { others } = shape;
        const fields = Object.entries(shape.fields)
          .sort(([a], [b]) => compareText(a, b))
          .map(([name, field]) => `${JSON.stringify(name)}${field.optional === true ? "?" : ""}:${this.of(field)}`);
        const rest = others === undefined ? "" : others === "strict" ? ";refused" : `;...${this.of(others)}`;
        return `{${fields.join()}${rest}}`;
      }
      case "array":
      case "set":
        return `${shape.kind}<${this.of(shape.element)}>`;
      case "tuple":
        return `[${shape.items.map((item) => this.of(item)).join()}/${shape.required}${shape.rest === undefined ? "" : `...${this.of(shape.rest)}`}]`;
      case "record":
      case "map":
        return `${shape.kind}${isPartial(shape) ? "?" : ""}<${this.of(keysOf(shape))},${this.of(shape.element)}>`;
      case "union":
        return this.#sorted(shape.options, "|");
      case "intersection":
        return this.#sorted([shape.left, shape.right], "&");
      case "bytes":
        return shape.view ?? "bytes";
      default:
        return shape.kind;
    }
  }

  #sorted(parts: readonly Shape[], separator: string): string {
    return `(${parts
      .map((part) => this.of(part))
      .sort(compareText)
      .join(separator)})`;
  }
}

/** Compares by code units, independently of the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
