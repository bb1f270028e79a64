// The programs of docs/peers.md, for a test with a NAT in front of each peer: `meeting HOST`, or `peer HOST HASH A B`.
import { devCertificate } from "@quicrpc/node";
import { createArithClient, createArithRouter } from "./generated/arith.js";
import { meet, serveMeetings } from "./peers.js";

const PORT = 4433;
const [role, host = "", hash = "", a, b] = process.argv.slice(2);

if (role === "meeting") {
  const certificate = await devCertificate();
  await serveMeetings({ listen: `quic://${host}:${PORT}`, tls: certificate });
  console.log(Buffer.from(certificate.hash.value).toString("hex"));
} else {
  const arith = createArithRouter({
    multiply: ({ a, b }) => ({ pro: a * b }),
    divide: ({ a, b }) => ({ quo: a / b }),
  });
  const at = { host, port: PORT, hash: Buffer.from(hash, "hex") };
  // #region call
  const session = await meet({ at, room: "garden", routers: [arith], signal: AbortSignal.timeout(30_000) });
  const { pro } = await createArithClient(session).multiply({ a: Number(a), b: Number(b) }); // runs in the other peer
  // #endregion call
  console.log(session.transport.remoteAddress.host, pro);
  process.stdin.resume().on("end", () => void session.close()); // the other peer may still call
}
