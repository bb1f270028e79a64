import { authorize, createSession, interceptRouter, type Metadata, type Session } from "@quicrpc/core";
import { createBatch, createBatches } from "@quicrpc/batch";
import { createMemoryPair } from "@quicrpc/core/transport";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { postsMethods, screenRouters, type Seen, usersMethods } from "../../packages/batch/test/screen.js";
import { type Pair, kinds } from "./kinds.js";
import { failure } from "./tools.js";

const services = { users: usersMethods, posts: postsMethods };

describe.each(kinds)("batches: $name", (kind) => {
  describe.each(kind.carriers ?? (["lane", "stream"] as const))("by %s", (via) => {
    let pair: Pair;
    let seen: Seen;
    beforeEach(async () => {
      seen = { calls: [], aborted: [], running: 0, mostRunning: 0 };
      const scopesOf = ({ metadata }: { metadata: Metadata }): string[] => metadata.get("scopes")?.split(" ") ?? [];
      const routers = [...screenRouters(seen), createBatches()];
      pair = await kind.connect(
        {},
        { server: { routers: routers.map((router) => interceptRouter(router, [authorize({ scopesOf })])) } },
      );
    });
    afterEach(() => pair.close());
    const batchOf = (metadata: Record<string, string> = {}, signal?: AbortSignal) =>
      createBatch(pair.client, services, { via, metadata, ...(signal && { signal }) });

    it("five steps that depend on one another, with fifty elements", async () => {
      const batch = batchOf();
      const user = batch.users.get({ id: "ada" });
      const boss = batch.users.get({ id: user.tags[0]! });
      const posts = batch.posts.list({ author: boss.id, limit: 50 });
      const authors = batch.each(posts.items, (post) => batch.users.get({ id: post.author }));
      const counts = batch.each(authors, ({ name }) => batch.posts.count(name));
      const [first, last] = await batch.send(user, counts);
      expect(first).toMatchObject({ id: "ada", born: new Date("1815-12-10"), karma: 2n ** 60n });
      expect(last).toHaveLength(50);
      expect(last[49]).toEqual({ id: "user ada49", n: 10 });
      expect(seen.calls).toHaveLength(103);
    });

    it("each call has the metadata of the batch, and is permitted or not by itself", async () => {
      const calls = (metadata?: Record<string, string>) => {
        const batch = batchOf(metadata);
        return batch.start(batch.users.secret(), batch.users.get({ id: "ada" }));
      };
      const [refused, user] = calls();
      expect(await failure(refused)).toMatchObject({ code: "permission_denied" });
      expect((await user).id).toBe("ada");
      expect(await calls({ scopes: "admin" })[0]).toBe("the secret");
    });

    it("a failure with its details, and what depends on it", async () => {
      const batch = batchOf();
      const user = batch.users.get({ id: "nobody" });
      const [missing, posts] = batch.start(user, batch.posts.list({ author: user.id }));
      expect(await failure(missing)).toMatchObject({ reason: "NO_SUCH_USER", details: { id: "nobody" } });
      expect(await failure(posts)).toMatchObject({ code: "failed_precondition", method: "screen.v1.Posts/list" });
    });

    it("cancelling it cancels the calls in progress", async () => {
      const stop = new AbortController();
      const batch = batchOf({}, stop.signal);
      const [waited] = batch.start(batch.users.wait());
      await expect.poll(() => seen.calls).toEqual(["wait"]);
      stop.abort();
      expect(await failure(waited)).toMatchObject({ code: "cancelled" });
      await expect.poll(() => seen.aborted).toEqual(["cancelled"]);
    });
  });
});

it("releases the memory of a batch when it is over", async () => {
  const [ours, theirs] = createMemoryPair();
  const served: Session = createSession(theirs, {
    routers: [...screenRouters(), createBatches()],
    limits: { maxSessionBytes: 600_000 },
  });
  const session = createSession(ours);
  const once = async (): Promise<unknown> => {
    const batch = createBatch(session, services);
    const text = batch.users.echo("x".repeat(50_000));
    const list = batch.posts.list({ author: "ada" });
    return batch.send(
      text,
      batch.each(list.items, () => batch.users.echo(text)),
    );
  };
  for (let i = 0; i < 20; i++) expect(await once()).toHaveLength(2);
  const batch = createBatch(session, services);
  const text = batch.users.echo("x".repeat(200_000));
  const more = batch.users.echo([text, text]);
  expect(await failure(batch.send(text, more))).toMatchObject({ code: "resource_exhausted" });
  expect(await once()).toHaveLength(2);
  await session.close();
  await served.close();
});
