import { execFile, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { devCertificate } from "@quicrpc/node";
import { expect, it, onTestFinished } from "vitest";
import { createOrdersClient, type OrdersHandlers } from "./generated/orders.js";
import { type Accounts, serveShop, signIn, type User } from "./login.js";

const hasCurl = spawnSync("curl", ["--version"]).status === 0;
const users: Record<string, User> = {
  ann: { userId: "ann", role: "clerk", exp: Infinity },
  ben: { userId: "ben", role: "reader", exp: Infinity },
};
const accounts: Accounts = {
  userOf: async (name, password) => (password === "secret" ? users[name] : undefined),
  sign: async ({ userId }) => `token of ${userId}`,
  async verify(token) {
    const user = users[token.replace("token of ", "")];
    if (user === undefined) throw new Error("not a token");
    return user;
  },
};
const cancelled: (string | undefined)[] = [];
const handlers: OrdersHandlers<User | undefined> = {
  async *list() {},
  prices: () => ({ tea: 3 }),
  cancel: (_, { connection }) => void cancelled.push(connection?.userId),
};

it("a role's permissions hold for programs, curl and quicrpc", { timeout: 60_000 }, async () => {
  const certificate = await devCertificate();
  const server = await serveShop({ listen: "https://127.0.0.1:0/rpc", tls: certificate }, accounts, handlers);
  onTestFinished(async () => void (await server.close()));
  const url = server.urls.find((one) => one.startsWith("https:")) ?? "";
  const options = { serverCertificateHashes: [certificate.hash] };
  const as = async (name: string, password = "secret"): Promise<ReturnType<typeof createOrdersClient>> => {
    const connection = await signIn(url, name, password, options);
    onTestFinished(async () => void (await connection.close()));
    return createOrdersClient(connection);
  };
  await (await as("ann")).cancel({ id: "1" });
  await expect((await as("ben")).cancel({ id: "1" })).rejects.toThrow(/orders:write/);
  await expect(as("ann", "guessed")).rejects.toMatchObject({ code: "unauthenticated" });
  expect(cancelled).toEqual(["ann"]);
  if (!hasCurl) return;
  const script = fileURLToPath(new URL("login.sh", import.meta.url));
  // npm links the command of this repository only if it was built before.
  const bin = mkdtempSync(join(tmpdir(), "quicrpc-bin-"));
  onTestFinished(() => rmSync(bin, { recursive: true }));
  const main = fileURLToPath(new URL("../../../packages/cli/dist/main.js", import.meta.url));
  writeFileSync(join(bin, "quicrpc"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  chmodSync(join(bin, "quicrpc"), 0o755);
  const { stdout } = await promisify(execFile)("sh", [script, new URL(url).origin], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    env: { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}` },
  });
  expect(stdout).toMatch(/^\{\}.*shop\.v1\.Orders/s);
  expect(cancelled).toEqual(["ann", "ann", "ann"]);
});

it("ends a session when its token expires", { timeout: 60_000 }, async () => {
  const certificate = await devCertificate();
  const ends = Date.now() + 1000;
  const verify = async (): Promise<User> => {
    if (Date.now() >= ends) throw new Error("the token has expired");
    return { userId: "ann", role: "clerk", exp: ends / 1000 };
  };
  const options = { listen: "https://127.0.0.1:0/rpc", tls: certificate };
  const server = await serveShop(options, { ...accounts, verify }, handlers);
  onTestFinished(async () => void (await server.close()));
  const url = server.urls.find((one) => one.startsWith("https:")) ?? "";
  const connection = await signIn(url, "ann", "secret", { serverCertificateHashes: [certificate.hash] });
  onTestFinished(async () => void (await connection.close()));
  const orders = createOrdersClient(connection);
  const cancel = (): Promise<string> => orders.cancel({ id: "1" }).then(() => "cancelled", String);
  await expect.poll(cancel, { timeout: 30_000 }).toContain("sign in again");
});
