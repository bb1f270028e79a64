import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

const Author = z.object({ id: z.string(), name: z.string(), team: z.string().optional() });
const Post = z.object({ id: z.string(), author: z.string(), text: z.string() });

export const Authors = service("feed.v1.Authors", {
  get: rpc({ input: z.object({ id: z.string() }), output: Author, readOnly: true }),
});

export const Posts = service("feed.v1.Posts", {
  list: rpc({
    input: z.object({ team: z.string(), limit: z.int().max(50).default(20) }),
    output: z.object({ items: z.array(Post) }),
    readOnly: true,
  }),
});
