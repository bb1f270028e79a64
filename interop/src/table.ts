import type { Outcome } from "./outcome.js";

/** One column: a peer in one role and mode. */
export interface Column {
  readonly peer: string;
  readonly version: string;
  /** The peer's. */
  readonly role: "client" | "server";
  readonly mode: "quic" | "webtransport";
  readonly cells: Readonly<Record<string, Outcome>>;
}

const ROWS: Readonly<Record<string, string>> = {
  handshake: "handshake, one stream",
  hash: "certificate by its hash; a wrong hash refused",
  reject: "session refused with status 403",
  requests: "100 requests of plain HTTP/3, trailers both ways",
  streams: "200 streams at once",
  upload: "10 MiB to the server",
  download: "10 MiB from the server",
  uni: "unidirectional streams, both ways",
  opened: "stream opened by the server",
  reset_sent: "reset by the client, code",
  reset_received: "reset by the server, code",
  stop_sent: "stop sending by the client, code",
  stop_received: "stop sending by the server, code",
  datagrams: "datagrams, both ways",
  close_sent: "closed by the client: code, reason",
  close_received: "closed by the server: code, reason",
};

/** Two tables, one for each role of the peers, and notes on what is not ok. */
export function markdown(columns: readonly Column[]): string {
  const notes: string[] = [];
  const table = (role: Column["role"]): string => {
    const shown = columns.filter((column) => column.role === role);
    const heads = shown.map(({ peer, mode }) => `${peer}, ${mode === "quic" ? "QUIC" : "WebTransport"}`);
    const rows = Object.entries(ROWS).map(([scenario, title]) => {
      const cells = shown.map(({ cells }) => cell(cells[scenario], notes));
      return `| ${[title, ...cells].join(" | ")} |`;
    });
    return [`| | ${heads.join(" | ")} |`, `|${"---|".repeat(heads.length + 1)}`, ...rows].join("\n");
  };
  const tables = [
    `### The peer is the client\n\n${table("client")}`,
    `### The peer is the server\n\n${table("server")}`,
  ];
  return `${tables.join("\n\n")}\n\n${notes.map((note, index) => `${index + 1}. ${note}`).join("\n")}\n`;
}

function cell(outcome: Outcome | undefined, notes: string[]): string {
  if (outcome === undefined) return "";
  if (outcome.result === "ok") return "ok";
  const note = `${outcome.result}: ${outcome.why}`;
  if (!notes.includes(note)) notes.push(note);
  const shown = { failed: "**failed**", "not offered": "–", skipped: "skipped" }[outcome.result];
  return `${shown} [${notes.indexOf(note) + 1}]`;
}
