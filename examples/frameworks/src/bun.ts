// Bun: bun src/bun.ts
import { handler } from "./greeter.js";

declare const Bun: {
  serve(options: { port: number; fetch(request: Request): Promise<Response> }): { readonly port: number };
};

const { port } = Bun.serve({ port: 0, fetch: (request) => handler(request) });
console.log(`http://127.0.0.1:${port}`);
