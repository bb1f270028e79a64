// Deno: deno run --allow-net --allow-env --allow-read src/deno.ts
import { handler } from "./greeter.js";

declare const Deno: {
  serve(
    options: { port: number; hostname: string; onListen(address: { readonly port: number }): void },
    handler: (request: Request) => Promise<Response>,
  ): void;
};

const onListen = ({ port }: { readonly port: number }): void => console.log(`http://127.0.0.1:${port}`);
Deno.serve({ port: 0, hostname: "127.0.0.1", onListen }, (request) => handler(request));
