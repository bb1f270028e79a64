import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import { type CallOptions, RpcError } from "@quicrpc/core";
import type { Caller } from "@quicrpc/core/generated";
import type { Tool } from "./tool.js";

const DEFAULT_MAX_ITEMS = 1000;

/** Context in which tools are called: one HTTP request, or one connection. */
export interface ToolCalls {
  readonly caller: Caller;
  readonly signal?: AbortSignal;
  /**
   * Registers a call so that the client can cancel it. Returns undefined if the client cannot cancel calls. Call `end`
   * on the result when the call has ended.
   */
  readonly begin?: () => { readonly signal: AbortSignal; end(): void } | undefined;
  /** Approximate maximum size in bytes of the stream items in one result. */
  readonly maxBytes: number;
}

/** Calls the method of a tool. Never rejects: if the call fails, the result has `isError`. */
export async function callTool(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  { caller, signal, begin, maxBytes }: ToolCalls,
  context: ServerContext,
): Promise<CallToolResult> {
  const known = begin?.();
  try {
    const { method, output } = tool;
    const input = inputOf(tool, args);
    const signals = [context.mcpReq.signal, signal, known?.signal].filter((candidate) => candidate !== undefined);
    const options: CallOptions = { signal: AbortSignal.any(signals) };
    switch (method.kind) {
      case "notify":
        await caller.start(method, input, options);
        return { content: [] };
      case "unary": {
        const value: unknown = await caller.start(method, input, options);
        if (output === undefined) return { content: [] };
        const json = output.toJson(value);
        return resultOf(tool.wraps.output ? { value: json } : (json as Record<string, unknown>));
      }
      case "server_stream":
        return resultOf(await gather(tool, caller.start(method, input, options), context, maxBytes));
      default:
        throw new TypeError(`a tool cannot be ${method.kind}`);
    }
  } catch (error) {
    return failureOf(tool, RpcError.from(error, "internal"));
  } finally {
    known?.end();
  }
}

function inputOf({ input, wraps }: Tool, args: Readonly<Record<string, unknown>>): unknown {
  return input?.fromJson(wraps.input ? args["value"] : args);
}

/** Collects the items of a stream. If the client asked for progress, reports each item as progress. */
async function gather(
  { output, mark }: Tool,
  items: AsyncIterable<unknown>,
  { mcpReq }: ServerContext,
  maxBytes: number,
): Promise<Record<string, unknown>> {
  const { maxItems = DEFAULT_MAX_ITEMS } = mark;
  const progressToken = mcpReq._meta?.progressToken;
  const gathered: unknown[] = [];
  let remaining = maxBytes;
  for await (const item of items) {
    const json = output?.toJson(item) ?? null;
    const text = JSON.stringify(json);
    remaining -= text.length;
    // Leaving the loop ends the call.
    if (gathered.length >= maxItems || remaining < 0) return { items: gathered, truncated: true };
    gathered.push(json);
    if (progressToken !== undefined) {
      const params = { progressToken, progress: gathered.length, message: text };
      await mcpReq.notify({ method: "notifications/progress", params });
    }
  }
  return { items: gathered };
}

function resultOf(structuredContent: Record<string, unknown>): CallToolResult {
  return { structuredContent, content: [{ type: "text", text: JSON.stringify(structuredContent) }] };
}

/**
 * Creates the result of a failed call. It contains text for the language model, and structured content for programs.
 */
function failureOf(tool: Tool, error: RpcError): CallToolResult {
  const { code, message, reason } = error;
  const details = detailsOf(tool, error);
  const report = { code, message, ...(reason !== undefined && { reason }), ...(details !== undefined && { details }) };
  return {
    isError: true,
    structuredContent: { error: report },
    content: [{ type: "text", text: JSON.stringify({ error: report }) }],
  };
}

function detailsOf(tool: Tool, error: RpcError): unknown {
  try {
    return tool.detailsOf(error);
  } catch {
    // The model should receive the error even if its details do not match the schema.
    return undefined;
  }
}
