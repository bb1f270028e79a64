// A client that closes its connection when its parent says so, and then has nothing left to do. See vanished.test.ts.
import { once } from "node:events";
import { connect } from "@quicrpc/node";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";

const [url, hash] = process.argv.slice(2);
const service = { name: "test.v1.Restarted", id: 7101 };
const pid = defineMethod(service, "unary", "pid", { id: 1, output: uncheckedCodec() });
const connection = await connect(url, {
  serverCertificateHashes: [{ algorithm: "sha-256", value: Buffer.from(hash, "hex") }],
});
await connection.unary(pid, undefined);
process.send("connected");
await once(process, "message");
process.disconnect();
await connection.close();
