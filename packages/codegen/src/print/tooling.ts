import { basename } from "node:path";
import type { ServiceTooling } from "@quicrpc/core/generated";
import type { FileModel } from "../model.js";
import { camelCase } from "../names.js";
import { headerFor } from "./header.js";
import { assignment, jsonExpression } from "./syntax.js";
import { joinParts, jsDoc } from "./writer.js";

export function toolingName(prefix: string): string {
  return `${camelCase(prefix)}Tooling`;
}

/** Returns the text of the file with descriptions of services for tools, which is loaded on demand. */
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
    return `${comment}${assignment(`export const ${toolingName(prefix)}: ServiceTooling`, literals.of(tooling))}\n`;
  });
  const imports = 'import type { ServiceTooling } from "@quicrpc/core/generated";\n';
  const parts = [headerFor(basename(schemaFile)), imports, literals.repeated.join(""), ...constants];
  return joinParts(parts);
}

/** Minimum characters of a repeated value that becomes a constant. */
const LONG = 100;
/** Maximum nesting levels of a value. A deeper one becomes a constant, because each level indents its lines further. */
const LEVELS = 30;

interface Literal {
  /** Text that stands for the value in the keys of values that contain it. */
  readonly id: string;
  /** Length of the value's JSON in characters. */
  readonly length: number;
  readonly levels: number;
  count: number;
  /** Name of the value's constant; undefined if it has none. */
  name?: string;
}

/** Prints JSON values as TypeScript. Long values that occur repeatedly become constants. */
class Literals {
  /** Declarations of the constants, each after the ones that it refers to. */
  readonly repeated: string[] = [];
  /** Values by their JSON, in which ids replace nested objects and arrays. */
  readonly #distinct = new Map<string, Literal>();
  readonly #known = new Map<object, Literal>();

  constructor(values: readonly object[]) {
    for (const value of values) this.#count(value);
  }

  readonly of = (value: unknown): string => {
    if (typeof value !== "object" || value === null) return jsonExpression(value);
    const literal = this.#literalOf(value);
    const { length, levels, count } = literal;
    if (length < LONG || (count === 1 && levels % LEVELS !== 0)) return jsonExpression(value, this.of);
    return (literal.name ??= this.#declare(value));
  };

  #declare(value: object): string {
    const literal = jsonExpression(value, this.of);
    const name = `part${this.repeated.length + 1}`;
    this.repeated.push(`${assignment(`const ${name}`, literal)}\n`);
    return name;
  }

  #literalOf(value: object): Literal {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    let more = 0;
    let depth = 0;
    const parts = Object.entries(value).map(([name, part]: [string, unknown]) => {
      const key = Array.isArray(value) ? "" : `${JSON.stringify(name)}:`;
      if (typeof part !== "object" || part === null) return key + (JSON.stringify(part) ?? "null");
      const { id, length, levels } = this.#literalOf(part);
      more += length - id.length;
      depth = Math.max(depth, levels);
      return key + id;
    });
    const key = Array.isArray(value) ? `[${parts.join()}]` : `{${parts.join()}}`;
    const literal = this.#distinct.get(key) ?? {
      id: `#${this.#distinct.size}`,
      length: key.length + more,
      levels: depth + 1,
      count: 0,
    };
    this.#distinct.set(key, literal);
    this.#known.set(value, literal);
    return literal;
  }

  /** Counts how often each long value occurs. Counts nested values only at the first occurrence. */
  #count(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    const literal = this.#literalOf(value);
    // Values inside a short value are short, too.
    if (literal.length < LONG) return;
    literal.count++;
    if (literal.count === 1) for (const each of Object.values(value)) this.#count(each);
  }
}
