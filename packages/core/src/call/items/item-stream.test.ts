import { describe, expect, it } from "vitest";
import { type ItemQueue, itemQueue, type ItemStream } from "./item-stream.js";

function fixture(): { queue: ItemQueue<number>; stream: ItemStream<number>; taken: number[]; abandoned: () => number } {
  const taken: number[] = [];
  let abandoned = 0;
  const queue = itemQueue<number>({
    onTaken: (size) => void taken.push(size),
    onAbandoned: () => void abandoned++,
  });
  return { queue, stream: queue.stream, taken, abandoned: () => abandoned };
}

const collect = async (stream: AsyncIterable<number>): Promise<number[]> => {
  const all: number[] = [];
  for await (const item of stream) all.push(item);
  return all;
};

describe("ItemStream", () => {
  it("is iterated: what came before, what comes while waiting, then the end", async () => {
    const { queue, stream, taken } = fixture();
    queue.push(1, 10);
    queue.push(2, 20);
    const all = collect(stream);
    await Promise.resolve();
    queue.push(3, 30);
    queue.end(undefined);
    expect(await all).toEqual([1, 2, 3]);
    expect(taken).toEqual([10, 20, 30]);
  });

  it("is a ReadableStream for readers and pipes", async () => {
    const { queue, stream } = fixture();
    queue.push(1, 1);
    const doubled = stream.pipeThrough(
      new TransformStream<number, number>({ transform: (item, out) => out.enqueue(item * 2) }),
    );
    const reader = doubled.getReader();
    expect(await reader.read()).toEqual({ done: false, value: 2 });
    const next = reader.read();
    queue.push(2, 1);
    queue.push(3, 1);
    queue.end(undefined);
    expect(await next).toEqual({ done: false, value: 4 });
    expect(await reader.read()).toEqual({ done: false, value: 6 });
    expect(await reader.read()).toMatchObject({ done: true });
  });

  it("throws its error once the items before it are read, to iterators and readers", async () => {
    for (const read of [
      (stream: ItemStream<number>) => stream[Symbol.asyncIterator](),
      (stream: ItemStream<number>) => {
        const reader = stream.getReader();
        return { next: () => reader.read() };
      },
    ]) {
      const { queue, stream } = fixture();
      queue.push(1, 1);
      queue.end(new Error("over"));
      const source = read(stream);
      expect(await source.next()).toMatchObject({ value: 1 });
      await expect(source.next()).rejects.toThrow("over");
    }
  });

  it("takes nothing before it is asked to", async () => {
    const { queue, taken } = fixture();
    queue.push(1, 1);
    await new Promise(setImmediate);
    expect(taken).toEqual([]);
  });

  it("answers several waiting next() in order", async () => {
    const { queue, stream } = fixture();
    const iterator = stream[Symbol.asyncIterator]();
    const waiting = [iterator.next(), iterator.next(), iterator.next()];
    queue.push(1, 1);
    queue.push(2, 1);
    queue.end(undefined);
    expect((await Promise.all(waiting)).map(({ value }) => value)).toEqual([1, 2, undefined]);
  });

  it("is abandoned once by break, cancel or return, and not after its end", async () => {
    const broken = fixture();
    broken.queue.push(1, 1);
    for await (const _ of broken.stream) break;
    expect(broken.abandoned()).toBe(1);
    expect(broken.stream.locked).toBe(false);

    const cancelled = fixture();
    await cancelled.stream.cancel();
    cancelled.queue.end(new Error("late"));
    expect(cancelled.abandoned()).toBe(1);

    const ended = fixture();
    ended.queue.end(undefined);
    expect(await collect(ended.stream)).toEqual([]);
    await ended.stream.cancel();
    expect(ended.abandoned()).toBe(0);
  });

  it("has one consumer at a time", () => {
    const { stream } = fixture();
    stream[Symbol.asyncIterator]();
    expect(() => stream.getReader()).toThrow(TypeError);
  });

  it("goes from a reader to an iterator and back without losing an item", async () => {
    const { queue, stream } = fixture();
    for (let i = 0; i < 6; i++) queue.push(i, 1);
    let reader = stream.getReader();
    expect(await reader.read()).toMatchObject({ value: 0 });
    reader.releaseLock();
    for await (const item of stream.values({ preventCancel: true })) if (item === 2) break;
    reader = stream.getReader();
    const rest = [await reader.read(), await reader.read(), await reader.read()].map(({ value }) => value);
    expect(rest).toEqual([3, 4, 5]);
    const pending = reader.read();
    reader.releaseLock();
    await expect(pending).rejects.toThrow(TypeError);
    const iterator = stream.values({ preventCancel: true });
    const next = iterator.next();
    queue.push(6, 1);
    queue.push(7, 1);
    expect([(await next).value, (await iterator.next()).value]).toEqual([6, 7]);
    await iterator.return?.();
    expect(await iterator.next()).toMatchObject({ done: true });
    reader = stream.getReader();
    queue.push(8, 1);
    expect(await reader.read()).toMatchObject({ value: 8 });
    queue.end(undefined);
    expect(await reader.read()).toMatchObject({ done: true });
  });

  it("is left without being abandoned when preventCancel is set", async () => {
    const { queue, stream, abandoned } = fixture();
    queue.push(1, 1);
    queue.push(2, 1);
    queue.end(undefined);
    for await (const _ of stream.values({ preventCancel: true })) break;
    expect(abandoned()).toBe(0);
    expect(await collect(stream)).toEqual([2]);
  });
});
