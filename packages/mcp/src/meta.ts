/** Describes how a method is presented as a tool: the object form of its `meta.mcp`. */
export interface McpTool {
  /** Name of the tool: letters, digits, "_", "-" and ".". Default: `Service_method`. */
  readonly name?: string;
  /** Display name. Default: `meta.summary`. */
  readonly title?: string;
  /** Text that tells the language model what the tool does. Default: `meta.description`, or the method's comment. */
  readonly description?: string;
  /** True if calls may overwrite or delete data. Default: not stated. */
  readonly destructive?: boolean;
  /** True if calls affect or read data outside the services, for example on the web. Default: not stated. */
  readonly openWorld?: boolean;
  /** Maximum number of stream items in one result. The call is cancelled after that. Default: 1000. */
  readonly maxItems?: number;
}

declare module "@quicrpc/core" {
  interface MethodMeta {
    /** Makes the method available as a tool for language models; see `@quicrpc/mcp`. */
    readonly mcp?: boolean | McpTool;
  }
}

/**
 * Returns the `meta.mcp` of a method. Returns undefined if the method is not a tool. Throws `TypeError` for an invalid
 * value.
 */
export function toolMarkOf(meta: object | undefined, method: string): McpTool | undefined {
  const { mcp } = (meta ?? {}) as { readonly mcp?: unknown };
  if (mcp === undefined || mcp === false) return undefined;
  if (mcp === true) return {};
  if (typeof mcp !== "object" || mcp === null || Array.isArray(mcp)) {
    throw new TypeError(`${method}: meta.mcp is true or an object, not ${JSON.stringify(mcp)}`);
  }
  const wrong = Object.entries(mcp).find(([key, value]) => FIELDS.get(key) !== typeof value);
  if (wrong !== undefined) throw new TypeError(`${method}: meta.mcp.${wrong[0]} is not known, or of another type`);
  return mcp;
}

const FIELDS: ReadonlyMap<string, string> = new Map<keyof McpTool, string>([
  ["name", "string"],
  ["title", "string"],
  ["description", "string"],
  ["destructive", "boolean"],
  ["openWorld", "boolean"],
  ["maxItems", "number"],
]);
