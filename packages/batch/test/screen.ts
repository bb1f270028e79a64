import { rpcError, type Router, type RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { z } from "zod";

const users = { name: "screen.v1.Users", id: 7301 };
const posts = { name: "screen.v1.Posts", id: 7302 };

const User = z.object({
  id: z.string(),
  name: z.string(),
  boss: z.string().optional(),
  born: z.date(),
  karma: z.bigint(),
  tags: z.array(z.string()),
});
const Post = z.object({ id: z.string(), author: z.string(), likes: z.array(z.string()) });

export const usersMethods = {
  get: defineMethod(users, "unary", "get", {
    id: 1,
    input: zodCodec(z.object({ id: z.string().min(1) })),
    output: zodCodec(User),
    errors: { NO_SUCH_USER: { code: "not_found", details: zodCodec(z.object({ id: z.string() })) } },
  }),
  /** Takes values that JSON lacks. */
  older: defineMethod(users, "unary", "older", {
    id: 2,
    input: zodCodec(z.object({ than: z.date(), karma: z.bigint(), names: z.map(z.string(), z.number()).optional() })),
    output: zodCodec(z.object({ years: z.number(), karma: z.bigint(), names: z.number() })),
  }),
  echo: defineMethod(users, "unary", "echo", {
    id: 3,
    input: zodCodec(z.unknown()),
    output: zodCodec(z.unknown()),
  }),
  forget: defineMethod(users, "unary", "forget", { id: 4 }),
  watch: defineMethod(users, "server_stream", "watch", { id: 5, output: zodCodec(User) }),
  crash: defineMethod(users, "unary", "crash", { id: 6 }),
  /** Ends when its signal aborts. */
  wait: defineMethod(users, "unary", "wait", { id: 7 }),
  secret: defineMethod(users, "unary", "secret", { id: 8, output: zodCodec(z.string()), meta: { scopes: ["admin"] } }),
};

export const postsMethods = {
  list: defineMethod(posts, "unary", "list", {
    id: 1,
    input: zodCodec(z.object({ author: z.string(), limit: z.int().max(1000).default(3) })),
    output: zodCodec(z.object({ items: z.array(Post), next: z.string().optional() })),
  }),
  count: defineMethod(posts, "unary", "count", {
    id: 2,
    input: zodCodec(z.string()),
    output: zodCodec(z.object({ id: z.string(), n: z.int() })),
  }),
};

/** What the handlers of a router did. */
export interface Seen {
  readonly calls: string[];
  /** Called with the reason when the signal of `wait` aborts. */
  readonly aborted: string[];
  running: number;
  mostRunning: number;
}

export function screenRouters(seen: Seen = { calls: [], aborted: [], running: 0, mostRunning: 0 }): Router[] {
  const asynchronous = async <T>(name: string, result: () => T): Promise<T> => {
    seen.calls.push(name);
    seen.mostRunning = Math.max(seen.mostRunning, ++seen.running);
    await new Promise((resolve) => setImmediate(resolve));
    seen.running--;
    return result();
  };
  const usersRouter = createRouter(usersMethods, {
    get: ({ id }) =>
      asynchronous(`get ${id}`, () => {
        if (id === "nobody")
          throw rpcError(usersMethods.get, "NO_SUCH_USER", { id }, { message: "there is no such user" });
        const born = new Date("1815-12-10");
        return { id, name: `user ${id}`, born, karma: 2n ** 60n, tags: [id], ...(id !== "boss" && { boss: "boss" }) };
      }),
    older: ({ than, karma, names }) => ({ years: than.getUTCFullYear(), karma, names: names?.get("a") ?? 0 }),
    echo: (value) => value,
    forget: () => {},
    watch: () => [],
    crash: () => {
      throw new Error("a secret of the server");
    },
    wait: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        seen.calls.push("wait");
        signal.addEventListener("abort", () => {
          seen.aborted.push((signal.reason as RpcError).code);
          reject(signal.reason as RpcError);
        });
      }),
    secret: () => "the secret",
  });
  const postsRouter = createRouter(postsMethods, {
    list: ({ author, limit }) =>
      asynchronous(`list ${author}`, () => ({
        items: Array.from({ length: limit }, (_, i) => ({ id: `p${i}`, author: `${author}${i}`, likes: [author] })),
      })),
    count: (id) => asynchronous(`count ${id}`, () => ({ id, n: id.length })),
  });
  return [usersRouter, postsRouter];
}
