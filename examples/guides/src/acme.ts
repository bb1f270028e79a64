import { readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { X509Certificate } from "node:crypto";
import { Client, crypto, directory } from "acme-client";
import type { Router } from "@quicrpc/core";
import { serve, type Server, watchTls } from "@quicrpc/node";

// #region order
/** Files of the certificate and the account, and the name that the certificate is for. */
export interface AcmeOptions {
  readonly directoryUrl: string; // such as directory.letsencrypt.production of acme-client
  readonly name: string;
  readonly email: string;
  readonly files: { readonly cert: string; readonly key: string; readonly account: string };
  readonly challengePort?: number;
}

/** Orders a certificate, and proves over HTTP that the name leads to this server (HTTP-01). */
async function order({ directoryUrl, name, email, files, challengePort = 80 }: AcmeOptions): Promise<void> {
  const accountKey = await readFile(files.account).catch(() => crypto.createPrivateEcdsaKey());
  await writeFile(files.account, accountKey, { mode: 0o600 });
  const answers = new Map<string, string>();
  const web = createServer(({ url = "" }, response) => {
    const answer = answers.get(url.replace("/.well-known/acme-challenge/", ""));
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  await new Promise<void>((resolve, reject) => web.once("error", reject).listen(challengePort, resolve));
  try {
    const [key, request] = await crypto.createCsr({ commonName: name, altNames: [name] });
    const cert = await new Client({ directoryUrl, accountKey }).auto({
      csr: request,
      email,
      termsOfServiceAgreed: true,
      skipChallengeVerification: true, // the authority looks from outside, where this machine may not reach itself
      challengePriority: ["http-01"],
      challengeCreateFn: async (_, { token }, proof) => void answers.set(token, proof),
      challengeRemoveFn: async (_, { token }) => void answers.delete(token),
    });
    await replace(files.key, key, 0o600);
    await replace(files.cert, cert, 0o644);
  } finally {
    web.close();
  }
}

/** Replaces a file atomically, so that readers never see a part of it. */
async function replace(file: string, content: string | Buffer, mode: number): Promise<void> {
  await writeFile(`${file}.new`, content, { mode });
  await rename(`${file}.new`, file);
}
// #endregion order

// #region keep
/** Orders a certificate if there is none, or if less than a third of its lifetime is left. Returns whether it did. */
export async function renewCertificate(options: AcmeOptions, now = Date.now()): Promise<boolean> {
  const cert = await readFile(options.files.cert).catch(() => undefined);
  if (cert !== undefined) {
    const { validFrom, validTo } = new X509Certificate(cert);
    const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
    if (now < to - (to - from) / 3) return false;
  }
  await order(options);
  return true;
}
// #endregion keep

export async function serveRenewing(routers: readonly Router[], report: (error: unknown) => void): Promise<Server> {
  // #region serve
  const options = {
    directoryUrl: directory.letsencrypt.production, // "staging" to try
    name: "orders.example",
    email: "ops@orders.example",
    files: { cert: "/etc/tls/tls.crt", key: "/etc/tls/tls.key", account: "/etc/tls/account.key" },
  };
  await renewCertificate(options);
  const tls = { cert: await readFile(options.files.cert), key: await readFile(options.files.key) };
  const server = await serve({ port: 4433, tls, routers });
  watchTls(server, options.files);
  setInterval(() => void renewCertificate(options).catch(report), 12 * 3_600_000).unref();
  // #endregion serve
  return server;
}
