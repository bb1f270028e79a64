import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { certificate } from "./certificates.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const [quic = "", , webTransport = ""] = Array.from(readme.matchAll(/```js\n(.*?)```/gs), (match) => match[1]);

test.each([
  ["QUIC", quic, "hello over QUIC\n"],
  ["WebTransport", webTransport, "/chat chat.v1\nhello over HTTP/3\n"],
])("the README's example of %s runs", async (_, example, expected) => {
  const { cert, key, hash } = await certificate();
  const program = `
    const tls = ${JSON.stringify({ cert, key })};
    const hash = new Uint8Array(${JSON.stringify([...hash])});
    ${example.replace("@quicrpc/quic", new URL("../dist/index.js", import.meta.url).href)}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program]);
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (out += String(chunk)));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect({ code, out }).toEqual({ code: 0, out: expected });
});
