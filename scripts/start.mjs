// npm start: sets everything up, serves an example, calls it from a second process and shows the result. Without the QUIC engine it
// does so over TLS.
//   npm start               examples/arith
//   npm run start:cbor      examples/cbor, a codec of one's own
//   npm run example:whiteboard   examples/whiteboard, a page for several people
//   npm run example:cluster      the same on two servers behind HAProxy, with NATS between them
import { buildExamples, run, setup } from "./setup.mjs";

const [script = "arith/dist/demo.js", scheme = "tls"] = process.argv.slice(2);
const engine = await setup({ engineOptional: scheme !== "https" });
await buildExamples([script.split("/")[0]]);
const { code } = await run([`examples/${script}`], { env: engine ? {} : { LISTEN: "tls://localhost:0" } });
process.exit(code);
