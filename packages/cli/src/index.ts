export { type Config, defineConfig } from "@quicrpc/codegen/config";
