import { connect, devCertificate } from "@quicrpc/node";
import { createGreeterClient } from "./generated/greeter.js";

const { hash } = await devCertificate();
await using connection = await connect(`https://localhost:${process.env["PORT"] ?? "4433"}/rpc`, {
  serverCertificateHashes: [hash],
});
const greeter = createGreeterClient(connection);

console.log(await greeter.greet({ name: "Ada" }, { timeoutMs: 5000 }));
for await (const { left } of greeter.countdown({ from: 3 })) console.log(left);
