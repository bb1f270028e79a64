import { basename } from "node:path";
import type { ServiceTooling } from "@quicrpc/core/generated";
import type { FileModel } from "../model.js";
import { camelCase } from "../names.js";
import { headerFor } from "./header.js";
import { group, indent, isBroken, type Layout, line, render } from "./layout.js";
import { arrayOf, assignment, braced } from "./syntax.js";
import { keyText, quoted } from "./text.js";
import { joinParts, jsDoc } from "./writer.js";

/** The name of what `printTooling` exports for a service. */
export function toolingName(prefix: string): string {
  return `${camelCase(prefix)}Tooling`;
}

/** Prints the file with the descriptions of the services of `model` for tools; it is loaded when one asks. */
export function printTooling({ schemaFile, services }: FileModel): string {
  const all = services.map(({ name, prefix, docs, methods, snapshot }) => {
    const tooling: ServiceTooling = {
      ...(docs === undefined ? {} : { docs }),
      methods: Object.fromEntries(methods.map((method) => [method.name, method.tooling])),
      snapshot,
    };
    return { name, prefix, tooling };
  });
  const literals = new Literals(all.map(({ tooling }) => tooling));
  const constants = all.map(({ name, prefix, tooling }) => {
    const comment = jsDoc(
      `Descriptions of ${name} for tools: comments, JSON Schemas of its messages, and their shapes.`,
    );
    const { layout } = literals.of(tooling);
    return `${comment}${render(assignment(`export const ${toolingName(prefix)}: ServiceTooling`, layout))}\n`;
  });
  const imports = 'import type { ServiceTooling } from "@quicrpc/core/generated";\n';
  const parts = [headerFor(basename(schemaFile)), imports, literals.repeated.join(""), ...constants];
  return joinParts(parts);
}

/** A JSON value as TypeScript: on one line, and in several where it is not short. */
interface Literal {
  readonly flat: string;
  readonly layout: Layout;
  /** Fields or items that it has; none where it is a scalar, or the name of a constant. */
  readonly size: number;
}

/** Objects of this many characters are on one line. */
const SHORT = 70;
/** Text of so many characters is declared once, however often it occurs. */
const LONG = 100;

/** JSON values as TypeScript. Long ones that occur more than once are constants. */
class Literals {
  /** Declarations of the constants, each after those that it is made of. */
  readonly repeated: string[] = [];
  readonly #texts = new Map<object, string>();
  readonly #counts = new Map<string, number>();
  readonly #names = new Map<string, string>();

  constructor(values: readonly unknown[]) {
    for (const value of values) this.#count(value);
  }

  of(value: unknown): Literal {
    if (typeof value !== "object" || value === null) return scalar(value);
    const text = this.#textOf(value);
    if (text.length < LONG || this.#counts.get(text) === 1) return this.#written(value);
    const name = this.#names.get(text) ?? this.#declare(value);
    this.#names.set(text, name);
    return same(name);
  }

  #declare(value: object): string {
    const { layout } = this.#written(value);
    const name = `part${this.repeated.length + 1}`;
    this.repeated.push(`${render(assignment(`const ${name}`, layout))}\n`);
    return name;
  }

  #written(value: object): Literal {
    if (Array.isArray(value)) {
      const items = value.map((item) => this.of(item));
      const flat = `[${items.map((item) => item.flat).join(", ")}]`;
      const layouts = items.map(({ layout }) => layout);
      // Formatters give each of several objects or lists a line.
      const expanded = value.length > 1 && (items.every(isLargeObject) || items.every(isLargeArray));
      return {
        flat,
        layout: flat.length <= SHORT && !expanded ? flat : arrayOf(layouts, expanded),
        size: items.length,
      };
    }
    const fields = Object.entries(value).map(([key, each]) => ({ key: keyText(key), value: this.of(each) }));
    if (fields.length === 0) return same("{}");
    const flat = `{ ${fields.map((field) => `${field.key}: ${field.value.flat}`).join(", ")} }`;
    const isFlat = flat.length <= SHORT && fields.every((field) => !isBroken(field.value.layout));
    const layouts = fields.map(({ key, value: { layout } }): Layout => {
      const isText = typeof layout === "string" && /^["']/.test(layout);
      // Moving text down from behind a key as short as this gains nothing.
      return isText && key.length > 4 ? [`${key}:`, group(indent(line, layout))] : [`${key}: `, layout];
    });
    const layout = flat.length <= SHORT / 2 && isFlat ? flat : braced(layouts, ",", !isFlat);
    return { flat, layout, size: fields.length };
  }

  /** `value` as JSON: made of the texts of its parts, each of which is asked for too. */
  #textOf(value: unknown): string {
    if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
    let text = this.#texts.get(value);
    if (text === undefined) {
      const parts = Array.isArray(value)
        ? value.map((item) => this.#textOf(item))
        : Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}:${this.#textOf(each)}`);
      text = Array.isArray(value) ? `[${parts.join()}]` : `{${parts.join()}}`;
      this.#texts.set(value, text);
    }
    return text;
  }

  /** Counts how often what is long occurs; what is inside it counts once. */
  #count(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    const text = this.#textOf(value);
    // Nothing in it is long either.
    if (text.length < LONG) return;
    const count = (this.#counts.get(text) ?? 0) + 1;
    this.#counts.set(text, count);
    if (count === 1) for (const each of Object.values(value)) this.#count(each);
  }
}

function scalar(value: unknown): Literal {
  if (typeof value === "string") return same(quoted(value));
  return same(typeof value === "number" ? String(value).replace("e+", "e") : String(value));
}

function same(text: string): Literal {
  return { flat: text, layout: text, size: 0 };
}

function isLargeObject({ flat, size }: Literal): boolean {
  return flat.startsWith("{") && size > 1;
}

function isLargeArray({ flat, size }: Literal): boolean {
  return flat.startsWith("[") && size > 1;
}
