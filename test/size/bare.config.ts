import { defineConfig } from "quicrpc";
import full from "./quicrpc.config.js";

/** The same configuration, without explanations of invalid messages. */
export default defineConfig({ ...full, out: "generated/bare", explain: false });
