import { type CallOptions, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { type Attempt, type BlobField, callFailure, fullName } from "@quicrpc/core/internal";
import { type BlobCaller, TransferRetries } from "./transfer-retries.js";
import { ReceivedBlob } from "./received-blob.js";
import { RetainedContent } from "./retained-content.js";
import { type BlobSource, createBlobId, describedBlob, isRepeatable } from "./source.js";

type Message = Readonly<Record<string, unknown>>;

/**
 * Makes a call with resumable blobs. If the session is lost, repeats the call on another session with the same upload
 * ids, as often as necessary. Blobs of the output are continued in the same way.
 */
export async function resumedCall(
  caller: unknown,
  method: AnyMethod,
  input: unknown,
  options: unknown = {},
): Promise<unknown> {
  const callOptions = options as CallOptions;
  const { input: sent = [], output = [] } = method.blobs?.fields ?? {};
  const losses = new TransferRetries(caller as BlobCaller, callOptions);
  const sources = new BlobSources(losses);
  try {
    const response = await answered(
      caller as BlobCaller,
      method,
      sources.describedInput(sent, input),
      callOptions,
      losses,
    );
    for (const { name, resumable } of output) {
      const blob = (response as Message | undefined)?.[name];
      if (resumable !== true || !(blob instanceof ReceivedBlob)) continue;
      blob.resumeBy(caller as BlobCaller, async (signal) => {
        const resumeOptions = { ...callOptions, timeoutMs: undefined, deadline: undefined, signal };
        const fresh = ((await resumedCall(caller, method, input, resumeOptions)) as Message)[name];
        if (fresh instanceof ReceivedBlob) return fresh;
        throw new RpcError("not_found", "the new answer does not contain the blob");
      });
    }
    return response;
  } catch (error) {
    throw callFailure(RpcError.from(error), fullName(method));
  } finally {
    losses.onMade();
    sources.close();
  }
}

async function answered(
  caller: BlobCaller,
  method: AnyMethod,
  input: unknown,
  options: CallOptions,
  losses: TransferRetries,
): Promise<unknown> {
  const since = Date.now();
  for (;;) {
    const attempt: Attempt = { onMade: () => losses.onMade(), onLeaving() {}, onOver: undefined };
    const timeoutMs = options.timeoutMs === undefined ? undefined : options.timeoutMs - (Date.now() - since);
    const attemptOptions = { ...options, timeoutMs, attempt };
    try {
      return await caller.begin(method, input, attemptOptions);
    } catch (error) {
      await losses.waitForAttempt(error, attemptOptions);
    }
  }
}

class BlobSources {
  private readonly losses: TransferRetries;
  private readonly retained: RetainedContent[] = [];

  constructor(losses: TransferRetries) {
    this.losses = losses;
  }

  /** Returns a copy of `message` whose resumable blobs have upload ids, and sources that can be read again. */
  describedInput(fields: readonly BlobField[], message: unknown): unknown {
    if (typeof message !== "object" || message === null) return message;
    const named: Record<string, unknown> = { ...message };
    for (const { name, resumable } of fields) {
      if (resumable === true && named[name] !== undefined) named[name] = this.source(named[name] as BlobSource);
    }
    return named;
  }

  close(): void {
    for (const retained of this.retained) retained.close();
  }

  private source(blob: BlobSource): BlobSource {
    const described = describedBlob(blob);
    const { id = createBlobId(), onProgress } = described;
    let { content } = described;
    if (!isRepeatable(content)) {
      content = new RetainedContent(content);
      this.retained.push(content as RetainedContent);
    }
    let furthest = 0;
    const observed = (bytes: number, length: number | undefined): void => {
      if (bytes > furthest) this.losses.progressed();
      furthest = Math.max(furthest, bytes);
      onProgress?.(bytes, length);
    };
    return { ...described, id, content, onProgress: observed };
  }
}
