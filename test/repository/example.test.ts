import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const schemes = process.env["QUICRPC_NO_ENGINE"] === undefined ? ["quic:", "tls:"] : ["tls:"];

/** An example's script in a process group of its own, as a terminal would start it. */
function start(
  script: string,
  scheme: string,
): { child: ChildProcess; output: () => string; firstLine: Promise<unknown> } {
  const path = fileURLToPath(new URL(`../../examples/${script}`, import.meta.url));
  const child = spawn(process.execPath, [path], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, LISTEN: `${scheme}//localhost:0` },
  });
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

describe.each(schemes)("examples/arith over %s", (scheme) => {
  it("serves and calls in two processes, and shows it", async () => {
    const { child, output } = start("arith/dist/demo.js", scheme);
    expect({ code: await exit(child), output: output() }).toMatchObject({ code: 0 });
    for (const line of [
      /^server +serving demo\.v1\.Arith on \w+:\/\/\S+:\d+$/m,
      /^connect +\w+:\/\/\S+:\d+.* +\d+\.\d\d ms$/m,
      /^unary +multiply 9 x 2 = 18 +\d+\.\d\d ms$/m,
      /^error +divide 9 \/ 0: invalid_argument, "cannot divide by zero" +\d+\.\d\d ms$/m,
      /^server +client says: hello from another process$/m,
      /^stream +tick 2 +\d+\.\d\d ms$/m,
    ]) {
      expect(output()).toMatch(line);
    }
  });

  it.skipIf(process.platform === "win32").each(["SIGINT", "SIGTERM"] as const)(
    "leaves no process behind after %s in the middle",
    async (signal) => {
      const { child, firstLine } = start("arith/dist/demo.js", scheme);
      await firstLine;
      const { pid = 0 } = child;
      process.kill(signal === "SIGINT" ? -pid : pid, signal);
      expect(await exit(child)).toBe(130);
      expect(groupLives(pid)).toBe(false);
    },
  );
});

describe.each(schemes)("examples/cbor over %s", (scheme) => {
  it("calls in CBOR and XML, what JSON has not included, and what a server without it says", async () => {
    const { child, output } = start("cbor/dist/main.js", scheme);
    expect({ code: await exit(child), output: output() }).toMatchObject({ code: 0 });
    const order = "at: 1970-01-01T00:00:00.000Z,\n  cents: 4611686018427387904n,\n  tags: Set(2) { 'new', 'gift' }\n}";
    for (const codec of ["cbor", "xml"])
      expect(output()).toContain(
        `${codec}\nplaced  {\n  id: 'o-1',\n  ${order}\nlisted  {\n  id: 'o-1',\n  ${order}\n`,
      );
    expect(output()).toMatch(
      /^refused unimplemented: the codec "cbor" is not known here: there are msgpack, json, raw$/m,
    );
  });
});
