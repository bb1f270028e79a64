import type { Tool as Listing } from "@modelcontextprotocol/server";
import type { RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { fullName, streamsInput } from "@quicrpc/core/internal";
import type { JsonSchema } from "@quicrpc/http/openapi";
import { isObject } from "@quicrpc/services/json-schema";
import { toolMarkOf, type McpTool } from "./meta.js";

/** Converts the input or output of a method to and from JSON. Both functions may throw `RpcError`. */
export interface ToolJson {
  readonly schema: JsonSchema;
  toJson(value: unknown): unknown;
  fromJson(json: unknown): unknown;
}

export interface ToolSource {
  readonly method: AnyMethod;
  readonly docs: string | undefined;
  /** Conversion of the input. Undefined if the method has no input. */
  readonly input: ToolJson | undefined;
  /** Conversion of the output, or of one item if the output is a stream. Undefined if the method has no output. */
  readonly output: ToolJson | undefined;
  /** Returns the details of an error as JSON. Undefined if it has none. */
  detailsOf(error: RpcError): unknown;
}

/** A method that language models can call. */
export interface Tool extends ToolSource {
  readonly mark: McpTool;
  readonly listing: Listing;
  /** True if inputs or outputs are wrapped as `{ value }`, because MCP requires objects. */
  readonly wraps: { readonly input: boolean; readonly output: boolean };
}

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/**
 * Creates tools from the marked methods. Throws `TypeError` if a method cannot be a tool, or if two tools have the same
 * name.
 */
export function toolsOf(sources: readonly ToolSource[]): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>();
  for (const source of sources) {
    const { method } = source;
    const name = fullName(method);
    const mark = toolMarkOf(method.meta, name);
    if (mark === undefined) continue;
    if (streamsInput(method)) {
      throw new TypeError(`${name} cannot be a tool: it streams its input, and a tool takes one object`);
    }
    const tool = toolOf(source, mark);
    const { name: its } = tool.listing;
    const other = tools.get(its);
    if (!NAME.test(its)) throw new TypeError(`${name}: a tool cannot be named ${JSON.stringify(its)}`);
    if (other !== undefined) {
      throw new TypeError(`${name} and ${fullName(other.method)} are both the tool ${its}: give one a meta.mcp.name`);
    }
    tools.set(its, tool);
  }
  return tools;
}

function toolOf(source: ToolSource, mark: McpTool): Tool {
  const { method, docs, input, output } = source;
  const { service, name, idempotent, readOnly, kind } = method;
  const annotations = (method.meta ?? {}) as { readonly summary?: unknown; readonly description?: unknown };
  const title = mark.title ?? textOf(annotations.summary);
  const description = mark.description ?? textOf(annotations.description) ?? docs;
  const wraps = {
    input: input !== undefined && !isObjectSchema(input.schema),
    output: kind !== "server_stream" && output !== undefined && !isObjectSchema(output.schema),
  };
  return {
    ...source,
    mark,
    wraps,
    listing: {
      name: mark.name ?? `${service.name.slice(service.name.lastIndexOf(".") + 1)}_${name}`,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      inputSchema: inputSchemaOf(input, wraps.input) as Listing["inputSchema"],
      ...(output !== undefined && { outputSchema: outputSchemaOf(method, output, wraps.output) }),
      annotations: {
        ...(title !== undefined && { title }),
        ...(readOnly && { readOnlyHint: true }),
        ...(mark.destructive !== undefined && { destructiveHint: mark.destructive }),
        ...(mark.openWorld !== undefined && { openWorldHint: mark.openWorld }),
        idempotentHint: idempotent,
      },
    },
  };
}

function inputSchemaOf(input: ToolJson | undefined, wraps: boolean): JsonSchema {
  if (input === undefined) return { type: "object", properties: {}, additionalProperties: false };
  return wraps ? wrapped(input.schema, "value") : input.schema;
}

function outputSchemaOf(method: AnyMethod, { schema }: ToolJson, wraps: boolean): NonNullable<Listing["outputSchema"]> {
  if (method.kind === "server_stream") return itemsSchema(schema);
  return wraps ? wrapped(schema, "value") : schema;
}

/** Returns the output schema of a tool whose method streams its output: an object with the list `items`, and `truncated`. */
function itemsSchema(schema: JsonSchema): JsonSchema {
  return wrapped(schema, "items", {
    truncated: { type: "boolean", description: "There were more items: the call was ended here." },
  });
}

function textOf(text: unknown): string | undefined {
  return typeof text === "string" ? text : undefined;
}

export type { JsonSchema };

/** Returns true if all values of a schema are objects, as MCP requires for inputs and outputs of tools. */
function isObjectSchema({ type }: JsonSchema): boolean {
  return type === "object";
}

/**
 * Returns the schema of an object with one member: `value` with the given schema, or `items` with a list of such
 * values. Moves definitions to the root and adjusts references.
 */
function wrapped(schema: JsonSchema, key: "value" | "items", optional: JsonSchema = {}): JsonSchema {
  const { $defs, ...ownKeywords } = schema;
  const root = key === "items" ? "#/properties/items/items" : "#/properties/value";
  const moved = withRoot(ownKeywords, root);
  return {
    type: "object",
    properties: { [key]: key === "items" ? { type: "array", items: moved } : moved, ...optional },
    required: [key],
    ...($defs !== undefined && { $defs: withRoot($defs, root) }),
  };
}

/** Replaces references to the root of the schema with references to `root`. */
function withRoot(part: unknown, root: string): unknown {
  if (Array.isArray(part)) return part.map((element) => withRoot(element, root));
  if (!isObject(part)) return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, key === "$ref" && value === "#" ? root : withRoot(value, root)]),
  );
}
