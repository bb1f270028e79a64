import { join } from "node:path";
import type { Outcome } from "../outcome.js";
import { preparePython, runClient } from "../peers.js";
import { serveProtocol } from "./server.js";

/** How the scenarios went over one transport. */
export interface ProtocolColumn {
  readonly over: string;
  readonly cells: Readonly<Record<string, Outcome>>;
}

/** The scenarios of `protocol/client.py`. */
const ROWS: Readonly<Record<string, string>> = {
  values: "a value of each type, there and back",
  nesting: "100 levels of nesting; 101 refused",
  items: "300 items, 600 kB, to the client",
  upload: "2000 items to the server",
  duplex: "items in turn",
  raw: "1 MB of raw bytes, there and back",
  errors: "a declared error with details; what does not fit the schema",
  deadlines: "a deadline",
  cancelling: "cancelled; the handler's signal fires",
  metadata: "metadata and trailers",
  notifications: "a notification",
  pings: "ping",
  leaving: "a drain of the server, to the end",
  closing: "closed by the client: code, reason",
  schemas: "fingerprints",
};

const TRANSPORTS = [
  { over: "TCP", scheme: "tcp:", given: ["tcp", "lane"] },
  { over: "WebTransport, one lane", scheme: "https:", given: ["webtransport", "lane"] },
  { over: "WebTransport, streams", scheme: "https:", given: ["webtransport", "stream"] },
] as const;

/** The client of `protocol/client.py`, over each transport; `directory` has the authority of the certificate. */
export async function runProtocol(
  directory: string,
  { cert, key }: { readonly cert: string; readonly key: string },
): Promise<ProtocolColumn[]> {
  let python: string;
  try {
    python = await preparePython();
  } catch (error) {
    const why = (error as Error).message;
    console.error(`skipped: protocol: ${why}`);
    const skipped = Object.fromEntries(Object.keys(ROWS).map((name) => [name, { result: "skipped", why } as const]));
    return TRANSPORTS.map(({ over }) => ({ over, cells: skipped }));
  }
  const client = join(import.meta.dirname, "../../../../protocol/client.py");
  const columns: ProtocolColumn[] = [];
  for (const { over, scheme, given } of TRANSPORTS) {
    const cells: Record<string, Outcome> = {};
    for (const name of Object.keys(ROWS)) {
      if (name === "closing" && scheme === "https:") {
        cells[name] = { result: "not offered", why: "aioquic knows no capsules" };
        continue;
      }
      const server = await serveProtocol({ cert, key });
      const { port } = new URL(server.urls.find((url) => new URL(url).protocol === scheme) ?? "");
      const [transport, carrier] = given;
      const outcome = await runClient([python, client, directory, transport, port, carrier], name);
      await server.close();
      cells[name] = outcome;
      console.error(`protocol, ${over}: ${name} ${outcome.result}${outcome.result === "ok" ? "" : `: ${outcome.why}`}`);
    }
    columns.push({ over, cells });
  }
  return columns;
}

/** The scenarios by transport. */
export function protocolTable(columns: readonly ProtocolColumn[]): string {
  const rows = Object.entries(ROWS).map(([name, title]) => {
    const cells = columns.map(({ cells }) => {
      const outcome = cells[name];
      if (outcome === undefined || outcome.result === "ok") return outcome?.result ?? "";
      return outcome.result === "failed" ? `**failed**: ${outcome.why}` : `– (${outcome.why})`;
    });
    return `| ${[title, ...cells].join(" | ")} |`;
  });
  return [
    `| ${["", ...columns.map(({ over }) => over)].join(" | ")} |`,
    `|${"---|".repeat(columns.length + 1)}`,
    ...rows,
    "",
  ].join("\n");
}
