import { type ServeStdioOptions, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { CallOptions } from "@quicrpc/core";
import type { Caller } from "@quicrpc/core/generated";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { reflectedTools } from "./reflected-tools.js";
import { createToolServer, TOOL_SERVER_OPTIONS, type ToolServerInfo } from "./tool-server.js";

/** Options of `serveToolsOverStdio`. */
export interface StdioOptions extends ToolServerInfo {
  /** Call options for the calls of the reflection service. Default: none. */
  readonly reflection?: CallOptions;
  /** Approximate maximum size in bytes of the stream items in one result. Default: 4 MiB. */
  readonly maxResultBytes?: number;
  /** Transport of the MCP messages. Default: the process's standard input and output. */
  readonly transport?: NonNullable<ServeStdioOptions["transport"]>;
  /** Called with errors of the MCP protocol. Default: none. */
  readonly onError?: (error: Error) => void;
}

const OPTIONS: OptionNames<StdioOptions> = {
  ...TOOL_SERVER_OPTIONS,
  maxResultBytes: true,
  onError: true,
  reflection: true,
  transport: true,
};

const DEFAULT_RESULT_BYTES = 4 * 1024 * 1024;

/**
 * Serves the tools of a server to the program that started this process, over standard input and output. `caller` is
 * for example a connection to the server, whose reflection service describes the tools. Rejects if the tools cannot be
 * read.
 */
export async function serveToolsOverStdio(
  caller: Caller,
  options: StdioOptions,
): Promise<{ readonly tools: readonly string[]; close(): Promise<void> }> {
  checkOptions("serveToolsOverStdio()", options, OPTIONS);
  const { reflection, maxResultBytes = DEFAULT_RESULT_BYTES, transport, onError, ...info } = options;
  const tools = await reflectedTools(caller, reflection);
  const serving = serveStdio(() => createToolServer(info, tools, { caller, maxBytes: maxResultBytes }), {
    ...(transport !== undefined && { transport }),
    ...(onError !== undefined && { onerror: onError }),
  });
  return { tools: [...tools.keys()], close: () => serving.close() };
}
