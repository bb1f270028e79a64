import { addAbortListener } from "node:events";
import { Command } from "commander";
import { callOptions, EXIT, TARGET_HELP, type TargetOptions, withConnection, withTrust } from "./target.js";

export function mcpCommand(version: string): Command {
  return withTrust(
    new Command("mcp")
      .description("Offer the methods that a server's schemas mark as tools to a language model, over stdio.")
      .argument("<url>", "the server"),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc mcp quic://localhost:4433 --dev
  $ SHOP_TOKEN=… quicrpc mcp quic://shop.example --credentials-from SHOP_TOKEN

It requires @quicrpc/mcp: npm install @quicrpc/mcp. It ends when its input ends.
${TARGET_HELP}`,
    )
    .action(async (url: string, options: TargetOptions) => {
      process.exitCode = await withConnection(url, options, async (connection, signal) => {
        const { serveToolsOverStdio } = await import("@quicrpc/mcp/stdio");
        const reflection = callOptions(options, signal);
        const { tools } = await serveToolsOverStdio(connection, { name: "quicrpc", version, reflection });
        process.stderr.write(`${tools.length === 0 ? NO_TOOLS : `${tools.length} tools: ${tools.join(", ")}`}\n`);
        await new Promise<void>((resolve) => {
          for (const event of ["end", "close"]) process.stdin.once(event, () => resolve());
          addAbortListener(signal, () => resolve());
        });
        signal.throwIfAborted();
        return EXIT.ok;
      });
    });
}

const NO_TOOLS = "no tools: no schema of the server marks a method with meta: { mcp: true }";
