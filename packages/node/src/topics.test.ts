import { appendFile, mkdir, mkdtemp, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RpcError } from "@quicrpc/core";
import { DEFAULT_TOPIC_LIMITS, type LogEntry, MemoryLog, type TopicLimits, type Topics } from "@quicrpc/topics";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type LogItem, type Rooms, serveRooms } from "../../../test/rooms.js";
import { topicLogContract } from "../../../test/topic-log-contract.js";
import { fileTopics } from "./topics.js";
import { TopicJournal } from "./topic-journal.js";

let folder: string;
let file: string;
let opened: Topics[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "quicrpc-topics-"));
  file = join(folder, "new", "topics");
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((topics) => topics.close()));
  await rm(folder, { recursive: true });
});

/** Opens the topics as a new process does. The previous process may not have closed the file. */
function start(limits: Partial<TopicLimits> = {}): Rooms {
  const topics = fileTopics({ file, limits });
  opened.push(topics);
  return serveRooms(topics);
}

async function publish({ log }: Rooms, from: number, to: number, id = "1"): Promise<void> {
  for (let n = from; n <= to; n++) await log.publish({ id, message: { n, text: "é\n" } }, { id: `${n}` });
}

async function read({ log }: Rooms, count: number, from = "0"): Promise<LogItem[]> {
  const items: LogItem[] = [];
  const reading = await log.subscribe({ id: "1" }, from);
  while (items.length < count) items.push(((await reading.next()) as IteratorYieldResult<LogItem>).value);
  await reading.return?.();
  return items;
}

const numbers = (items: readonly LogItem[]) => items.map(({ message }) => message?.n);

it("history is there after a process that closed nothing, and positions go on", async () => {
  const first = start();
  await publish(first, 1, 3);
  const [, second] = await read(first, 3);
  const next = start();
  await publish(next, 4, 4);
  expect(numbers(await read(next, 2, second?.position))).toEqual([3, 4]);
  expect((await read(next, 4)).at(3)?.message?.text).toBe("é\n");
});

it("a message whose id is known is not published again, before and after a start", async () => {
  const first = start();
  await publish(first, 1, 2);
  await publish(first, 2, 2);
  await publish(first, 1, 1, "another");
  const next = start();
  await publish(next, 1, 3);
  expect(numbers(await read(next, 3))).toEqual([1, 2, 3]);
});

it("a line that was cut off while it was written is left out, and what follows is whole", async () => {
  await publish(start(), 1, 2);
  await appendFile(file, `[3,"test.v1.Rooms.log.1",nu`);
  await publish(start(), 3, 3);
  expect(numbers(await read(start(), 3))).toEqual([1, 2, 3]);
});

it("messages that were lost with their machine leave their positions to no others", async () => {
  const first = start();
  await publish(first, 1, 1);
  const before = await readFile(file);
  await publish(first, 2, 3);
  const [, , lost] = await read(first, 3);
  await writeFile(file, before);
  const next = start();
  await publish(next, 4, 4);
  expect(numbers(await read(next, 1, lost?.position))).toEqual([4]);
});

it("a position from before what is kept has expired, also after a start", async () => {
  const limits = { maxHistoryMessages: 2 };
  const first = start(limits);
  await publish(first, 1, 1);
  const [one] = await read(first, 1);
  await publish(first, 2, 4);
  await expect(read(start(limits), 1, one?.position)).rejects.toMatchObject({ reason: "CURSOR_EXPIRED" });
});

it("the file stays in proportion to what is kept", async () => {
  const rooms = start({ maxHistoryMessages: 10 });
  const text = "x".repeat(10_000);
  for (let n = 0; n < 400; n++) await rooms.log.publish({ id: "1", message: { n, text } });
  expect((await stat(file)).size).toBeLessThan(2_000_000);
  expect(numbers(await read(start({ maxHistoryMessages: 10 }), 10))).toEqual([
    390, 391, 392, 393, 394, 395, 396, 397, 398, 399,
  ]);
});

