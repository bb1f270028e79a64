import { createSession } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { RawPeer, settle } from "./raw-peer.js";

const multiply = defineMethod({ name: "demo.v1.Arith", id: 0xdd3e }, "unary", "multiply", {
  id: 1,
  input: zodCodec(z.object({ a: z.int(), b: z.int() })),
  output: zodCodec(z.object({ pro: z.int() })),
});

const page = readFileSync(new URL("../../../docs/one-call.md", import.meta.url), "utf8");

/** The bytes that the page shows under a name: a fenced block whose first word is the name. */
function bytesOnPage(name: string): string {
  const block = new RegExp(`\`\`\`text ${name}\n([\\s\\S]*?)\`\`\``).exec(page)?.[1];
  if (block === undefined) throw new Error(`docs/one-call.md has no block ${name}`);
  return block
    .split("\n")
    .map((line) => line.split("  ")[0]?.replaceAll(" ", "") ?? "")
    .join("");
}

/** The files that a table on the page names, without their ending. */
function filesOnPage(name: string): string[] {
  const table = new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)<!-- end of ${name} -->`).exec(page)?.[1];
  if (table === undefined) throw new Error(`docs/one-call.md has no table ${name}`);
  const rows = table.split("\n").map((row) => row.split("|")[1] ?? "");
  return rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)\.ts`/g)].map(([, file = ""]) => file)).toSorted();
}

/** The modules of core that run for a call, by side. */
interface CallPath {
  readonly client: string[];
  readonly server: string[];
}

describe("docs/one-call.md", () => {
  it("names the files that the calls of the README pass on both sides", async () => {
    const program = fileURLToPath(new URL("call-path.program.mjs", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    const { unary, serverStream } = JSON.parse(stdout) as Record<"unary" | "serverStream", CallPath>;
    const ofUnary = [...new Set([...unary.client, ...unary.server])];
    const ofStream = [...new Set([...serverStream.client, ...serverStream.server])];
    expect(filesOnPage("caller")).toEqual(unary.client);
    expect(filesOnPage("callee")).toEqual(unary.server.filter((file) => !unary.client.includes(file)));
    expect(filesOnPage("stream")).toEqual(ofStream.filter((file) => !ofUnary.includes(file)).toSorted());
    expect(ofUnary.length).toBeLessThanOrEqual(32);
    expect(ofStream.length).toBeLessThanOrEqual(38);
  });

  it("shows the bytes that a caller sends in a lane", async () => {
    const [ours, theirs] = createMemoryPair();
    const peer = new RawPeer(theirs);
    const session = createSession(ours);
    const call = session.unary(multiply, { a: 9, b: 2 });
    await settle();
    const [lane] = peer.accepted;
    expect(lane?.received).toBe(bytesOnPage("request-in-a-lane"));
    await lane?.send(bytesOnPage("response-in-a-lane"));
    expect(await call).toEqual({ pro: 18 });
  });

  it("shows the bytes that a callee sends in a lane", async () => {
    const [ours, theirs] = createMemoryPair();
    const peer = new RawPeer(theirs);
    createSession(ours, { routers: [createRouter({ multiply }, { multiply: ({ a, b }) => ({ pro: a * b }) })] });
    const lane = await peer.open().send(bytesOnPage("request-in-a-lane"));
    expect(lane.received).toBe(bytesOnPage("response-in-a-lane"));
  });

  it("shows the bytes of a call on its own stream, both ways", async () => {
    const [ours, theirs] = createMemoryPair();
    const peer = new RawPeer(theirs);
    const session = createSession(ours, {
      routers: [createRouter({ multiply }, { multiply: ({ a, b }) => ({ pro: a * b }) })],
    });
    const call = session.unary(multiply, { a: 9, b: 2 }, { via: "stream" });
    await settle();
    const [stream] = peer.accepted;
    expect(stream).toMatchObject({ received: bytesOnPage("request-on-a-stream"), ended: true });
    await stream?.send(bytesOnPage("response-on-a-stream"), true);
    expect(await call).toEqual({ pro: 18 });

    const served = await peer.open().send(bytesOnPage("request-on-a-stream"), true);
    expect(served).toMatchObject({ received: bytesOnPage("response-on-a-stream"), ended: true });
  });

  it("has no payload where the method takes and gives nothing", async () => {
    const [ours, theirs] = createMemoryPair();
    const nothing = defineMethod({ name: "demo.v1.Nothing", id: 0x1234 }, "unary", "nothing", { id: 3 });
    const peer = new RawPeer(theirs);
    const session = createSession(ours, { routers: [createRouter({ nothing }, { nothing: () => {} })] });
    const call = session.unary(nothing, undefined, { via: "stream" });
    await settle();
    // length, type, call id; of the request also service and method
    expect(peer.accepted[0]?.received).toBe("0140050100123403");
    await peer.accepted[0]?.send("4002 03 00", true);
    expect(await call).toBeUndefined();
    expect((await peer.open().send("01 4005 01 00 1234 03", true)).received).toBe("40020300");
  });
});
