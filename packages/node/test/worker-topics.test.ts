import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Session } from "@quicrpc/core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { devCertificate, dial } from "@quicrpc/node";
import { afterEach, expect, it } from "vitest";
import { startProgram } from "../../../test/child-program.js";
import { type RoomItem, roomMethods } from "../../../test/rooms.js";

const PROGRAM = new URL("./worker-topics.program.ts", import.meta.url);
const service = { name: "test.v1.Workers", id: 7051 };
const pid = defineMethod(service, "unary", "pid", { id: 1, output: uncheckedCodec<number>() });

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

it("topics reach the clients of all workers, also of one that takes the place of another", async () => {
  const { cert, key, hash } = await devCertificate();
  const { child, message } = await startProgram<{ urls: string[] }>(PROGRAM, {
    listen: ["tls://127.0.0.1:0"],
    tls: { cert, key },
    workers: 2,
  });
  open.push({ close: () => ended(child) });
  const dialled = async (): Promise<Session> => {
    const session = await dial(message.urls[0] as string, { serverCertificateHashes: [hash] });
    open.push(session);
    return session;
  };

  /** Sessions with both workers. */
  const both = async (): Promise<Map<number, Session>> => {
    const found = new Map<number, Session>();
    while (found.size < 2) {
      const session = await dialled();
      found.set(await session.unary(pid, undefined), session);
    }
    return found;
  };
  const workers = await both();
  const [first, second] = [...workers.values()] as [Session, Session];
  const items = [await subscribed(first), await subscribed(second)];
  await first.unary(roomMethods.publishRoom, { id: "1", message: { n: 1, text: "" } });
  await second.unary(roomMethods.publishRoom, { id: "1", message: { n: 2, text: "" } });
  // The primary publishes as well.
  child.send(3);
  for (const subscriber of items) {
    for (const n of [1, 2, 3]) expect(await subscriber.next()).toMatchObject({ value: { message: { n } } });
  }

  // One dies: its clients are told, and those of the next in its place hear what the others say.
  const [dying] = [...workers.keys()] as [number];
  const lost = items[0]?.next();
  process.kill(dying, "SIGKILL");
  await expect(lost).rejects.toMatchObject({ code: "unavailable" });
  const after = await both();
  expect([...after.keys()]).not.toContain(dying);
  const all = await Promise.all(Array.from(after.values(), subscribed));
  await second.unary(roomMethods.publishRoom, { id: "1", message: { n: 4, text: "" } });
  for (const subscriber of [...all, items[1]]) {
    expect(await subscriber?.next()).toMatchObject({ value: { message: { n: 4 } } });
  }
});

/** Subscribes; what is published from then on arrives. */
async function subscribed(session: Session): Promise<AsyncIterator<RoomItem>> {
  let items: AsyncIterable<RoomItem> | undefined;
  await new Promise<void>((resolve) => {
    items = session.serverStream(roomMethods.subscribeRoom, { id: "1" }, { onResponseMetadata: () => resolve() });
  });
  return (items as AsyncIterable<RoomItem>)[Symbol.asyncIterator]();
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
