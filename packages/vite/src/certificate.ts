/** The module that a page imports. */
export const VIRTUAL = "virtual:quicrpc";

/** Returns the text of that module. The certificate is the one that a server on this machine gets from `devCertificate` with the same options. */
export async function certificateModule(isDevelopment: boolean, options: CertificateOptions): Promise<string> {
  if (!isDevelopment) return "export const serverCertificateHashes = [];\n";
  const { devCertificate } = await import("@quicrpc/node");
  const { hash } = await devCertificate(options);
  const value = `Uint8Array.of(${hash.value.join(", ")})`;
  return `export const serverCertificateHashes = [{ algorithm: "sha-256", value: ${value} }];\n`;
}

/** Options of `devCertificate`, as the server gives them. */
export interface CertificateOptions {
  /** Host names and addresses. Default: localhost, 127.0.0.1 and ::1. */
  readonly hosts?: readonly string[];
  /** Where it is kept. Default: the user's cache folder. */
  readonly directory?: string;
}
