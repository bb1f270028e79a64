import { quicrpc } from "@quicrpc/vite";
import { defineConfig } from "vitest/config";

// `quicrpc dev` generates; the plugin hands the page the development certificate's hash.
export default defineConfig({
  root: "src/page",
  build: { outDir: "../../dist/site" },
  plugins: [quicrpc({ generate: false })],
  test: { root: "." },
});
