import type { Caller } from "@quicrpc/core";
import { createBatch } from "@quicrpc/batch";
import { type Author, authorsMethods, type Post, postsMethods } from "./generated/feed.js";

// #region screen
const services = { authors: authorsMethods, posts: postsMethods };

interface Screen {
  readonly me: Author;
  readonly posts: Post[];
  readonly writers: Author[];
}

export async function loadScreen(caller: Caller, id: string): Promise<Screen> {
  const batch = createBatch(caller, services, { timeoutMs: 2000 });
  const author = batch.authors.get({ id }); // nothing is sent yet
  const feed = batch.posts.list({ team: author.team! });
  const each = batch.each(feed.items, (post) => batch.authors.get({ id: post.author }));
  const [me, { items }, writers] = await batch.send(author, feed, each); // one round trip
  return { me, posts: items, writers };
}
// #endregion screen

// #region start
export async function showScreen(caller: Caller, id: string, show: (part: string) => void): Promise<void> {
  const batch = createBatch(caller, services);
  const author = batch.authors.get({ id });
  const feed = batch.posts.list({ team: "engines", limit: 10 });
  const [me, latest] = batch.start(author, feed); // a promise for each
  void me.then(({ name }) => show(name)).catch(() => show("no such author"));
  show(`${(await latest).items.length} posts`);
}
// #endregion start
