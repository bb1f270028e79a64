import { type CursorOption, itemCursor } from "@quicrpc/core/generated";
import type { GeneratedKind } from "./model.js";
import { isZodSchema } from "./types/zod.js";

/** Types of zod schemas that a cursor may have. */
const CURSOR_TYPES: ReadonlySet<string> = new Set(["string", "number", "bigint", "template_literal", "int"]);

/** Says what is wrong with a method's option `cursor`, and what to do; undefined where it fits. */
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
  const shapes = shapesOf(item);
  if (predecessor !== undefined && !shapes.every((shape) => Object.hasOwn(shape, predecessor))) {
    return {
      message: `Not every item has a field ${JSON.stringify(predecessor)}.`,
      help: "Give each item, of a union each of its objects, that field: the cursor of the item before, and nullable or optional for the first.",
    };
  }
  if (shapes.every((shape) => CURSOR_TYPES.has(typeAt(shape, field)))) return undefined;
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

/** The parts of a zod schema that are read here. */
interface Schema {
  readonly _zod: {
    readonly def: {
      readonly type: string;
      readonly shape?: Readonly<Record<string, Schema>>;
      readonly options?: readonly Schema[];
      readonly innerType?: Schema;
      readonly left?: Schema;
      readonly right?: Schema;
    };
  };
}

/** The fields of the objects that an item may be; of what is no object, none. */
function shapesOf(item: unknown): Readonly<Record<string, Schema>>[] {
  const { type, shape, options, innerType, left, right } = (item as Schema)._zod.def;
  if (type === "object" && shape !== undefined) return [shape];
  if (type === "union" && options !== undefined) return options.flatMap(shapesOf);
  if (type === "intersection") return [Object.assign({}, ...[left, right].flatMap(shapesOf))];
  if (type === "readonly" && innerType !== undefined) return shapesOf(innerType);
  return [{}];
}

function typeAt(shape: Readonly<Record<string, Schema>>, field: string): string {
  return (Object.hasOwn(shape, field) ? shape[field]?._zod.def.type : undefined) ?? "";
}
