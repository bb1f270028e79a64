// Tests for every log of topics with history; each log's package runs them.
import { describe, expect, it } from "vitest";
import type { LogItem, Rooms } from "./rooms.js";

/** Opens topics over a log that keeps at most `maxMessages` messages of each topic. */
export type OpenLog = (maxMessages: number) => Promise<Rooms["log"]>;

/** @param open topics of a log without messages, which the caller closes after the test */
export function topicLogContract(name: string, open: OpenLog): void {
  const publish = async (log: Rooms["log"], from: number, to: number, id = "1"): Promise<void> => {
    for (let n = from; n <= to; n++) await log.publish({ id, message: { n, text: "" } });
  };
  const take = async (items: AsyncIterator<LogItem>, count: number): Promise<LogItem[]> => {
    const taken: LogItem[] = [];
    while (taken.length < count) {
      const { value, done } = await items.next();
      if (done === true) throw new Error(`the subscription ended after ${taken.length} items`);
      taken.push(value);
    }
    return taken;
  };
  const numbers = (items: readonly LogItem[]): unknown[] => items.map(({ message }) => message?.n);
  const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, at) => first + at);

  describe(`the contract of ${name}`, () => {
    it("gives what was appended, in order, all of it or what follows a position", async () => {
      const log = await open(100);
      await publish(log, 1, 5);
      const all = await take(await log.subscribe({ id: "1" }, "0"), 5);
      expect(numbers(all)).toEqual(upTo(5));
      for (const [at, { position }] of all.slice(0, -1).entries()) {
        expect(numbers(await take(await log.subscribe({ id: "1" }, position), 4 - at))).toEqual(upTo(5, at + 2));
      }
    });

    it("goes from history to what comes without a gap, and without a message twice", async () => {
      const log = await open(1000);
      await publish(log, 1, 20);
      const publishing = publish(log, 21, 120);
      const items = await log.subscribe({ id: "1" }, "0");
      expect(numbers(await take(items, 120))).toEqual(upTo(120));
      await publishing;
    });

    it("begins a subscription without a position at the end, which it names", async () => {
      const log = await open(100);
      await publish(log, 1, 3);
      const items = await log.subscribe({ id: "1" });
      const [end] = await take(items, 1);
      expect(end).toEqual({ message: undefined, position: expect.any(String) });
      await publish(log, 4, 5);
      expect(numbers(await take(items, 2))).toEqual([4, 5]);
      expect(numbers(await take(await log.subscribe({ id: "1" }, end?.position), 2))).toEqual([4, 5]);
    });

    it("appends a message of one id once in its topic, also at once", async () => {
      const log = await open(100);
      const named = (n: number, id = "1"): unknown => log.publish({ id, message: { n, text: "" } }, { id: "a" });
      await Promise.all([named(1), named(1), named(1)]);
      await named(1);
      await named(7, "2");
      await publish(log, 2, 2);
      expect(numbers(await take(await log.subscribe({ id: "1" }, "0"), 2))).toEqual([1, 2]);
      expect(numbers(await take(await log.subscribe({ id: "2" }, "0"), 1))).toEqual([7]);
    });

    it("says that a position is gone once messages after it were trimmed, and one of another log", async () => {
      const log = await open(3);
      await publish(log, 1, 1);
      const [first] = await take(await log.subscribe({ id: "1" }, "0"), 1);
      await publish(log, 2, 6);
      const gone = { code: "out_of_range", reason: "CURSOR_EXPIRED" };
      for (const position of [first?.position, "another-1", "nonsense"]) {
        const reading = (async () => take(await log.subscribe({ id: "1" }, position), 1))();
        await expect(reading).rejects.toMatchObject(gone);
      }
      expect(numbers(await take(await log.subscribe({ id: "1" }, "0"), 3))).toEqual([4, 5, 6]);
    });

    it("keeps topics apart", async () => {
      const log = await open(100);
      for (let n = 1; n <= 10; n++) await publish(log, n, n, n % 2 === 0 ? "even" : "odd");
      expect(numbers(await take(await log.subscribe({ id: "odd" }, "0"), 5))).toEqual([1, 3, 5, 7, 9]);
      const even = await take(await log.subscribe({ id: "even" }, "0"), 5);
      expect(numbers(even)).toEqual([2, 4, 6, 8, 10]);
    });
  });
}
