import { defineConfig } from "quicrpc";
import full from "./quicrpc.config.js";

/** The same, without explanations of what does not fit. */
export default defineConfig({ ...full, out: "generated/bare", explain: false });
