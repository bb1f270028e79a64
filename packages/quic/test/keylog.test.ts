import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { certificate } from "./certificates.js";

test("SSLKEYLOGFILE gets the secrets of both ends", async () => {
  const { cert, key, hash } = await certificate();
  const directory = mkdtempSync(join(tmpdir(), "quicrpc-"));
  const file = join(directory, "keys.log");
  const program = `
    import { connect, Endpoint } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
    const server = Endpoint.bind({ host: "127.0.0.1" });
    server.listen({ alpn: ["x"], tls: ${JSON.stringify({ cert, key })} }, () => {});
    const value = new Uint8Array(${JSON.stringify([...hash])});
    await connect({ host: "127.0.0.1", port: server.address.port, alpn: ["x"],
      tls: { serverCertificateHashes: [{ algorithm: "sha-256", value }] } });
    process.exit();`;
  try {
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      env: { ...process.env, SSLKEYLOGFILE: file },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let errors = "";
    child.stderr.on("data", (text) => (errors += String(text)));
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const labels = lines.map((line) => line.split(" ")[0]);
    expect(labels.filter((label) => label === "CLIENT_TRAFFIC_SECRET_0")).toHaveLength(2);
    expect(labels).toContain("SERVER_HANDSHAKE_TRAFFIC_SECRET");
    // One client random names every line: both ends belong to one session.
    expect(new Set(lines.map((line) => line.split(" ")[1])).size).toBe(1);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
