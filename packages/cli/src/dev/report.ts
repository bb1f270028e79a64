import { sanitizeForLog } from "@quicrpc/core";
import { colorsFor } from "../report.js";
import { printJson } from "../target.js";

export type DevEvent =
  | { readonly event: "generated"; readonly files: readonly string[] }
  | {
      readonly event: "listening";
      readonly urls: readonly string[];
      readonly network?: string;
      readonly hash: string;
      readonly ms: number;
    }
  | { readonly event: "studio"; readonly url: string }
  | { readonly event: "restarting"; readonly because: readonly string[] }
  | { readonly event: "ended"; readonly code: number | null }
  | { readonly event: "besideEnded"; readonly command: string; readonly code: number | null }
  | { readonly event: "problem"; readonly message: string };

/** Prints an event of `quicrpc dev` as text, or as a line of JSON. */
export function reportEvent(event: DevEvent, json: boolean): void {
  if (json) return printJson(event);
  const colors = colorsFor(process.stdout, process.env);
  const line = (name: string, text: string): string => `  ${colors.dim(name.padEnd(11))} ${text}\n`;
  switch (event.event) {
    case "generated":
      if (event.files.length > 0) process.stdout.write(line("generated", event.files.join(", ")));
      return;
    case "listening": {
      const urls = event.urls.map((url, index) => line(index === 0 ? "server" : "", colors.cyan(url)));
      const network = event.network === undefined ? "" : line("network", event.network);
      process.stdout.write(
        `${urls.join("")}${network}${line("certificate", `sha-256 ${event.hash}`)}${line("", colors.dim(`ready in ${event.ms} ms`))}`,
      );
      return;
    }
    case "studio":
      process.stdout.write(line("studio", colors.cyan(event.url)));
      return;
    case "restarting":
      process.stdout.write(line("restarting", event.because.join(", ")));
      return;
    case "ended":
      process.stderr.write(
        `${colors.red("ended")} with ${event.code ?? "a signal"}; it is restarted when a file changes\n`,
      );
      return;
    case "besideEnded":
      process.stderr.write(
        `${colors.red("ended")} ${sanitizeForLog(event.command)}, with ${event.code ?? "a signal"}; the server continues without it\n`,
      );
      return;
    case "problem":
      process.stderr.write(`${colors.red("problem")} ${sanitizeForLog(event.message)}\n`);
  }
}
