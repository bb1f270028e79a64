// Compiled under the settings of users' projects, never run: what a build imports.
import * as codegen from "@quicrpc/codegen";
import * as cli from "quicrpc";

export { codegen };
export default cli.defineConfig({ include: "*.service.ts" });
