/** How a method is shown as a tool: its `meta.mcp`, where that is more than `true`. */
export interface McpTool {
  /** The tool's name: letters, digits, "_", "-" and ".". Default: `Service_method`. */
  readonly name?: string;
  /** A name for people. Default: `meta.summary`. */
  readonly title?: string;
  /** Says to the model what the tool does. Default: `meta.description`, or the method's comment. */
  readonly description?: string;
  /** Calls may overwrite or delete something. Default: nothing is said of it. */
  readonly destructive?: boolean;
  /** Calls reach beyond the services' own data, such as the web. Default: nothing is said of it. */
  readonly openWorld?: boolean;
  /** Items of a server stream that one result holds at most; then the call is ended. Default: 1000. */
  readonly maxItems?: number;
}

declare module "@quicrpc/core" {
  interface MethodMeta {
    /** The method is a tool for language models: see `@quicrpc/mcp`. */
    readonly mcp?: boolean | McpTool;
  }
}

/** Reads what a method's `meta` says of it as a tool; undefined where it is none. Throws `TypeError` for what is no mark. */
export function markOf(meta: object | undefined, method: string): McpTool | undefined {
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
