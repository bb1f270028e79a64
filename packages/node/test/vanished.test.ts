// Clients whose server vanished without a word, in processes of their own.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { devCertificate } from "@quicrpc/node";
import { expect, it } from "vitest";
import { ServerProcess } from "./restarted-server.js";

const PROGRAM: string = fileURLToPath(new URL("./vanished-client.program.mjs", import.meta.url));

it.each(["quic", "https", "tls", "wss"])(
  "a client of %s:// does not outlive its close() when the server has vanished",
  async (scheme) => {
    const { cert, key, hash } = await devCertificate();
    const server = await ServerProcess.start({ url: `${scheme}://127.0.0.1`, tls: { cert, key } });
    const url = `${scheme}://127.0.0.1:${server.port}/`;
    const client = fork(PROGRAM, [url, Buffer.from(hash.value).toString("hex")]);
    try {
      expect(await once(client, "message")).toContain("connected");
      // It answers nothing any more, and no port is closed: nobody tells the client.
      server.stop();
      const since = performance.now();
      client.send("close");
      expect(await once(client, "exit")).toEqual([0, null]);
      // Less than the idle timeout, also where the machine has other work.
      expect(performance.now() - since).toBeLessThan(10_000);
    } finally {
      client.kill("SIGKILL");
      await server.end("SIGKILL");
    }
  },
);
