// Captures sessions of raw QUIC and WebTransport between two endpoints here and has tshark dissect them, decrypted:
// `npm run build && npx tsc -p interop && node interop/capture.mjs`. Needs tcpdump, tshark and the right to capture.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PORT = 44_330;
/** One connection each: with two between the same ports, tshark 4.0 flagged packets, perhaps taking one for the other. */
const NAMES = ["handshake", "uni", "opened", "reset_sent", "stop_sent", "datagrams", "close_received"];

if (process.argv[2] === "sessions") await sessions();
else await capture();

/** In a process of its own, which writes its secrets to SSLKEYLOGFILE. */
async function sessions() {
  const { Endpoint } = await import("@quicrpc/quic");
  const { certificate } = await import("./dist/packages/quic/test/certificates.js");
  const { engineClient } = await import("./dist/interop/src/clients.js");
  const { serve } = await import("./dist/interop/src/server.js");
  const authority = await certificate({ ca: true });
  const leaf = await certificate({ issuer: authority });
  const server = Endpoint.bind({ host: "127.0.0.1", port: PORT });
  serve(server, leaf);
  for (const mode of ["quic", "webtransport"]) {
    await engineClient(PORT, mode, { ca: authority.cert, hash: leaf.hash })(NAMES, (name, outcome) => {
      if (outcome.result !== "ok") throw new Error(`${mode}, ${name}: ${outcome.why}`);
    });
  }
  await server.close();
}

async function capture() {
  const directory = mkdtempSync(join(tmpdir(), "capture-"));
  const [file, keys] = [join(directory, "lo.pcap"), join(directory, "keys.log")];
  try {
    const dump = spawn("tcpdump", ["-i", "lo", "-U", "-s", "0", "-w", file, `udp port ${PORT}`]);
    const ended = new Promise((resolve) => dump.on("close", resolve));
    await new Promise((resolve, reject) => {
      dump.on("error", reject);
      dump.stderr.on("data", (text) => String(text).includes("listening") && resolve());
    });
    execFileSync(process.execPath, [import.meta.filename, "sessions"], {
      env: { ...process.env, SSLKEYLOGFILE: keys },
      stdio: "inherit",
    });
    dump.kill("SIGINT");
    await ended;
    const dissect = (filter) =>
      execFileSync(
        "tshark",
        ["-r", file, "-o", `tls.keylog_file:${keys}`, "-d", `udp.port==${PORT},quic`, "-Y", filter],
        {
          encoding: "utf8",
          maxBuffer: 2 ** 26,
          stdio: ["ignore", "pipe", "ignore"],
        },
      );
    const count = (filter) => dissect(filter).split("\n").length - 1;
    const packets = count("quic");
    const streams = count("quic.stream_data");
    const wrong = dissect('_ws.malformed || _ws.expert.severity == "Error" || quic.decryption_failed');
    console.log(`${packets} packets, ${streams} of them with decrypted streams`);
    console.log(wrong === "" ? "no malformed packet, no error, nothing that was not decrypted" : wrong);
    process.exitCode = wrong === "" && streams > 0 ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
