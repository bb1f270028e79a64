import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import type { OptionNames } from "@quicrpc/core/internal";
import { callTool, type ToolCalls } from "./call-tool.js";
import type { Tool } from "./tool.js";

/** How the server describes itself to clients. */
export interface ToolServerInfo {
  /** Server name. */
  readonly name: string;
  /** Server version. */
  readonly version: string;
  /** Display name. Default: `name`. */
  readonly title?: string;
  /** Tells the model how to use the tools together. Default: none. */
  readonly instructions?: string;
}

/** Option names of `ToolServerInfo`. */
export const TOOL_SERVER_OPTIONS: OptionNames<ToolServerInfo> = {
  instructions: true,
  name: true,
  title: true,
  version: true,
};

/** Creates the MCP server of one request or one connection. It lists and calls `tools`. */
export function createToolServer(
  { instructions, ...info }: ToolServerInfo,
  tools: ReadonlyMap<string, Tool>,
  calls: ToolCalls,
): Server {
  const server = new Server(info, { capabilities: { tools: {} }, ...(instructions !== undefined && { instructions }) });
  server.setRequestHandler("tools/list", () => ({ tools: Array.from(tools.values(), ({ listing }) => listing) }));
  server.setRequestHandler("tools/call", ({ params }, context) => {
    const tool = tools.get(params.name);
    if (tool === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool ${JSON.stringify(params.name)}`);
    }
    return callTool(tool, params.arguments ?? {}, calls, context);
  });
  return server;
}
