// The network of `quicrpc dev`.
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { useProject } from "./project.js";

const { run, start, write } = useProject();

const SERVER = (listen: string): string => `import { devCertificate, serve } from "@quicrpc/node";
import { createHealth, createReflection } from "@quicrpc/services";
const { router } = createHealth();
await serve({ listen: ${listen}, tls: await devCertificate(), allowedOrigins: [], advanced: { engine: "optional" }, webSocket: true, routers: [router, createReflection([router])] });
`;

function project(listen: string): void {
  write("src/server.mjs", SERVER(listen));
  write(
    "src/a.service.ts",
    `import { rpc, service } from "@quicrpc/core";\nexport const A = service("a.v1.A", { x: rpc() });\n`,
  );
}

test("a port of the network that is taken ends it, and the error says what to do", async () => {
  project("`tls://127.0.0.1:${process.env.PORT}`");
  const taken = createServer();
  onTestFinished(() => void taken.close());
  const port = await freePort();
  await once(taken.listen(port, "127.0.0.1"), "listening");
  expect(await run(["dev", "--no-studio", "--port", String(port), "--network", "rtt=2"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`the network cannot listen on port ${port}, which is in use: stop the process`),
  });
});

test("the studio takes a way that the network does not block", async () => {
  project("`https://127.0.0.1:${process.env.PORT}/rpc`");
  const port = await freePort();
  const dev = start(["dev", "--json", "--port", String(port), "--network", "no-udp"]);
  onTestFinished(async () => void (await dev.stop()));
  expect(await dev.says('"event":"studio"')).toContain("wss://127.0.0.1");
  expect(await dev.says("}")).toContain('"url":"http://127.0.0.1:');
});
