import { RpcError } from "@quicrpc/core";
import { describe, expect, it, vi } from "vitest";
import type { BoardCommand, WhiteboardUploadInputItem } from "../generated/whiteboard.js";
import { Audience } from "./audience.js";
import { Board } from "./board.js";
import { Chat } from "./chat.js";
import { Files } from "./files.js";
import { LIMITS } from "./limits.js";

const someone = { id: "a", name: "Ada", hue: 0 };
const forever = new AbortController().signal;

describe("an audience", () => {
  it("lets go of one who reads too slowly, and of nobody else", async () => {
    const audience = new Audience<number>();
    const slow = audience.listen(forever);
    const reader = audience.listen(forever)[Symbol.asyncIterator]();
    for (let i = 0; i <= LIMITS.unread; i++) {
      audience.tell(i);
      expect(await reader.next()).toEqual({ done: false, value: i });
    }
    await expect(slow[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "resource_exhausted" });
  });

  it("ends a stream that waits when its signal fires", async () => {
    const leaving = new AbortController();
    const waiting = new Audience<number>().listen(leaving.signal)[Symbol.asyncIterator]().next();
    leaving.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });
});

describe("a board", () => {
  const points = Array.from({ length: 256 }, (_, x) => ({ x, y: 0 }));

  it("keeps a bounded number of points, by letting whole lines go, the oldest first", async () => {
    const board = new Board();
    await new Promise<void>((drawn) => {
      board.open("a", drawing(drawn), forever);
    });
    const lines = await shownBy(board);
    expect(lines.length * points.length).toBeLessThanOrEqual(LIMITS.points);
    expect(lines.length * points.length).toBeGreaterThan(LIMITS.points * 0.8);
    expect(lines.at(0)).toBe(COUNT - lines.length);
    expect(lines.at(-1)).toBe(COUNT - 1);
  });

  const COUNT = 500;

  async function* drawing(onDrawn: () => void): AsyncGenerator<BoardCommand> {
    for (let line = 0; line < COUNT; line++) yield { type: "draw", piece: { line, color: "ink", width: 1, points } };
    // Asked for more: all of them are on the board.
    onDrawn();
  }

  /** The lines that one sees who opens the board. */
  async function shownBy(board: Board): Promise<number[]> {
    const lines = [];
    for await (const event of board.open("visitor", iterate([]), forever)) {
      if (event.type === "shown") break;
      if (event.type === "drawn") lines.push(event.piece.line);
    }
    return lines;
  }
});

describe("a chat", () => {
  it("keeps the latest messages, and goes on after the one that was seen", async () => {
    const chat = new Chat();
    for (let i = 0; i < LIMITS.messages + 5; i++) chat.say(someone, String(i));
    const last = LIMITS.messages + 5;
    expect(await chat.since(0, forever).next()).toMatchObject({ value: { id: 6 } });
    const rest = chat.since(last - 1, forever);
    expect(await rest.next()).toMatchObject({ value: { id: last } });
    chat.say(someone, "new");
    expect(await rest.next()).toMatchObject({ value: { id: last + 1, text: "new" } });
  });
});

describe("files", () => {
  const announce = (size: number): WhiteboardUploadInputItem => ({ type: "file", file: { name: "f", type: "", size } });
  const part = (size: number): WhiteboardUploadInputItem => ({ type: "part", bytes: new Uint8Array(size) });

  it.each([
    ["more bytes than announced", [announce(3), part(2), part(2)]],
    ["fewer bytes than announced", [announce(3), part(2)]],
    ["two names", [announce(3), announce(3)]],
    ["no name", [part(3)]],
    ["nothing", []],
  ])("refuse %s", async (_, items) => {
    await expect(new Files().receive(iterate(items))).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("let the oldest go when there are too many bytes", async () => {
    const files = new Files();
    const size = LIMITS.fileBytes / 2;
    const share = async (): Promise<string> => (await files.receive(iterate([announce(size), part(size)]))).id;
    const [oldest, , latest] = [await share(), await share(), await share()];
    expect(() => files.partsOf(oldest)).toThrow(RpcError);
    expect(files.partsOf(latest)[0]?.length).toBe(size);
  });

  it("do not begin what there is no room for, until an upload has ended", async () => {
    const files = new Files();
    const failing = new AbortController();
    const stuck = files.receive(
      (async function* () {
        yield announce(LIMITS.uploadBytes);
        await new Promise((_, reject) => failing.signal.addEventListener("abort", () => reject(new Error("gone"))));
      })(),
    );
    await expect(files.receive(iterate([announce(1), part(1)]))).rejects.toMatchObject({ code: "resource_exhausted" });
    failing.abort();
    await expect(stuck).rejects.toThrow("gone");
    await expect(files.receive(iterate([announce(1), part(1)]))).resolves.toMatchObject({ size: 1 });
  });

  it("give up an upload that never ends", async () => {
    vi.useFakeTimers();
    const files = new Files();
    const upload = files.receive(new Stalled([announce(2), part(1)]));
    const failure = upload.catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(LIMITS.uploadMs);
    expect(await failure).toMatchObject({ code: "invalid_argument", message: "1 of 2 bytes came" });
    vi.useRealTimers();
  });

  /** Gives these items and no others until it is left. */
  class Stalled implements AsyncIterableIterator<WhiteboardUploadInputItem, undefined> {
    private end: (result: IteratorResult<never, undefined>) => void = () => {};
    private readonly items: WhiteboardUploadInputItem[];

    constructor(items: WhiteboardUploadInputItem[]) {
      this.items = items;
    }

    async next(): Promise<IteratorResult<WhiteboardUploadInputItem, undefined>> {
      const value = this.items.shift();
      if (value !== undefined) return { done: false, value };
      return new Promise((resolve) => {
        this.end = resolve;
      });
    }

    async return(): Promise<IteratorResult<never, undefined>> {
      this.end({ done: true, value: undefined });
      return { done: true, value: undefined };
    }

    [Symbol.asyncIterator](): this {
      return this;
    }
  }
});

async function* iterate<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
