import { type ServeStdioOptions, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { CallOptions } from "@quicrpc/core";
import type { Caller } from "@quicrpc/core/generated";
import { checkOptions, type OptionNames } from "@quicrpc/core/transport";
import { reflectedTools } from "./reflected-tools.js";
import { createToolServer, TOOL_SERVER_OPTIONS, type ToolServerInfo } from "./tool-server.js";

/** Options of `serveToolsOverStdio`. */
export interface StdioOptions extends ToolServerInfo {
  /** Options of the calls that ask for the tools. Default: none. */
  readonly reflection?: CallOptions;
  /** Bytes of the items of a stream that one result holds, about. Default: 4 MiB. */
  readonly maxResultBytes?: number;
  /** Carries the messages of the protocol. Default: the process's standard input and output. */
  readonly transport?: NonNullable<ServeStdioOptions["transport"]>;
  /** Called with errors of the protocol. Default: none. */
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
 * Serves the tools of the server that `caller` calls, such as a connection to it, to the program that started this process. Its reflection
 * service says which they are. Rejects with why it does not.
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
