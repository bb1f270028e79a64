// The generator as a library: see packages/codegen/README.md.
import { generate, writeGenerated } from "@quicrpc/codegen";

export async function generateArith(): Promise<readonly string[]> {
  // #region generate
  const { files, diagnostics } = await generate({ files: ["src/arith.service.ts"], out: "src/generated" });
  for (const { file, line, column, message, help } of diagnostics) {
    console.error(`${file}:${line}:${column} ${message} ${help}`);
  }
  writeGenerated(files); // only those that changed
  // #endregion generate
  return files.map(({ path }) => path);
}
