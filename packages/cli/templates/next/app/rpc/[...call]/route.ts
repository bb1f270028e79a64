import { createFetchHandler } from "@quicrpc/http";
import { greeter } from "../../../src/greeter";

const handler = createFetchHandler({ routers: [greeter], prefix: "/rpc" });
const serve = (request: Request): Promise<Response> => handler(request);

export { serve as GET, serve as POST };
