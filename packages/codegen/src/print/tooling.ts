import { basename } from "node:path";
import type { ServiceTooling } from "@quicrpc/core/generated";
import type { FileModel } from "../model.js";
import { camelCase } from "../names.js";
import { headerFor } from "./header.js";
import { assignment, json } from "./syntax.js";
import { joinParts, jsDoc } from "./writer.js";

/** Returns the name of the export that `printTooling` creates for a service. */
export function toolingName(prefix: string): string {
  return `${camelCase(prefix)}Tooling`;
}

/** Prints the file with the descriptions of services for tools, which is loaded on demand. */
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

/** Minimum length in characters of a repeated text that is declared once. */
const LONG = 100;

/** Prints JSON values as TypeScript. Long ones that occur repeatedly become constants. */
class Literals {
  /** Declarations of the constants, each after those that it refers to. */
  readonly repeated: string[] = [];
  readonly #texts = new Map<object, string>();
  readonly #counts = new Map<string, number>();
  readonly #names = new Map<string, string>();

  constructor(values: readonly unknown[]) {
    for (const value of values) this.#count(value);
  }

  readonly of = (value: unknown): string => {
    if (typeof value !== "object" || value === null) return json(value);
    const text = this.#textOf(value);
    if (text.length < LONG || this.#counts.get(text) === 1) return json(value, this.of);
    const name = this.#names.get(text) ?? this.#declare(value);
    this.#names.set(text, name);
    return name;
  };

  #declare(value: object): string {
    const literal = json(value, this.of);
    const name = `part${this.repeated.length + 1}`;
    this.repeated.push(`${assignment(`const ${name}`, literal)}\n`);
    return name;
  }

  /** Returns the JSON of `value`, assembled from the cached texts of its parts. */
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

  /** Counts how often long values occur. A nested value is counted once. */
  #count(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    const text = this.#textOf(value);
    // Its parts are not long either.
    if (text.length < LONG) return;
    const count = (this.#counts.get(text) ?? 0) + 1;
    this.#counts.set(text, count);
    if (count === 1) for (const each of Object.values(value)) this.#count(each);
  }
}
