import { devCertificate, drainOnSignal, serve } from "@quicrpc/node";
import { createGreeterRouter } from "./generated/greeter.js";

const greeter = createGreeterRouter({
  greet: ({ name }) => ({ text: `Hello, ${name}!` }),
  async *countdown({ from }) {
    for (let left = from; left >= 0; left--) yield { left };
  },
});
const server = await serve({ port: 4433, tls: await devCertificate(), routers: [greeter] });
console.log("listening on", server.urls.join(", "));
drainOnSignal(server); // Ctrl-C and SIGTERM let calls in progress finish
