import { notHere } from "./vitest.js";

/** Stands for Node's modules and `process` in the page: a test that asks them skips. */
const none = (): never => notHere("it asks Node itself");

export const getEventListeners = none;
export const randomBytes = none;
export const process = { env: {}, getActiveResourcesInfo: none };
