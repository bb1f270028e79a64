import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { connect, connectPool, devCertificate, dial, serve, activeHandles } from "@quicrpc/node";
import { expect, it } from "vitest";

const folder = fileURLToPath(new URL(".", import.meta.url));

it("what is open is listed until it is closed, what heals once", async () => {
  const tls = await devCertificate();
  const trust = { serverCertificateHashes: [tls.hash] };
  const server = await serve({ listen: ["tls://127.0.0.1:0"], tls, routers: [] });
  const [url = ""] = server.urls;
  const opened = [await dial(url, trust), await connect(url, trust), await connectPool([url], trust)];
  const listed = () => activeHandles().map(({ what, target }) => `${what} ${target}`);
  expect(listed()).toEqual([`server ${url}`, `session ${url}`, `connection ${url}`, `pool ${url}`]);
  for (const one of opened) await one.close();
  expect(listed()).toEqual([`server ${url}`]);
  await server.close();
  expect(listed()).toEqual([]);
});

it("QUICRPC_DEBUG=open says where a process opened what holds it", { timeout: 30_000 }, async () => {
  const program = `
    import { devCertificate, serve } from "@quicrpc/node";
    await serve({ listen: ["tls://127.0.0.1:0"], tls: await devCertificate(), routers: [] });
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: folder,
    env: { ...process.env, QUICRPC_DEBUG: "open" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  for await (const chunk of child.stderr) {
    text += String(chunk);
    if (text.includes("opened at")) break;
  }
  child.kill("SIGKILL");
  expect(text).toMatch(
    /still open, until close\(\) is called:\n {2}server tls:\/\/127\.0\.0\.1:\d+, for \d+ s, opened at \S*\[eval1\]:3:/,
  );
});
