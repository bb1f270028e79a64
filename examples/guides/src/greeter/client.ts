import { connect, devCertificate } from "@quicrpc/node";
import { createGreeterClient } from "./generated/greeter.js";

const { hash } = await devCertificate();
await using session = await connect("quic://localhost:4433", { serverCertificateHashes: [hash] });
const greeter = createGreeterClient(session);

console.log(await greeter.greet({ name: "Ada" }, { timeoutMs: 500 }));
for await (const { left } of greeter.countdown({ from: 3 })) console.log(left);
