import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { devCertificate } from "@quicrpc/node";

/** Paths of the PEM files that every contestant uses. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate for localhost, in files that are deleted when this process ends. */
export async function temporaryCertificate(): Promise<CertificateFiles> {
  const directory = mkdtempSync(join(tmpdir(), "quicrpc-bench-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const { cert, key } = await devCertificate();
  const paths = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
  writeFileSync(paths.cert, cert);
  writeFileSync(paths.key, key, { mode: 0o600 });
  return paths;
}
