import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import type { OptionNames } from "@quicrpc/core/internal";
import { callTool, type ToolCalls } from "./call-tool.js";
import type { Tool } from "./tool.js";

/** Description of the MCP server for its clients. */
export interface ToolServerInfo {
  /** Name that the server reports to clients. */
  readonly name: string;
  /** Version that the server reports to clients. */
  readonly version: string;
  /** Title of the server that clients display. Default: `name`. */
  readonly title?: string;
  /** Text that tells the language model how to use the tools together. Default: none. */
  readonly instructions?: string;
}

export const TOOL_SERVER_OPTIONS: OptionNames<ToolServerInfo> = {
  instructions: true,
  name: true,
  title: true,
  version: true,
};

/** Creates an MCP server for one HTTP request or one connection. It lists and calls `tools`. */
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
