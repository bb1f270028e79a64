import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { contestantNames } from "./contestants/index.js";
import type { Task } from "./protocol.js";

/** A contestant for the harness: a command for either end, which uses the messages of `protocol.ts`. */
export interface Peer {
  readonly name: string;
  readonly command: readonly string[];
  /** Returns whether it takes part in a task. Default: always. */
  readonly joins?: (task: Task) => boolean;
}

/** A peer that is not available, and the reason. */
export interface Skipped {
  readonly name: string;
  readonly skipped: string;
}

const NODE_PEER = fileURLToPath(new URL("peer.js", import.meta.url));

function nodePeer(name: string, node: string = process.execPath): readonly string[] {
  // Garbage can then be collected before memory is measured.
  return [node, "--expose-gc", NODE_PEER, name];
}

/** Tasks that matter for a fallback from QUIC: large messages, streams and single calls. */
const FALLBACKS: ReadonlySet<Task["do"]> = new Set(["multiply", "echo", "items", "upload", "pipe", "paced", "beside"]);
const ofFallbacks = (task: Task): boolean => FALLBACKS.has(task.do) || (task.do === "connect" && !task.resume);

/** Tasks of contestants that differ only slightly from another one. */
const JOINS: ReadonlyMap<string, (task: Task) => boolean> = new Map([
  ["quicrpc, 0-RTT", (task: Task) => task.do === "connect" && task.resume],
  ["quicrpc, tls://", ofFallbacks],
  ["quicrpc, wss://", ofFallbacks],
  ["quicrpc, codecs by zod", (task: Task) => task.do === "message"],
]);

/** All contestants that run on this Node. */
export const nodePeers: readonly Peer[] = contestantNames.map((name) => {
  const joins = JOINS.get(name);
  return { name, command: nodePeer(name), ...(joins && { joins }) };
});

/** Returns true for quicrpc's modes and their nearest competitors, on this Node. */
export function isNearest(name: string): boolean {
  return isQuick(name) && !name.includes("(Node");
}

const NEAREST = ["quicrpc", "@grpc", "over TLS", "gRPC in", "Cap'n Proto"];

/** Returns true for contestants of a quick run: quicrpc's modes, and the nearest competitors. */
export function isQuick(name: string): boolean {
  return NEAREST.some((text) => name.includes(text)) && !/webtransport/i.test(name);
}

/** Returns true for contestants on bad networks: all except variants that differ only slightly, on this Node. */
export function isFar(name: string): boolean {
  return !/webtransport|codecs by zod|over TCP|\(Node/i.test(name);
}

/** Returns whether `name` contains one of the texts; true without texts. */
export function matches(name: string, texts: readonly string[] | undefined): boolean {
  return texts === undefined || texts.some((text) => name.includes(text));
}

const ON_OTHER_NODES = ["quicrpc, lane", "quicrpc, stream per call", "floor: msgpackr over TLS"];

/** Returns quicrpc and the floor on another Node, given the path of its executable or a version for npx to fetch. */
export function peersOnNode(wanted: string): (Peer | Skipped)[] {
  try {
    const node = /^\d+$/.test(wanted) ? output("npx", ["-y", `node@${wanted}`, "-p", "process.execPath"]) : wanted;
    const version = output(node, ["--version"]);
    return ON_OTHER_NODES.map((name) => ({
      name: `${name} (Node ${version.slice(1)})`,
      command: nodePeer(name, node),
    }));
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    return [{ name: `Node ${wanted}`, skipped: `it cannot be run: ${reason}` }];
  }
}

function output(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}
