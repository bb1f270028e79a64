import { type CursorOption, itemCursor } from "@quicrpc/core/internal";
import type { GeneratedKind } from "./model.js";
import { ownStructure, ownValue, partsOf, type SchemaNode } from "./schema/node.js";
import { nodeOf } from "./schema/read.js";
import { isZodSchema } from "./types/zod.js";

const CURSOR_KINDS: ReadonlySet<string> = new Set(["string", "number", "bigint", "template"]);

/** Describes a mistake in the option `cursor` of a method, and its remedy; returns undefined if there is none. */
export function cursorProblem(
  option: unknown,
  kind: GeneratedKind,
  output: unknown,
): { readonly message: string; readonly help: string } | undefined {
  if (option === undefined) return undefined;
  if (!isCursorOption(option)) {
    return {
      message: "The cursor is no field.",
      help: 'Write cursor: "id", or cursor: { field: "id", predecessor: "before" }.',
    };
  }
  const item = (output as { readonly item?: unknown } | undefined)?.item;
  if (kind !== "server_stream" || !isZodSchema(item)) {
    return {
      message: "Only items that a server streams have cursors.",
      help: "Leave cursor out, or make the output a stream.",
    };
  }
  const { field, predecessor } = itemCursor(option);
  const shapes = shapesOf(nodeOf(item));
  if (predecessor !== undefined && !shapes.every((shape) => Object.hasOwn(shape, predecessor))) {
    return {
      message: `Not every item has a field ${JSON.stringify(predecessor)}.`,
      help: "Give each item, of a union each of its objects, that field: the cursor of the item before, and nullable or optional for the first.",
    };
  }
  if (shapes.every((shape) => isCursor(shape, field))) return undefined;
  return {
    message: `Not every item has a cursor in its field ${JSON.stringify(field)}.`,
    help: "Give each item, of a union each of its objects, that field: text or an integer, and not optional.",
  };
}

function isCursorOption(option: unknown): option is CursorOption {
  if (typeof option === "string") return option !== "";
  if (typeof option !== "object" || option === null) return false;
  const { field, predecessor } = option as Record<string, unknown>;
  return typeof field === "string" && field !== "" && (predecessor === undefined || typeof predecessor === "string");
}

/** Returns the fields of each object type that an item may have; an empty list for items of other types. */
function shapesOf(item: SchemaNode): Readonly<Record<string, SchemaNode>>[] {
  const node = ownStructure(item);
  if (node.kind === "object") return [node.fields];
  if (node.kind === "union" || node.kind === "discriminated") return partsOf(node).flatMap(shapesOf);
  if (node.kind === "intersection") return [Object.assign({}, ...partsOf(node).flatMap(shapesOf))];
  return node.kind === "frozen" ? shapesOf(node.inner) : [{}];
}

function isCursor(shape: Readonly<Record<string, SchemaNode>>, field: string): boolean {
  const node = ownValue(shape, field);
  return node !== undefined && CURSOR_KINDS.has(ownStructure(node).kind);
}
