import { createLocalCaller } from "@quicrpc/core";
import { createBatches } from "@quicrpc/batch";
import { expect, it } from "vitest";
import { postsRouter, authorsRouter } from "./routers.js";
import { loadScreen, showScreen } from "./screen.js";

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