it("another file is left as it is", async () => {
  file = join(folder, "other");
  await writeFile(file, "{}\n");
  expect(() => start()).toThrow(`${file} is not a file of topics`);
  expect(await readFile(file, "utf8")).toBe("{}\n");
});

it("what cannot be written is not kept", async () => {
  const journal = new TopicJournal(file);
  const log = new MemoryLog(DEFAULT_TOPIC_LIMITS, journal);
  log.append("topic", Buffer.from("one"), "1");
  journal.close();
  expect(() => log.append("topic", Buffer.from("two"), "2")).toThrow(RpcError);
  const kept: string[] = [];
  for await (const { bytes } of log.after("topic", "0")) kept.push(String(bytes));
  expect(kept).toEqual(["one"]);
});

/**
 * Creates a journal, the messages stored in it, and a counter of the messages read, as the log of a process has them.
 */
function journalled(count: number): { add: (bytes: number) => void; kept: Map<number, LogEntry>; taken: () => number } {
  let taken = 0;
  class Kept extends Map<number, LogEntry> {
    override *[Symbol.iterator](): MapIterator<[number, LogEntry]> {
      for (const entry of super[Symbol.iterator]()) {
        taken++;
        yield entry;
      }
    }
  }
  const journal = new TopicJournal(file);
  const kept = new Kept();
  let { last } = journal;
  const add = (bytes: number): void => {
    const entry = { topic: "topic", id: undefined, bytes: Buffer.alloc(bytes, ++last) };
    journal.append(last, entry, kept);
    kept.set(last, entry);
    if (kept.size > count) kept.delete([...kept.keys()][0] ?? 0);
  };
  return { add, kept, taken: () => taken };
}

it("a message writes a small part of the file anew, however much is kept, and the file comes to be whole", async () => {
  const { add, taken } = journalled(2000);
  let most = 0;
  for (let n = 0; n < 10_000; n++) {
    const before = taken();
    add(2000);
    most = Math.max(most, taken() - before);
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(40);
  expect((await stat(file)).size).toBeLessThan(4 * 2000 * 2700);
});

it("a process that ends at any step of that has lost nothing", async () => {
  const { add, kept } = journalled(300);
  let steps = 0;
  const crashed = join(folder, "crashed");
  for (let n = 0; n < 1200; n++) {
    add(2000);
    const part = await readFile(`${file}.part`).catch(() => undefined);
    if (part === undefined && n % 100 !== 0) continue;
    steps++;
    await writeFile(crashed, await readFile(file));
    await writeFile(`${crashed}.part`, part ?? "");
    const next = new TopicJournal(crashed);
    next.close();
    const found = next.entries.map(([number]) => number);
    expect(found.slice(-kept.size)).toEqual([...kept.keys()]);
    expect(next.entries.at(-1)?.[1]).toEqual([...kept.values()].at(-1));
  }
  expect(steps).toBeGreaterThan(20);
});

it("a message that cannot be kept since the file cannot be written anew is not, and the next one may be", async () => {
  const { add, kept } = journalled(10);
  await mkdir(`${file}.part`);
  const failed = (): boolean => {
    try {
      add(10_000);
      return false;
    } catch (error) {
      expect(error).toMatchObject({ code: "unavailable" });
      return true;
    }
  };
  await vi.waitUntil(failed, { interval: 0 });
  await rmdir(`${file}.part`);
  for (let n = 0; n < 200; n++) add(10_000);
  expect((await stat(file)).size).toBeLessThan(2_000_000);
  const { entries } = new TopicJournal(file);
  expect(entries.slice(-10).map(([number]) => number)).toEqual([...kept.keys()]);
  const all = entries.map(([number]) => number);
  expect(new Set(all).size).toBe(all.length);
});

topicLogContract("a log in a file", async (maxHistoryMessages) => start({ maxHistoryMessages }).log);
