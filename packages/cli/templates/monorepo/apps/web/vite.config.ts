import { quicrpc } from "@quicrpc/vite";
import { defineConfig } from "vite";

// `quicrpc dev` generates; the plugin hands the page the development certificate's hash.
export default defineConfig({ plugins: [quicrpc({ generate: false })] });
