// Cloudflare Workers: wrangler dev src/worker.ts
import { handler } from "./greeter.js";

export default { fetch: (request: Request): Promise<Response> => handler(request) };
