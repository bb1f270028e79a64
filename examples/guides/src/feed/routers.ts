import { RpcError } from "@quicrpc/core";
import { createPostsRouter, createAuthorsRouter } from "./generated/feed.js";

const authors = new Map([
  ["ada", { id: "ada", name: "Ada", team: "engines" }],
  ["charles", { id: "charles", name: "Charles", team: "engines" }],
  ["guest", { id: "guest", name: "Guest" }],
]);
const posts = [
  { id: "p1", author: "charles", text: "It has 25,000 parts." },
  { id: "p2", author: "ada", text: "It might compose music." },
];

export const authorsRouter = createAuthorsRouter({
  get({ id }) {
    const author = authors.get(id);
    if (author === undefined) throw new RpcError("not_found", `there is no author ${id}`);
    return author;
  },
});

export const postsRouter = createPostsRouter({
  list: ({ team, limit }) => ({ items: team === "engines" ? posts.slice(0, limit) : [] }),
});
