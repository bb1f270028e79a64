export { mcp, type McpOptions } from "./mcp.js";
export type { McpTool } from "./meta.js";
export type { ToolServerInfo } from "./tool-server.js";
