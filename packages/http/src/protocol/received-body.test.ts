import { describe, expect, it } from "vitest";
import { Gathered } from "./gathered.js";
import { ReceivedBody } from "./received-body.js";

/** A body with what it has asked of its source, and what it says to hold. */
function received(maxHeld = Infinity) {
  const asked: string[] = [];
  const note = (what: string) => (): number => asked.push(what);
  let held = 0;
  const source = { pause: note("pause"), resume: note("resume"), drop: note("drop") };
  const body = new ReceivedBody(source, (change) => {
    held += change;
    if (change > 0 && held > maxHeld) throw new Error("too much");
  });
  return { body, asked, reader: body.stream.getReader(), held: () => held };
}

/** The bytes of some piece in the buffer of a packet. */
const inPacket = (bytes: number): Uint8Array => new Uint8Array(65_536).subarray(0, bytes);

it("hands over as one piece what has arrived since the last", async () => {
  const { body, reader, held } = received();
  for (let at = 0; at < 1000; at++) body.push(Uint8Array.of(at % 256));
  expect(held()).toBe(1000);
  const { value } = await reader.read();
  expect(value).toEqual(Uint8Array.from({ length: 1000 }, (_, at) => at % 256));
  expect(held()).toBe(0);
});

it("hands a piece to a reader that waits, and holds nothing", async () => {
  const { body, reader, held } = received();
  const read = reader.read();
  // A stream asks for nothing before it has started.
  await Promise.resolve();
  const piece = inPacket(3);
  body.push(piece);
  expect(held()).toBe(0);
  expect((await read).value).toBe(piece);
});

it("holds its sender back at 64 KiB, until they are taken", async () => {
  const { body, asked, reader } = received();
  body.push(new Uint8Array(65_535));
  expect(asked).toEqual([]);
  body.push(Uint8Array.of(1));
  expect(asked).toEqual(["pause"]);
  await reader.read();
  expect(asked).toEqual(["pause", "resume"]);
});

it("ends once all is taken, though it is cut off later", async () => {
  const { body, reader } = received();
  body.push(inPacket(2));
  body.end();
  body.fail(new Error("later"));
  expect(await reader.read()).toEqual({ done: false, value: new Uint8Array(2) });
  expect(await reader.read()).toEqual({ done: true, value: undefined });
});

describe("releases what waits", () => {
  it("where it is cut off: the reader gets the error", async () => {
    const { body, reader, held } = received();
    body.push(inPacket(2));
    body.fail(new Error("cut off"));
    expect(held()).toBe(0);
    await expect(reader.read()).rejects.toThrow("cut off");
  });

  it("where its reader leaves", async () => {
    const { body, asked, reader, held } = received();
    body.push(inPacket(2));
    await reader.cancel();
    body.push(inPacket(2));
    expect(held()).toBe(0);
    expect(asked).toEqual(["drop"]);
  });

  it("where it is more than may be held: the reader gets the error", async () => {
    const { body, asked, reader, held } = received(10);
    body.push(inPacket(10));
    body.push(inPacket(1));
    body.push(inPacket(1));
    expect(held()).toBe(0);
    expect(asked).toEqual(["drop"]);
    await expect(reader.read()).rejects.toThrow("too much");
  });
});

it.each([
  ["keeps no packet that a small piece came in", 100, 100],
  ["does not copy what is most of a packet", 65_000, 65_536],
])("%s", (_, bytes, kept) => {
  const gathered = new Gathered();
  gathered.append(inPacket(bytes));
  expect(gathered.take(bytes).buffer.byteLength).toBe(kept);
});
