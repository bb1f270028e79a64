// Starts the server and the client, each in a process of its own, and shows what they say.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const server = spawn(process.execPath, [script("server.js")], {
  env: { LISTEN: "quic://localhost:0", ...process.env },
  stdio: ["ignore", "pipe", "inherit"],
});
const children: ChildProcess[] = [server];

let interrupted = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    interrupted = true;
    for (const child of children) child.kill();
  });
}

process.exitCode = await run();

async function run(): Promise<number> {
  try {
    const url = await servedUrl();
    if (url === undefined || interrupted) return wasInterrupted(server) ? 130 : 1;
    const client = spawn(process.execPath, [script("client.js"), url], { stdio: ["ignore", "inherit", "inherit"] });
    children.push(client);
    const [code] = (await once(client, "exit")) as [number | null];
    return wasInterrupted(client) ? 130 : (code ?? 1);
  } finally {
    server.kill();
  }
}

/** Returns true if Ctrl-C ended the child. It reaches the children too, and one may end before this process notices. */
function wasInterrupted({ signalCode }: ChildProcess): boolean {
  return interrupted || signalCode === "SIGINT" || signalCode === "SIGTERM";
}

/**
 * Returns the URL in the server's first line, or undefined if the server ends without printing one. Shows its lines as
 * they arrive.
 */
function servedUrl(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: server.stdout });
    lines.on("line", (line) => {
      console.log(`server   ${line}`);
      resolve(/\w+:\/\/\S+/.exec(line)?.[0]);
    });
    server.once("exit", () => resolve(undefined));
  });
}

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
