import {
  closeSync,
  constants,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { RpcError } from "@quicrpc/core";
import type { Journal, LogEntry } from "@quicrpc/topics";

/** First line of a journal file. It is followed by one line `[number, topic, id or null, base64]` for each message. */
interface Head {
  readonly quicrpcTopics: 1;
  readonly life: string;
  /** Highest message number in use. */
  readonly last: number;
}

/**
 * Message numbers skipped at each start. A power failure may lose the last lines of the file, but subscribers still
 * have their positions, so new messages must not reuse the lost numbers.
 */
const SKIPPED = 1_000_000;
/** Minimum number of appended bytes after which the file is rewritten without messages that are no longer retained. */
const REWRITE_BYTES = 1024 * 1024;
/**
 * Minimum number of bytes of the new file that are written together with each message. A rewrite proceeds in such
 * steps, so that it does not block the process.
 */
const STEP_BYTES = 65_536;
const { O_APPEND, O_CREAT, O_TRUNC, O_WRONLY } = constants;

/**
 * Journal that stores the messages of topics with history in a file. Each message is appended to the file. Only one
 * process at a time may use the file.
 */
export class TopicJournal implements Journal {
  readonly life: string;
  readonly entries: (readonly [number, LogEntry])[];
  readonly last: number;
  private readonly path: string;
  private file: number;
  /** Size of the file in bytes. `rewrittenBytes` is the size that the last rewrite produced. */
  private bytes = 0;
  private rewrittenBytes = 0;
  private rewrite: Rewrite | undefined = undefined;

  /** Opens the file, or creates the file and its folder. Throws if the file is not a journal. */
  constructor(path: string) {
    this.path = path;
    mkdirSync(dirname(path), { recursive: true });
    const { head, entries } = read(path);
    this.life = head.life;
    this.entries = entries;
    this.last = Math.max(head.last, entries.at(-1)?.[0] ?? 0) + SKIPPED;
    this.rewrite = this.begin(this.last, entries);
    this.rewrite.advance(Number.POSITIVE_INFINITY);
    this.file = this.replace(this.rewrite);
  }

  append(number: number, entry: LogEntry, kept: ReadonlyMap<number, LogEntry>): void {
    const line = lineOf([number, entry]);
    try {
      if (this.bytes > 2 * this.rewrittenBytes + REWRITE_BYTES) this.rewrite ??= this.begin(number - 1, kept);
      // Writes twice as many bytes as were appended, so that the rewrite finishes however fast the file grows.
      if (this.rewrite?.advance(Math.max(STEP_BYTES, 2 * line.length)) === true) {
        closeSync(this.file);
        this.file = this.replace(this.rewrite);
      }
      writeAll(this.file, line);
      this.bytes += line.length;
    } catch (cause) {
      throw this.failed(cause);
    }
  }

  close(): void {
    this.abandon();
    if (this.file >= 0) closeSync(this.file);
    this.file = -1;
  }

  private begin(last: number, entries: Iterable<readonly [number, LogEntry]>): Rewrite {
    return new Rewrite(`${this.path}.part`, { quicrpcTopics: 1, life: this.life, last }, entries);
  }

  /** Replaces the file with a completed rewrite. Returns the file descriptor of the new file. */
  private replace({ path, file, bytes }: Rewrite): number {
    renameSync(path, this.path);
    this.rewrite = undefined;
    this.bytes = bytes;
    this.rewrittenBytes = bytes;
    return file;
  }

  private abandon(): void {
    const { rewrite } = this;
    if (rewrite === undefined) return;
    this.rewrite = undefined;
    closeSync(rewrite.file);
    rmSync(rewrite.path, { force: true });
  }

  /** Handles a failed write: truncates the file to its last complete line. Returns the error to throw. */
  private failed(cause: unknown): RpcError {
    try {
      this.abandon();
      ftruncateSync(this.file, this.bytes);
    } catch {
      // The file is closed or its disk is gone, so the next append fails as well.
    }
    return new RpcError("unavailable", "the history of topics could not be written to its file", { cause });
  }
}

/**
 * A rewrite of the journal file in progress. Each message appended to the old file also writes some bytes of the new
 * file. `entries` may change meanwhile, because the iterator of a map also visits entries that are added later.
 */
class Rewrite {
  readonly path: string;
  readonly file: number;
  bytes = 0;
  private readonly entries: Iterator<readonly [number, LogEntry]>;

  constructor(path: string, head: Head, entries: Iterable<readonly [number, LogEntry]>) {
    this.path = path;
    this.entries = entries[Symbol.iterator]();
    this.file = openSync(path, O_APPEND | O_CREAT | O_TRUNC | O_WRONLY, 0o600);
    this.write([Buffer.from(`${JSON.stringify(head)}\n`)]);
  }

  /**
   * Writes about `bytes` more bytes. Returns true if the new file is complete. The caller must then replace the old
   * file before it appends anything.
   */
  advance(bytes: number): boolean {
    let lines: Buffer[] = [];
    let size = 0;
    for (let remaining = bytes; remaining > 0; ) {
      const { done, value } = this.entries.next();
      if (done === true) {
        this.write(lines);
        return true;
      }
      const line = lineOf(value);
      lines.push(line);
      remaining -= line.length;
      size += line.length;
      if (size < STEP_BYTES) continue;
      this.write(lines);
      lines = [];
      size = 0;
    }
    this.write(lines);
    return false;
  }

  private write(lines: readonly Buffer[]): void {
    const bytes = Buffer.concat(lines);
    writeAll(this.file, bytes);
    this.bytes += bytes.length;
  }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
}

function read(path: string): { head: Head; entries: (readonly [number, LogEntry])[] } {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return { head: { quicrpcTopics: 1, life: randomUUID().replaceAll("-", ""), last: 0 }, entries: [] };
  }
  const [first = "", ...lines] = text.split("\n");
  // The last line is incomplete if the process ended while writing it.
  lines.pop();
  try {
    const head = JSON.parse(first) as Partial<Head>;
    if (head.quicrpcTopics !== 1) throw new TypeError("it has no valid header");
    return { head: head as Head, entries: lines.map(entryOf) };
  } catch (cause) {
    throw new Error(`${path} is not a file of topics: ${String(cause)}`, { cause });
  }
}

function lineOf([number, { topic, id, bytes }]: readonly [number, LogEntry]): Buffer {
  const names = JSON.stringify([number, topic, id ?? null]).slice(0, -1);
  return Buffer.from(`${names},"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64")}"]\n`);
}

function entryOf(line: string): [number, LogEntry] {
  const [number, topic, id, bytes] = JSON.parse(line) as [number, string, string | null, string];
  return [number, { topic, id: id ?? undefined, bytes: Buffer.from(bytes, "base64") }];
}
