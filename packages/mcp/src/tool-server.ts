import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import type { OptionNames } from "@quicrpc/core/transport";
import { callTool, type ToolCalls } from "./call-tool.js";
import type { Tool } from "./tool.js";

/** How a server of tools calls itself. */
export interface ToolServerInfo {
  /** The server's name, for the client. */
  readonly name: string;
  /** The server's version, for the client. */
  readonly version: string;
  /** A name for people. Default: `name`. */
  readonly title?: string;
  /** How the tools are used together, for the model. Default: none. */
  readonly instructions?: string;
}

/** Names of the options that say how a server of tools calls itself. */
export const TOOL_SERVER_OPTIONS: OptionNames<ToolServerInfo> = {
  instructions: true,
  name: true,
  title: true,
  version: true,
};

/** Makes the server of one request, or of one connection: it lists `tools`, and calls them. */
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
