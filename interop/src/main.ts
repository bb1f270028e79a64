// @quicrpc/quic against other implementations: `npm run interop -- [--json] [--write] [peer…]`.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Endpoint } from "@quicrpc/quic";
import { certificate } from "../../packages/quic/test/certificates.js";
import { chromiumPath, launchChromium } from "../../packages/quic/test/chromium.js";
import { chromiumClient, engineClient, type Mode, type Runner } from "./clients.js";
import type { Outcome } from "./outcome.js";
import { absence, type Peer, peerClient, peers, startServer } from "./peers.js";
import { type ProtocolColumn, protocolTable, runProtocol } from "./protocol/run.js";
import { scenarios } from "./scenarios.js";
import { serve } from "./server.js";
import { type Column, markdown } from "./table.js";

const given = process.argv.slice(2);
const wanted = given.filter((argument) => !argument.startsWith("--"));
const root = join(import.meta.dirname, "../../../..");
const names = Object.keys(scenarios);

const directory = mkdtempSync(join(tmpdir(), "interop-"));
const authority = await certificate({ ca: true, names: ["interop authority"] });
const leaf = await certificate({ issuer: authority });
for (const [name, text] of Object.entries({ "ca.pem": authority.cert, "cert.pem": leaf.cert, "key.pem": leaf.key })) {
  writeFileSync(join(directory, name), text, { mode: 0o600 });
}
const trust = { ca: authority.cert, hash: leaf.hash };

const columns: Column[] = [];
const calls: ProtocolColumn[] = [];
try {
  for (const peer of peers) if (chosen(peer.name)) await runPeer(peer);
  if (chosen("Chromium")) await runChromium();
  if (chosen("protocol")) calls.push(...(await runProtocol(directory, leaf)));
} finally {
  rmSync(directory, { recursive: true });
}
report();

function chosen(name: string): boolean {
  return wanted.length === 0 || wanted.includes(name.toLowerCase());
}

/** Both roles in every mode the peer has. */
async function runPeer(peer: Peer): Promise<void> {
  let prepared: { version: string; command: readonly string[] };
  try {
    prepared = await peer.prepare();
  } catch (error) {
    const why = (error as Error).message;
    console.error(`skipped: ${peer.name}: ${why}`);
    for (const mode of peer.modes) {
      for (const role of ["client", "server"] as const) skip(peer.name, role, mode, why);
    }
    return;
  }
  const { version, command } = prepared;
  for (const mode of peer.modes) {
    const server = serveHere();
    const client = peerClient(
      command,
      ...peer.clientArguments({ directory, port: server.address.port, mode, ...trust }),
    );
    await column({ peer: peer.name, version, role: "client", mode }, client, (name) =>
      absence(peer, "client", mode, name),
    );
    await server.close();
  }
  const server = await startServer(command, directory);
  for (const mode of peer.modes) {
    const client = engineClient(server.port, mode, trust);
    await column({ peer: peer.name, version, role: "server", mode }, client, (name) =>
      absence(peer, "server", mode, name),
    );
  }
  server.stop();
}

/** A browser is a client only. */
async function runChromium(): Promise<void> {
  const mode = "webtransport";
  if (chromiumPath === undefined) {
    const why = "no Chromium is installed (QUICRPC_CHROMIUM=<path>)";
    console.error(`skipped: Chromium: ${why}`);
    skip("Chromium", "client", mode, why);
    return;
  }
  const browser = await launchChromium(chromiumPath);
  const version = browser.version();
  await browser.close();
  const server = serveHere();
  const script = readFileSync(join(import.meta.dirname, "scenarios.js"), "utf8");
  const client = chromiumClient(chromiumPath, server.address.port, leaf.hash, script);
  const head = { peer: "Chromium", version, role: "client", mode } as const;
  await column(head, client, (name) => (name === "requests" ? "pages see no trailers" : undefined));
  await server.close();
}

function serveHere(): Endpoint {
  const server = Endpoint.bind({ host: "127.0.0.1" });
  serve(server, leaf);
  return server;
}

async function column(
  head: Omit<Column, "cells">,
  client: Runner,
  absent: (name: string) => string | undefined,
): Promise<void> {
  const cells: Record<string, Outcome> = {};
  for (const name of names) {
    const why = absent(name);
    if (why !== undefined) cells[name] = { result: "not offered", why };
  }
  const offered = names.filter((name) => cells[name] === undefined);
  await client(offered, (name, outcome) => {
    cells[name] = outcome;
    const why = outcome.result === "ok" ? "" : `: ${outcome.why}`;
    console.error(`${head.peer} ${head.role}, ${head.mode}: ${name} ${outcome.result}${why}`);
  });
  columns.push({ ...head, cells });
}

function skip(peer: string, role: Column["role"], mode: Mode, why: string): void {
  const cells = Object.fromEntries(names.map((name) => [name, { result: "skipped", why } as const]));
  columns.push({ peer, version: "", role, mode, cells });
}

function tables(): string {
  return `${markdown(columns)}\n### Calls, by a client written from the protocol's page\n\n${protocolTable(calls)}`;
}

function report(): void {
  if (given.includes("--json")) console.log(JSON.stringify([...columns, ...calls], undefined, 2));
  else console.log(`\n${tables()}`);
  if (given.includes("--write")) {
    const page = join(root, "docs/interop.md");
    const [before = "", , after = ""] = readFileSync(page, "utf8").split(
      /(?<=<!-- interop -->\n)([^]*)(?=<!-- \/interop -->)/,
    );
    const versions = new Map(columns.map(({ peer, version }) => [peer, version]));
    const list = [...versions].map(([peer, version]) => `${peer} ${version}`.trim()).join("; ");
    const words = `\nNode ${process.versions.node} on ${process.platform}-${process.arch}, against ${list}.\n\n`;
    writeFileSync(page, `${before}${words}${tables()}\n${after}`);
  }
  const failed = [...columns, ...calls].some(({ cells }) =>
    Object.values(cells).some(({ result }) => result === "failed"),
  );
  process.exitCode = failed ? 1 : 0;
}
