import { createRouter, defineMethod } from "@quicrpc/core/generated";
import { HTTP_SERVICE } from "../protocol/ping.js";
import type { Bound } from "./routes.js";

const { methods } = createRouter({ ping: defineMethod(HTTP_SERVICE, "unary", "ping", { id: 1 }) }, { ping: () => {} });

/** Methods that are served in addition to the application's methods, without interceptors. */
export const OWN_METHODS: readonly Bound<unknown>[] = methods;
