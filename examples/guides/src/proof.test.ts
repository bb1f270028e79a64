import { createProofKeys, prover } from "@quicrpc/core/proof";
import { RpcError } from "@quicrpc/core";
import { connect } from "@quicrpc/node";
import { expect, it, onTestFinished } from "vitest";
import { createOrdersClient, createOrdersRouter } from "./generated/orders.js";
import { connectWithKey, type KeySignIn, type KeyTokens, serveKeys } from "./proof.js";

/** Tokens that say whose they are and which key may use them, as text. */
const signIn: KeySignIn = { tokenFor: async (keyName) => `ann ${keyName}` };
const tokens: KeyTokens = {
  async verify(token = "") {
    const [user, keyName] = token.split(" ");
    if (user === undefined || keyName === undefined) throw new RpcError("unauthenticated", "sign in first");
    return { user, keyName };
  },
};

const routers = [
  createOrdersRouter<string>({
    async *list(_, { connection }) {
      yield { id: "1", item: connection };
    },
    prices: () => ({ tea: 3 }),
    cancel() {},
  }),
];

/** Closed when the test is over, the last first. */
function kept<One extends { close(): unknown }>(one: One): One {
  onTestFinished(async () => void (await one.close()));
  return one;
}

it("a token that names a key is of use to who has the key, and to nobody else", async () => {
  const server = kept(await serveKeys({ listen: "tcp://127.0.0.1:0", tls: [], routers }, tokens));
  const url = server.urls[0] ?? "";
  let stolen = "";
  const spied: KeySignIn = { tokenFor: async (keyName) => (stolen = await signIn.tokenFor(keyName)) };
  const connection = kept(await connectWithKey(url, spied));
  const items: string[] = [];
  for await (const { item } of createOrdersClient(connection).list()) items.push(item);
  expect(items).toEqual(["ann"]);
  const proof = prover(await createProofKeys());
  for (const options of [{ credentials: stolen }, { credentials: stolen, advanced: { proof } }]) {
    await expect(connect(url, options)).rejects.toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining("another key"),
    });
  }
});
