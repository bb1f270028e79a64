import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import type { Router } from "@quicrpc/core";

const service = { name: "test.v1.Rolling", id: 4713 };

interface Entry {
  readonly id: number;
  readonly before: number;
}

export const follow = defineMethod(service, "server_stream", "follow", {
  id: 1,
  output: uncheckedCodec<Entry>(),
  cursor: { field: "id", predecessor: "before" },
});

/** How a server of the test is started. */
export interface RollingSettings {
  readonly listen: string;
  readonly tls: { readonly cert: string; readonly key: string };
  /** When the log began, in milliseconds since the epoch. */
  readonly since: number;
  /** Milliseconds between two of its items. */
  readonly everyMs: number;
}

/** Serves a log that is the same in every process: one item for each `everyMs` since `since`. */
export function logRouter({ since, everyMs }: Pick<RollingSettings, "since" | "everyMs">): Router {
  return createRouter(
    { follow },
    {
      follow: async function* (_, { resumeFrom, signal }) {
        for (let id = Number(resumeFrom ?? 0) + 1; !signal.aborted; id++) {
          const wait = since + id * everyMs - Date.now();
          if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
          yield { id, before: id - 1 };
        }
      },
    },
  );
}
