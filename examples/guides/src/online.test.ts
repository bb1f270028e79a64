import { expect, it, onTestFinished, vi } from "vitest";
import { connectOnline, serveOnline } from "./online.js";

it("a server calls one user's clients, and ends their sessions", async () => {
  const signedIn = new Map([
    ["ann's", "ann"],
    ["bob's", "bob"],
  ]);
  const online = await serveOnline({ listen: "tcp://127.0.0.1:0" }, [], (token = "") => signedIn.get(token));
  const { server } = online;
  onTestFinished(async () => void (await server.close()));
  const shown: string[] = [];
  const open = async (name: string, device: string): Promise<void> => {
    const connection = await connectOnline(
      server.urls[0] ?? "",
      () => `${name}'s`,
      (text) => shown.push(`${device}: ${text}`),
    );
    onTestFinished(async () => void (await connection.close()));
  };
  await open("ann", "ann's phone");
  await open("ann", "ann's desk");
  await open("bob", "bob's phone");
  await vi.waitUntil(() => server.sessions.size === 3);
  await online.tell("ann", "tea is ready");
  await vi.waitUntil(() => shown.length === 2);
  expect(shown.toSorted()).toEqual(["ann's desk: tea is ready", "ann's phone: tea is ready"]);

  signedIn.delete("ann's");
  await online.remove("ann");
  await vi.waitUntil(() => server.sessions.size === 1);
  await online.tell("bob", "tea is ready");
  await vi.waitUntil(() => shown.includes("bob's phone: tea is ready"));
});
