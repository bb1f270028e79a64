// npm start: sets everything up, serves an example, calls it from a second process and shows the result. Without the QUIC engine it
// does so over TLS.
//   npm start               examples/arith
//   npm start cbor          examples/cbor, a codec of one's own
//   npm start whiteboard    examples/whiteboard, a page for several people
//   npm start cluster       the same on two servers behind HAProxy, with NATS between them
import { buildExamples, fail, run, setup } from "./setup.mjs";

const EXAMPLES = {
  arith: { script: "arith/dist/demo.js" },
  cbor: { script: "cbor/dist/main.js" },
  whiteboard: { script: "whiteboard/dist/main.js", needsEngine: true },
  cluster: { script: "whiteboard/dist/cluster.js", needsEngine: true },
};

const [name = "arith"] = process.argv.slice(2);
if (!Object.hasOwn(EXAMPLES, name)) fail(`there is no example ${name}, only ${Object.keys(EXAMPLES).join(", ")}`);
const { script, needsEngine = false } = EXAMPLES[name];
const engine = await setup({ engineOptional: !needsEngine });
await buildExamples([script.split("/")[0]]);
const { code } = await run([`examples/${script}`], { env: engine ? {} : { LISTEN: "tls://localhost:0" } });
process.exit(code);
