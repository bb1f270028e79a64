// Calls within a call: see docs/extensions.md.
import { createRouter, defineMethod, InnerCalls, uncheckedCodec } from "@quicrpc/core/generated";
import type { CallContext } from "@quicrpc/core";

export const repeat = defineMethod({ name: "tools.v1.Repeat", id: 4802 }, "unary", "repeat", {
  id: 1,
  input: uncheckedCodec<{ method: string; messages: Uint8Array[] }>(),
  output: uncheckedCodec<Uint8Array[]>(),
});

// #region handler
async function repeated(method: string, messages: Uint8Array[], context: CallContext): Promise<Uint8Array[]> {
  const calls = new InnerCalls(context, { maxConcurrent: 8, maxMs: 10_000 });
  try {
    return await Promise.all(messages.map((message) => calls.call(method, () => message)));
  } finally {
    calls.end();
  }
}
// #endregion handler

export const repeatRouter = createRouter(
  { repeat },
  { repeat: ({ method, messages }, context) => repeated(method, messages, context) },
);
