import { describe, expect, it } from "vitest";
import { catchUp } from "./catch-up.js";

/** Live items that the test adds. They are available from the first call of `next` on. */
class Live implements AsyncIterableIterator<number> {
  listening = false;
  left = false;
  private readonly items: number[] = [];
  private wake: () => void = () => {};

  tell(...items: number[]): void {
    if (!this.listening) return;
    this.items.push(...items);
    this.wake();
  }

  async next(): Promise<IteratorResult<number>> {
    this.listening = true;
    while (this.items.length === 0 && !this.left) await new Promise<void>((resolve) => (this.wake = resolve));
    if (this.left) return { done: true, value: undefined };
    return { done: false, value: this.items.shift() as number };
  }

  async return(): Promise<IteratorResult<number>> {
    this.left = true;
    this.wake();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

const cursor = (item: number): number => item;

async function take(items: AsyncIterator<number, void>, count: number): Promise<number[]> {
  const taken: number[] = [];
  while (taken.length < count) taken.push((await items.next()).value as number);
  return taken;
}

describe("catchUp", () => {
  it("listens before it asks for history, and gives what comes by both once", async () => {
    const live = new Live();
    const items = catchUp(
      async () => {
        expect(live.listening).toBe(true);
        live.tell(3, 4);
        return [1, 2, 3];
      },
      live,
      { cursor },
    );
    expect(await take(items, 4)).toEqual([1, 2, 3, 4]);
    live.tell(5);
    expect(await take(items, 1)).toEqual([5]);
    await items.return?.();
    expect(live.left).toBe(true);
  });

  it("knows an item of history that comes live only later", async () => {
    const live = new Live();
    const items = catchUp(() => [1, 2], live, { cursor });
    expect(await take(items, 2)).toEqual([1, 2]);
    const next = take(items, 2);
    live.tell(2, 3, 4);
    expect(await next).toEqual([3, 4]);
    await items.return?.();
  });

  it("fails where more comes than may wait, as `unavailable`, after which callers go on where they are", async () => {
    const live = new Live();
    const items = catchUp(() => [1, 2, 3], live, { cursor, maxBuffered: 2 });
    expect(await take(items, 1)).toEqual([1]);
    live.tell(4, 5, 6);
    await new Promise(setImmediate);
    await expect(take(items, 2)).rejects.toMatchObject({ code: "unavailable" });
    expect(live.left).toBe(true);
  });

  it.each(["history", "live"])("fails with what %s fails with", async (which) => {
    const fail = (): never => {
      throw new Error(which);
    };
    const broken: AsyncIterable<number> = { [Symbol.asyncIterator]: () => ({ next: async () => fail() }) };
    const live = new Live();
    const items = which === "live" ? catchUp(() => [], broken, { cursor }) : catchUp(fail, live, { cursor });
    await expect(items.next()).rejects.toThrow(which);
    await items.return?.();
  });

  it("leaves what is live although nothing was ever read", async () => {
    const live = new Live();
    await catchUp(() => [], live, { cursor }).return?.();
    expect(live.left).toBe(true);
  });
});
