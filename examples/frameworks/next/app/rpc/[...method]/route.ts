import { handler } from "../../../greeter.ts";

const serve = (request: Request): Promise<Response> => handler(request);
export { serve as GET, serve as POST };
