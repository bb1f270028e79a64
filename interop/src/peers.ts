import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Mode, Runner } from "./clients.js";
import { type Outcome, timeLimited } from "./outcome.js";

/** Scenarios that a peer cannot play, with the reason, by role of the peer ("client", "server" or "both"), mode and scenario. */
type Absent = Readonly<
  Partial<Record<"client" | "server" | "both", Partial<Record<Mode, Readonly<Record<string, string>>>>>>
>;

/** A program that speaks the protocol of README.md. */
export interface Peer {
  readonly name: string;
  readonly modes: readonly Mode[];
  readonly absent: Absent;
  /** Builds it; returns its version and command line, or throws with one line that says what is missing. */
  prepare(): Promise<{ version: string; command: readonly string[] }>;
  /** The end of its client's command line. */
  clientArguments(target: { directory: string; port: number; mode: Mode; hash: Uint8Array }): readonly string[];
}

const folder = join(import.meta.dirname, "../../..");
const cache = join(folder, ".cache");

const noPinning = { hash: "trusts authorities only" };
const noRequests = "its program makes and answers no plain requests";

export const peers: readonly Peer[] = [
  {
    name: "aioquic",
    modes: ["quic", "webtransport"],
    absent: {
      both: { webtransport: { requests: noRequests, close_sent: "no capsules", close_received: "no capsules" } },
      client: { quic: noPinning, webtransport: noPinning },
    },
    async prepare() {
      const python = await preparePython();
      const version = await output(python, ["-c", "import aioquic; print(aioquic.__version__)"]);
      return { version: version.trim(), command: [python, join(folder, "aioquic/peer.py")] };
    },
    clientArguments: ({ directory, port, mode }) => [directory, String(port), mode],
  },
  {
    name: "quic-go",
    modes: ["quic", "webtransport"],
    absent: { client: { quic: noPinning, webtransport: noPinning } },
    async prepare() {
      const binary = join(cache, "quic-go-peer");
      await output("go", ["build", "-o", binary, "."], join(folder, "quic-go"));
      const required = readFileSync(join(folder, "quic-go/go.mod"), "utf8");
      const version = (module: string): string => required.match(new RegExp(`/${module} v(\\S+)`))?.[1] ?? "?";
      return { version: `${version("quic-go")}, webtransport-go ${version("webtransport-go")}`, command: [binary] };
    },
    clientArguments: ({ directory, port, mode }) => [directory, String(port), mode],
  },
  {
    name: "wtransport",
    modes: ["webtransport"],
    absent: {
      both: {
        webtransport: {
          requests: noRequests,
          close_sent: "closes connections, not sessions",
          close_received: "closes connections, not sessions",
        },
      },
    },
    async prepare() {
      const crate = join(folder, "wtransport");
      await output("cargo", ["build", "--release", "--locked", "--quiet"], crate);
      const lock = readFileSync(join(crate, "Cargo.lock"), "utf8");
      const target = process.env["CARGO_TARGET_DIR"] ?? join(crate, "target");
      return {
        version: lock.match(/name = "wtransport"\nversion = "(.*)"/)?.[1] ?? "?",
        command: [join(target, "release/interop-wtransport")],
      };
    },
    clientArguments: ({ port, hash }) => [
      String(port),
      [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join(":"),
    ],
  },
];

/** A Python with aioquic. */
export async function preparePython(): Promise<string> {
  const python = join(cache, "venv/bin/python3");
  const requirements = join(folder, "aioquic/requirements.txt");
  mkdirSync(cache, { recursive: true });
  if (!existsSync(python)) await output("python3", ["-m", "venv", join(cache, "venv")]);
  await output(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements]);
  return python;
}

/** Why the peer in this role cannot do this, if so. */
export function absence(peer: Peer, role: "client" | "server", mode: Mode, scenario: string): string | undefined {
  if (mode === "quic" && ["reject", "requests"].includes(scenario)) return "raw QUIC has no requests";
  return peer.absent[role]?.[mode]?.[scenario] ?? peer.absent.both?.[mode]?.[scenario];
}

/** Starts a peer's server with the certificate in `directory`. */
export async function startServer(
  command: readonly string[],
  directory: string,
): Promise<{ port: number; stop: () => void }> {
  const child = start([...command, "server", directory]);
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const port = await new Promise<number>((resolve, reject) => {
    lines.on("line", (line) => {
      if (line.startsWith("port ")) resolve(Number(line.slice(5)));
    });
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`the server ended with code ${code}`)));
  });
  return { port, stop: () => void child.kill() };
}

/** A peer's client, one process for each scenario. */
export function peerClient(command: readonly string[], ...given: readonly string[]): Runner {
  return async (names, report) => {
    for (const name of names) report(name, await runClient([...command, "client", ...given], name));
  };
}

/** One scenario in a process of its own, which prints how it went. */
export async function runClient(command: readonly string[], name: string): Promise<Outcome> {
  const child = start([...command, name]);
  let printed = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => {
      const [, result, why] = printed.trim().split("\t");
      if (result === "ok") resolve();
      else reject(new Error(why ?? "the client said nothing"));
    });
  });
  const outcome = await timeLimited(ended);
  child.kill();
  return outcome;
}

function start([program = "", ...given]: readonly string[]): ChildProcess {
  const verbose = process.env["INTEROP_VERBOSE"] !== undefined;
  return spawn(program, given, { stdio: ["ignore", "pipe", verbose ? "inherit" : "ignore"] });
}

function output(program: string, given: readonly string[], cwd?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, given, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "ENOENT" ? new Error(`${program} is not installed`) : error),
    );
    child.on("close", (code) => {
      const last = errors.trim().split("\n").at(-1) ?? "";
      if (code === 0) resolve(out);
      else reject(new Error(`${program} ${given[0]} failed: ${last}`));
    });
  });
}
