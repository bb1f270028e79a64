import { createLocalCaller, interceptRouter } from "@quicrpc/core";
import { expect, it } from "vitest";
import { createNotesClient, createNotesRouter } from "./generated/notes.js";
import { createNotes } from "./notes.js";
import { ratePerUser } from "./rate.js";

it("refuses a user's calls beyond the rate, and nobody else's", async () => {
  const router = interceptRouter(createNotesRouter(createNotes()), [ratePerUser]);
  const callsOf = (user: string, count: number): Promise<PromiseSettledResult<unknown>[]> => {
    const notes = createNotesClient(createLocalCaller([router], { connection: user, onError: () => {} }));
    return Promise.allSettled(Array.from({ length: count }, () => notes.list({})));
  };
  const many = await callsOf("alice", 1000);
  expect(many.filter(({ status }) => status === "rejected")).toContainEqual({
    status: "rejected",
    reason: expect.objectContaining({ code: "resource_exhausted" }),
  });
  expect(await callsOf("bob", 1)).toMatchObject([{ status: "fulfilled" }]);
});
