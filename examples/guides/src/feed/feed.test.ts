import { createLocalCaller } from "@quicrpc/core";
import { createBatches } from "@quicrpc/batch";
import type { BatchStep } from "@quicrpc/services";
import { expect, it } from "vitest";
import { postsRouter, authorsRouter } from "./routers.js";
import { loadScreen, showScreen } from "./screen.js";
import { timedScreen } from "./timed-screen.js";

const calls: string[] = [];
const caller = createLocalCaller([authorsRouter, postsRouter, createBatches()], {
  interceptors: [(call, next) => (calls.push(call.method.name), next(call))],
});

it("loads a screen by one call", async () => {
  const { me, posts, writers } = await loadScreen(caller, "ada");
  expect(me).toEqual({ id: "ada", name: "Ada", team: "engines" });
  expect(posts.map(({ id }) => id)).toEqual(["p1", "p2"]);
  expect(writers.map(({ name }) => name)).toEqual(["Charles", "Ada"]);
  expect(calls).toEqual(["get", "list", "get", "get"]);
});

it("fails without the field that another call needs", async () => {
  await expect(loadScreen(caller, "guest")).rejects.toMatchObject({
    code: "invalid_argument",
    method: "feed.v1.Posts/list",
  });
});

it("shows parts as they arrive", async () => {
  const shown: string[] = [];
  await showScreen(caller, "ada", (part) => void shown.push(part));
  expect(shown.toSorted()).toEqual(["2 posts", "Ada"]);
});

it("reports the steps of a batch", async () => {
  const routers = [authorsRouter, postsRouter, createBatches({ timings: true })];
  const steps = await new Promise<readonly BatchStep[]>((resolve, reject) => {
    timedScreen(createLocalCaller(routers), "ada", resolve).catch(reject);
  });
  const times = { fromMs: expect.any(Number), ms: expect.any(Number), result: "ok" };
  expect(steps).toEqual([
    { method: "feed.v1.Authors/get", needs: [], elements: undefined, ...times },
    { method: "feed.v1.Posts/list", needs: [0], elements: undefined, ...times },
    { method: "feed.v1.Authors/get", needs: [1], elements: 2, ...times },
  ]);
});
