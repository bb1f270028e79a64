// Compiled where `require` of an ES module is understood, never run: CommonJS that loads what is published.
import core = require("@quicrpc/core");
import node = require("@quicrpc/node");

export async function later(stream: core.ItemStream<number>): Promise<void> {
  for await (const item of stream) {
    const exact: number = item;
    // @ts-expect-error -- items are typed
    const wrong: string = item;
    void [exact, wrong];
  }
  await (await node.serve({ port: 0, tls: await node.devCertificate(), routers: [] })).close();
}
