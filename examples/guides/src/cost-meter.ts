// An extension of calls: see docs/extensions.md.
import type { Router } from "@quicrpc/core";
import { type CallExtension, defineMethod, uncheckedCodec, withCallOptions } from "@quicrpc/core/generated";

declare module "@quicrpc/core" {
  interface MethodMeta {
    readonly cost?: number;
  }
}

// #region client
const COST = "cost";

/** What the calls of this process have cost so far. */
export const spent: { total: number } = { total: 0 };

/** The extension of methods whose calls have a cost, which the server reports. */
export const metered: CallExtension = {
  name: "metered",
  kinds: ["unary", "client_stream"],
  servedBy: "meteredRouter",
  calling: (calling) =>
    withCallOptions(calling, (options) => ({
      ...options,
      onTrailers(trailers) {
        spent.total += Number(trailers.get(COST) ?? 0);
        options?.onTrailers?.(trailers);
      },
    })),
};
// #endregion client

// #region server
/** Adds the server's side: after each call, the cost in the method's `meta` is reported to the caller. */
export function meteredRouter<Context>({ methods }: Router<Context>): Router<Context> {
  return {
    methods: methods.map((bound) => {
      const { extension, meta } = bound.method;
      if (extension?.name !== metered.name) return bound;
      const handler: typeof bound.handler = async (input, context) => {
        context.trailers.set(COST, String(meta?.cost ?? 1));
        return bound.handler(input, context);
      };
      return { ...bound, handler, extension: {} };
    }),
  };
}
// #endregion server

// #region method
export const search = defineMethod({ name: "shop.v1.Catalog", id: 4801 }, "unary", "search", {
  id: 1,
  input: uncheckedCodec<string>(),
  output: uncheckedCodec<number>(),
  meta: { cost: 3 },
  extension: metered,
});
// #endregion method
