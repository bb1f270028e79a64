import { jsonOf } from "@quicrpc/core/internal";
import { checksOf, constantOf, type NodeOf, ownStructure, type SchemaNode } from "../schema/node.js";
import { summaryOf } from "../shape/checks.js";
import type { Checks } from "../shape/shape.js";
import { FORMATS } from "../tooling/keywords.js";
import type { Direction } from "./zod.js";

/** Number formats that accept every finite JavaScript number. */
const IDLE_FORMATS: ReadonlySet<string> = new Set(["number", "float64"]);
const MAX_DEFAULT = 60;

/**
 * Returns a field's checks as JSDoc tags, with the names of JSON Schema keywords. Form generators and JSON Schema
 * generators read such tags, and editors display them.
 */
export function constraintTags(field: SchemaNode, direction: Direction): string[] {
  const { node, initial } = unwrapped(field);
  const tags = tagsOf(node, "");
  return initial === undefined || direction === "output" ? tags : [...tags, `@default ${initial}`];
}

/** Returns the schema inside `optional` and other wrappers, and the default as JSON. */
function unwrapped(field: SchemaNode): { readonly node: SchemaNode; readonly initial: string | undefined } {
  let node = field;
  let initial: string | undefined;
  for (let hops = 0; hops < 50; hops++) {
    const structure = ownStructure(node);
    if (!("inner" in structure) || structure.kind === "refined" || structure.kind === "success") break;
    if (structure.kind === "default" || structure.kind === "prefault") initial ??= defaultText(structure);
    node = structure.inner;
  }
  return { node, initial };
}

function defaultText(node: NodeOf<"default" | "prefault">): string | undefined {
  const constant = constantOf(node);
  if (constant === undefined) return undefined;
  const { value } = constant;
  const text = typeof value === "bigint" ? String(value) : JSON.stringify(jsonOf(value));
  return text !== undefined && text.length <= MAX_DEFAULT ? text : undefined;
}

/**
 * Returns the JSDoc tags for the checks of a schema.
 * @param prefix first part of the tags' names, such as `items.`
 */
function tagsOf(node: SchemaNode, prefix: string): string[] {
  const structure = ownStructure(node);
  const checks = summaryOf(checksOf(node)) ?? {};
  const tag = (name: string, value: number | string | undefined): string[] =>
    value === undefined ? [] : [`@${prefix}${name} ${value}`];
  switch (structure.kind) {
    case "string":
      return [
        ...tag("minLength", checks.min),
        ...tag("maxLength", checks.max),
        ...tag("format", checks.format && (FORMATS[checks.format] ?? checks.format)),
        ...(checks.patterns ?? []).flatMap((pattern) => tag("pattern", patternText(pattern))),
      ];
    case "number":
    case "bigint":
      return [...numberFormat(checks.format).flatMap((each) => tag(...each)), ...bounds(checks, tag)];
    case "date":
      return bounds(dates(checks), tag);
    case "array":
    case "set":
    case "map": {
      const sizes = [...tag("minItems", checks.min), ...tag("maxItems", checks.max)];
      return structure.kind === "array" && prefix === ""
        ? [...sizes, ...tagsOf(unwrapped(structure.element).node, "items.")]
        : sizes;
    }
    default:
      return [];
  }
}

type Tag = (name: string, value: number | string | undefined) => string[];

function bounds({ min, max, above, below, multipleOf }: Checks, tag: Tag): string[] {
  return [
    ...tag("minimum", min),
    ...tag("exclusiveMinimum", above),
    ...tag("maximum", max),
    ...tag("exclusiveMaximum", below),
    ...tag("multipleOf", multipleOf),
  ];
}

function numberFormat(format: string | undefined): [name: string, value: string][] {
  if (format === undefined || IDLE_FORMATS.has(format)) return [];
  return [format === "integer" ? ["asType", "integer"] : ["format", format]];
}

/** Converts the bounds of a date from milliseconds to ISO strings. */
function dates({ min, max, above, below }: Checks): Checks {
  const given = Object.entries({ min, max, above, below }).filter(([, each]) => each !== undefined);
  return Object.fromEntries(given.map(([name, each]) => [name, new Date(Number(each)).toISOString()]));
}

function patternText(pattern: string): string {
  return pattern.slice(1, pattern.lastIndexOf("/"));
}
