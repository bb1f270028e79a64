import { asError, checkOptions, guarded, type OptionNames } from "@quicrpc/core/internal";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ServerCertificateOptions } from "@quicrpc/quic";
import type { Server } from "./server.js";

/** Paths of a certificate chain and its private key, both in PEM. */
export interface CertificateFiles {
  /** Path of the certificate chain: the server's certificate first, then intermediate certificates. */
  readonly cert: string;
  /** Path of the private key. */
  readonly key: string;
  /** Server names for which the certificate is used, as in `ServerCertificateOptions.names`. */
  readonly names?: string[];
}

/** Options of `watchTls`. */
export interface WatchTlsOptions {
  /** Interval in milliseconds at which the files are read. Default 10,000. */
  readonly everyMs?: number;
  /** Called when the server has started to use new certificates. Default: none. */
  readonly onUpdate?: () => void;
  /**
   * Called when the files cannot be used, once for each content of the files. The server keeps its current
   * certificates. Certificate and key may be written one after the other, so two consecutive checks must find the same
   * content. Default: a process warning.
   */
  readonly onError?: (error: Error) => void;
}

const OPTIONS: OptionNames<WatchTlsOptions> = { everyMs: true, onUpdate: true, onError: true };

type TlsServer = Pick<Server, "updateTls">;

/**
 * Passes certificate files to a server now and whenever the files change, for example after a renewal. Existing
 * sessions continue. The files are read at intervals, which also works with symbolic links whose target changes
 * (Kubernetes secrets) and with file systems without change notifications. The timer does not keep the process running.
 * Returns a function that stops the checks.
 */
export function watchTls(
  server: TlsServer,
  files: CertificateFiles | readonly CertificateFiles[],
  options: WatchTlsOptions = {},
): () => void {
  checkOptions("watchTls()", options, OPTIONS);
  const watch = new CertificateWatch(server, [files].flat(), options);
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const check = async (): Promise<void> => {
    await watch.check();
    if (!isOver) timer = setTimeout(() => void check(), options.everyMs ?? 10_000).unref();
  };
  void check();
  return () => {
    isOver = true;
    watch.stop();
    clearTimeout(timer);
  };
}

/** Checks certificate files at intervals, and passes each new valid pair of certificate and key to the server. */
export class CertificateWatch {
  private readonly server: TlsServer;
  private readonly files: readonly CertificateFiles[];
  private readonly options: WatchTlsOptions;
  /** Contents of the certificate files that the server uses, as JSON. */
  private used: string | undefined = undefined;
  /**
   * Contents of the certificate files in the last check as JSON, or its error message, if the server could not use
   * them.
   */
  private broken: string | undefined = undefined;
  private reported = false;
  private isOver = false;

  constructor(server: TlsServer, files: readonly CertificateFiles[], options: WatchTlsOptions) {
    this.server = server;
    this.files = files;
    this.options = options;
  }

  stop(): void {
    this.isOver = true;
  }

  /** Reads the certificate files once and updates the server if they have changed. Never rejects. */
  async check(): Promise<void> {
    let content: string | undefined;
    try {
      // One after the other, so that the same missing file is named each time.
      const tls: Awaited<ReturnType<typeof read>>[] = [];
      for (const file of this.files) tls.push(await read(file));
      if (this.isOver) return;
      content = JSON.stringify(tls);
      if (content !== this.used) {
        for (const [at, { cert }] of tls.entries()) checkDates(cert, this.files[at]?.cert ?? "");
        this.server.updateTls({ tls });
        this.used = content;
        if (this.options.onUpdate !== undefined) guarded(this.options.onUpdate)();
      }
      this.broken = undefined;
    } catch (error) {
      if (!this.isOver) this.failed(content, asError(error));
    }
  }

  private failed(content: string | undefined, error: Error): void {
    const broken = content ?? error.message;
    if (broken !== this.broken) {
      this.broken = broken;
      this.reported = false;
      return;
    }
    if (this.reported) return;
    this.reported = true;
    const { onError = warn } = this.options;
    const paths = this.files.flatMap(({ cert, key }) => [cert, key]).join(", ");
    const message = `the certificates of ${paths} cannot be used: ${error.message}; the server keeps its current ones`;
    guarded(onError)(new Error(message, { cause: error }));
  }
}

async function read({ cert, key, names }: CertificateFiles): Promise<ServerCertificateOptions & { cert: string }> {
  const chain = await readFile(cert, "utf8");
  const privateKey = await readFile(key, "utf8");
  return { cert: chain, key: privateKey, ...(names !== undefined && { names }) };
}

/** Throws if a certificate is not valid today, because clients would refuse it. */
function checkDates(cert: string, path: string): void {
  const { validFrom, validTo } = new X509Certificate(cert);
  if (Date.parse(validFrom) > Date.now()) throw new Error(`${path} is valid from ${validFrom} only`);
  if (Date.parse(validTo) < Date.now()) throw new Error(`${path} was valid until ${validTo}`);
}

function warn(error: Error): void {
  process.emitWarning(error.message, { code: "QUICRPC_CERTIFICATE" });
}
