export { quicrpc, type QuicrpcOptions } from "./plugin.js";
