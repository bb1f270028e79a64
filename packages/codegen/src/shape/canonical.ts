import { createHash } from "node:crypto";
import { MAX_DEPTH } from "@quicrpc/core/codec";
import { isPartial, keysOf, type Shape, type ShapeTypes, shapeTypeName } from "./shape.js";

/** Maximum nesting levels in the canonical text of a shape. The text of a recursive type is cut off there. */
const LEVELS = MAX_DEPTH;
/**
 * Maximum characters of a type's text; a longer one is replaced by its hash. Otherwise a shape in which each level uses
 * a type twice would have a text of exponential length.
 */
const MAX_TEXT = 1000;

/**
 * Converts shapes to texts that are equal if the shapes have the same wire format, regardless of the names of types.
 */
export class CanonicalText {
  readonly #types: ShapeTypes;
  /** Texts of named types, by name and number of levels. */
  readonly #texts = new Map<string, string>();

  constructor(types: ShapeTypes) {
    this.#types = types;
  }

  of(shape: Shape, levels: number = LEVELS): string {
    if (levels === 0) return "";
    if (shape.kind !== "ref") {
      const text = this.#write(shape, levels);
      return text.length > MAX_TEXT ? createHash("sha256").update(text).digest("base64") : text;
    }
    const key = `${levels} ${shape.name}`;
    let text = this.#texts.get(key);
    if (text === undefined) this.#texts.set(key, (text = this.of(this.#types[shape.name] ?? { kind: "any" }, levels)));
    return text;
  }

  #write(shape: Exclude<Shape, { readonly kind: "ref" }>, levels: number): string {
    const of = (part: Shape): string => this.of(part, levels - 1);
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
          .map(([name, field]) => `${JSON.stringify(name)}${field.optional === true ? "?" : ""}:${of(field)}`);
        const rest = others === undefined ? "" : others === "strict" ? ";refused" : `;...${of(others)}`;
        return `{${fields.join()}${rest}}`;
      }
      case "array":
      case "set":
        return `${shape.kind}<${of(shape.element)}>`;
      case "tuple":
        return `[${shape.items.map(of).join()}/${shape.required}${shape.rest === undefined ? "" : `...${of(shape.rest)}`}]`;
      case "record":
      case "map":
        return `${shape.kind}${isPartial(shape) ? "?" : ""}<${of(keysOf(shape))},${of(shape.element)}>`;
      case "union":
        return sorted(shape.options.map(of), "|");
      case "intersection":
        return sorted([of(shape.left), of(shape.right)], "&");
      default:
        return shapeTypeName(shape);
    }
  }
}

function sorted(texts: readonly string[], separator: string): string {
  return `(${texts.toSorted(compareText).join(separator)})`;
}

/** Compares texts by UTF-16 code units, independently of the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
