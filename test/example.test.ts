import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const demo = fileURLToPath(new URL("../examples/arith/dist/demo.js", import.meta.url));

/** The demo in a process group of its own, as a terminal would start it. */
function start(): { child: ChildProcess; output: () => string; firstLine: Promise<unknown> } {
  const child = spawn(process.execPath, [demo], { detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += String(chunk)));
  return { child, output: () => output, firstLine: once(child.stdout, "data") };
}

async function exit(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, "close")) as [number | null];
  return code;
}

/** Whether any process of the group is left. */
function groupLives(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("examples/arith", () => {
  it("serves and calls over QUIC in two processes, and shows it", async () => {
    const { child, output } = start();
    expect({ code: await exit(child), output: output() }).toMatchObject({ code: 0 });
    for (const line of [
      /^server +serving demo\.v1\.Arith on quic:\/\/localhost:\d+$/m,
      /^connect +quic:\/\/localhost:\d+, QUIC with TLS 1\.3 +\d+\.\d\d ms$/m,
      /^unary +multiply 9 x 2 = 18 +\d+\.\d\d ms$/m,
      /^error +divide 9 \/ 0: invalid_argument, "cannot divide by zero" +\d+\.\d\d ms$/m,
      /^server +client says: hello over QUIC$/m,
      /^stream +tick 2 +\d+\.\d\d ms$/m,
    ]) {
      expect(output()).toMatch(line);
    }
  });

  it.skipIf(process.platform === "win32").each(["SIGINT", "SIGTERM"] as const)(
    "leaves no process behind after %s in the middle",
    async (signal) => {
      const { child, firstLine } = start();
      await firstLine;
      const { pid = 0 } = child;
      process.kill(signal === "SIGINT" ? -pid : pid, signal);
      expect(await exit(child)).toBe(130);
      expect(groupLives(pid)).toBe(false);
    },
  );
});
