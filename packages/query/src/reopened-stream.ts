import { type CallOptions, type ItemStream, RpcError } from "@quicrpc/core";
import { backoffDelay, sleep } from "@quicrpc/core/internal";

/** Items of a streamed query. They are appended to the earlier items or replace them. */
export interface StreamPart<Item> {
  readonly items: readonly Item[];
  readonly replaces: boolean;
}

/**
 * Called while a stream is lost, with the number of consecutive failures and the last error. Called with 0 and null
 * once the stream is open again.
 */
export type OnLost = (failures: number, error: RpcError | null, isWaiting: boolean) => void;

const PAUSES = { initialMs: 100, maxMs: 30_000, factor: 2 };

/**
 * Yields the items of a stream, which is opened again whenever it is lost (`unavailable`). Stops when `signal` fires,
 * or when `isOver` returns true because the caller is closed. A stream whose items have cursors continues after the
 * last item. Any other stream starts again, and its items replace the earlier ones.
 */
export async function* reopenedStream<Item>(
  open: (options: CallOptions) => ItemStream<Item>,
  options: CallOptions & { readonly signal: AbortSignal },
  isOver: () => boolean,
  onLost: OnLost,
): AsyncGenerator<StreamPart<Item>> {
  const { signal } = options;
  let from = options.from;
  let replaces = false;
  let failures = 0;
  let isOpen = false;
  const opened = (): void => {
    isOpen = true;
    if (failures > 0) onLost((failures = 0), null, false);
  };
  for (;;) {
    const stream = open({
      ...options,
      from,
      onResponseMetadata(metadata) {
        opened();
        options.onResponseMetadata?.(metadata);
      },
    });
    try {
      for await (const item of stream) {
        opened();
        yield { items: [item], replaces };
        replaces = false;
      }
      if (replaces) yield { items: [], replaces };
      return;
    } catch (thrown) {
      const error = RpcError.from(thrown);
      const isExpired = error.reason === "CURSOR_EXPIRED" && from !== options.from;
      if (signal.aborted || !(isExpired || (mayReopen(error, isOpen) && !isOver()))) throw thrown;
      isOpen = true;
      from = isExpired ? options.from : (stream.cursor ?? from);
      replaces ||= from === options.from;
      onLost(++failures, error, true);
      await sleep(backoffDelay(failures - 1, PAUSES), signal);
      onLost(failures, error, false);
    }
  }
}

/**
 * Returns true if another attempt may succeed. The first attempt must have reached a handler; otherwise the query
 * itself fails.
 */
function mayReopen({ code, refused }: RpcError, isOpen: boolean): boolean {
  if (!refused) return code === "unavailable";
  return isOpen && (code === "unavailable" || code === "resource_exhausted");
}
