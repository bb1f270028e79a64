// A server with a model for tests: it writes a word for each line of the input.
import { createInterface } from "node:readline";
import { RpcError } from "@quicrpc/core";
import { devCertificate, serve } from "@quicrpc/node";
import { MockLanguageModelV3 } from "ai/test";
import { answersIn } from "./assistant.js";
import { createAssistantRouter } from "./generated/assistant.js";

const [url = "", folder = "", ...words] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const model = new MockLanguageModelV3({
  async doStream({ prompt }) {
    const { role, content } = prompt.at(-1) ?? {};
    const said =
      role === "assistant" && Array.isArray(content)
        ? content.map((part) => ("text" in part ? part.text : "")).join("")
        : "";
    const rest = words.slice(said.split(" ").length - 1);
    const noTokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
    return {
      stream: new ReadableStream({
        async start(out) {
          out.enqueue({ type: "text-start", id: "0" });
          for (const word of rest) {
            await lines.next();
            out.enqueue({ type: "text-delta", id: "0", delta: `${word} ` });
          }
          out.enqueue({ type: "text-end", id: "0" });
          const usage = { inputTokens: noTokens, outputTokens: { total: 0, text: 0, reasoning: 0 } };
          out.enqueue({ type: "finish", finishReason: { unified: "stop", raw: undefined }, usage });
          out.close();
        },
      }),
    };
  },
});

const router = createAssistantRouter(answersIn(folder, model));
await serve({
  listen: url,
  tls: await devCertificate(),
  routers: [router],
  async authenticate({ credentials }) {
    const user = await credentials;
    if (user === undefined) throw new RpcError("unauthenticated", "sign in first");
    return user; // without a check, for tests
  },
});
console.log("ready");
