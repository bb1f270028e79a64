import { basename } from "node:path";
import type { ServiceTooling } from "@quicrpc/core/generated";
import type { FileModel } from "../model.js";
import { camelCase } from "../names.js";
import { headerFor } from "./header.js";
import { group, indent, isBroken, type Layout, line, render } from "./layout.js";
import { arrayOf, assignment, braced } from "./syntax.js";
import { keyText, quoted } from "./text.js";
import { jsDoc } from "./writer.js";

/** The name of what `printTooling` exports for a service. */
export function toolingName(prefix: string): string {
  return `${camelCase(prefix)}Tooling`;
}

/** The text of the file with what tools are told of the services of `model`; it is loaded when one asks. */
export function printTooling({ schemaFile, services }: FileModel): string {
  const constants = services.map(({ name, prefix, docs, methods, snapshot }) => {
    const tooling: ServiceTooling = {
      ...(docs === undefined ? {} : { docs }),
      methods: Object.fromEntries(methods.map((method) => [method.name, method.tooling])),
      snapshot,
    };
    const comment = jsDoc(`What tools are told of ${name}: comments, JSON Schemas of its messages, and their shapes.`);
    const { layout } = literal(tooling);
    return `${comment}${render(assignment(`export const ${toolingName(prefix)}: ServiceTooling`, layout))}\n`;
  });
  const imports = 'import type { ServiceTooling } from "@quicrpc/core/generated";\n';
  return [headerFor(basename(schemaFile)), imports, ...constants].join("\n");
}

/** A JSON value as TypeScript: on one line, and in several where it is not short. */
interface Literal {
  readonly flat: string;
  readonly layout: Layout;
}

/** Objects of this many characters are on one line. */
const SHORT = 70;

function literal(value: unknown): Literal {
  if (typeof value === "string") return same(quoted(value));
  if (typeof value === "number") return same(String(value).replace("e+", "e"));
  if (typeof value !== "object" || value === null) return same(String(value));
  if (Array.isArray(value)) {
    const items = value.map(literal);
    const flat = `[${items.map((item) => item.flat).join(", ")}]`;
    const layouts = items.map(({ layout }) => layout);
    // Formatters give each of several objects or lists a line.
    const expanded = value.length > 1 && (value.every(isLargeObject) || value.every(isLargeArray));
    return { flat, layout: flat.length <= SHORT && !expanded ? flat : arrayOf(layouts, expanded) };
  }
  const fields = Object.entries(value).map(([key, each]) => ({ key: keyText(key), value: literal(each) }));
  if (fields.length === 0) return same("{}");
  const flat = `{ ${fields.map((field) => `${field.key}: ${field.value.flat}`).join(", ")} }`;
  const isFlat = flat.length <= SHORT && fields.every((field) => !isBroken(field.value.layout));
  const layouts = fields.map(({ key, value: { layout } }): Layout => {
    const isText = typeof layout === "string" && /^["']/.test(layout);
    // Moving text down from behind a key as short as this gains nothing.
    return isText && key.length > 4 ? [`${key}:`, group(indent(line, layout))] : [`${key}: `, layout];
  });
  return { flat, layout: flat.length <= SHORT / 2 && isFlat ? flat : braced(layouts, ",", !isFlat) };
}

function same(text: string): Literal {
  return { flat: text, layout: text };
}

function isLargeObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 1;
}

function isLargeArray(value: unknown): boolean {
  return Array.isArray(value) && value.length > 1;
}
