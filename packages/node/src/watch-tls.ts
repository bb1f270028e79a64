import { asError, checkOptions, guarded, type OptionNames } from "@quicrpc/core/internal";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ServerCertificateOptions } from "@quicrpc/quic";
import type { Server } from "./server.js";

/** Paths of a certificate chain and its private key, both PEM. */
export interface CertificateFiles {
  /** Path of the certificate chain: the leaf first, then intermediates. */
  readonly cert: string;
  /** Path of the private key. */
  readonly key: string;
  /** Names that the certificate is for, as `ServerCertificateOptions.names`. */
  readonly names?: string[];
}

/** Options of `watchTls`. */
export interface WatchTlsOptions {
  /** Interval of the checks in milliseconds. Default 10,000. */
  readonly everyMs?: number;
  /** Called when the server uses new certificates. Default: none. */
  readonly onUpdate?: () => void;
  /**
   * Called once for each state of the files that cannot be used. The server keeps its current certificates. Because
   * certificate and key may be written one after the other, two consecutive checks must find the same state. Default: a
   * process warning.
   */
  readonly onError?: (error: Error) => void;
}

const OPTIONS: OptionNames<WatchTlsOptions> = { everyMs: true, onUpdate: true, onError: true };

type TlsServer = Pick<Server, "updateTls">;

/**
 * Passes the certificates in these files to a server now and whenever they change, for example after a renewal.
 * Existing sessions continue. The files are read periodically instead of watched, so that it also works with symbolic
 * links whose target changes, as for Kubernetes secrets, and with file systems without notifications. It does not keep
 * the process alive. Returns a function that stops it.
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

/** Checks the two files, and passes each new valid pair to the server. */
export class CertificateWatch {
  private readonly server: TlsServer;
  private readonly files: readonly CertificateFiles[];
  private readonly options: WatchTlsOptions;
  /** Certificates in use, as text. */
  private used: string | undefined = undefined;
  /** Content that the last check could not use. */
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

  /** Reads the files once. Never rejects. */
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

/** Throws for a certificate that is not valid today, which clients would refuse. */
function checkDates(cert: string, path: string): void {
  const { validFrom, validTo } = new X509Certificate(cert);
  if (Date.parse(validFrom) > Date.now()) throw new Error(`${path} is valid from ${validFrom} only`);
  if (Date.parse(validTo) < Date.now()) throw new Error(`${path} was valid until ${validTo}`);
}

function warn(error: Error): void {
  process.emitWarning(error.message, { code: "QUICRPC_CERTIFICATE" });
}
