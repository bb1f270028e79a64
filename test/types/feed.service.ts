import { bytes, notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

declare module "@quicrpc/core" {
  interface MethodMeta {
    readonly auth?: "user" | "admin" | "public";
    readonly scopes?: readonly string[];
    readonly cost?: number;
  }
}

const Post = z.object({ id: z.int(), at: z.date().optional(), body: z.union([z.string(), z.instanceof(Uint8Array)]) });

/** A method of each kind, to see what TypeScript knows of each. */
export const Feed = service("types.v1.Feed", {
  read: rpc({
    input: z.object({ id: z.int() }),
    output: Post,
    errors: { GONE: { code: "not_found" } },
    meta: { auth: "user", cost: 3 },
  }),
  watch: rpc({ input: z.object({ since: z.bigint() }), output: stream(Post), cursor: "id" }),
  publish: rpc({ input: stream(Post), output: z.object({ count: z.int() }) }),
  talk: rpc({ input: stream(z.string()), output: stream(Post) }),
  copy: rpc({ input: bytes(), output: bytes() }),
  seen: notify({ input: z.object({ id: z.int() }) }),
});
