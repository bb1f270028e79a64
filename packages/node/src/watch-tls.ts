import { checkOptions, guarded, type OptionNames } from "@quicrpc/core/transport";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ServerCertificateOptions } from "@quicrpc/quic";
import type { Server } from "./server.js";

/** Where a certificate chain and its private key are kept, PEM. */
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
  /** Milliseconds between two looks. Default 10,000. */
  readonly everyMs?: number;
  /** Called when the server has taken new certificates. Default: none. */
  readonly onUpdate?: () => void;
  /**
   * Called once for each state of the files that cannot be used. The server keeps the certificates that it has.
   * Certificate and key may be written one after the other, so two checks in a row have to find the same. Default: a
   * warning of the process.
   */
  readonly onError?: (error: Error) => void;
}

const OPTIONS: OptionNames<WatchTlsOptions> = { everyMs: true, onUpdate: true, onError: true };

type TlsServer = Pick<Server, "updateTls">;

/**
 * Gives a server the certificates of these files now and whenever they change, as after a renewal; sessions that live stay. The
 * files are read again and again rather than watched: that sees symbolic links that change their target, as Kubernetes
 * mounts secrets, and file systems that tell of nothing. Holds no process. Returns what ends it.
 */
export function watchTls(
  server: TlsServer,
  files: CertificateFiles | readonly CertificateFiles[],
  options: WatchTlsOptions = {},
): () => void {
  checkOptions("watchTls()", options, OPTIONS);
  const watch = new CertificateWatch(server, [files].flat(), options);
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  const look = async (): Promise<void> => {
    await watch.look();
    if (!over) timer = setTimeout(() => void look(), options.everyMs ?? 10_000).unref();
  };
  void look();
  return () => {
    over = true;
    watch.stop();
    clearTimeout(timer);
  };
}

/** Watches the two files, and gives the server each new pair that is valid. */
export class CertificateWatch {
  private readonly server: TlsServer;
  private readonly files: readonly CertificateFiles[];
  private readonly options: WatchTlsOptions;
  /** The certificates that the server has, as text. */
  private used: string | undefined = undefined;
  /** Content that the last look could not use. */
  private broken: string | undefined = undefined;
  private told = false;
  private over = false;

  constructor(server: TlsServer, files: readonly CertificateFiles[], options: WatchTlsOptions) {
    this.server = server;
    this.files = files;
    this.options = options;
  }

  stop(): void {
    this.over = true;
  }

  /** Reads the files once. Never rejects. */
  async look(): Promise<void> {
    let found: string | undefined;
    try {
      const tls = await Promise.all(this.files.map(read));
      if (this.over) return;
      found = JSON.stringify(tls);
      if (found !== this.used) {
        for (const [at, { cert }] of tls.entries()) checkDates(cert, this.files[at]?.cert ?? "");
        this.server.updateTls({ tls });
        this.used = found;
        if (this.options.onUpdate !== undefined) guarded(this.options.onUpdate)();
      }
      this.broken = undefined;
    } catch (error) {
      if (!this.over) this.failed(found, error instanceof Error ? error : new Error(String(error)));
    }
  }

  private failed(found: string | undefined, error: Error): void {
    const broken = found ?? error.message;
    if (broken !== this.broken) {
      this.broken = broken;
      this.told = false;
      return;
    }
    if (this.told) return;
    this.told = true;
    const { onError = warn } = this.options;
    const paths = this.files.flatMap(({ cert, key }) => [cert, key]).join(", ");
    const message = `the certificates of ${paths} cannot be used: ${error.message}; the server keeps those that it has`;
    guarded(onError)(new Error(message, { cause: error }));
  }
}

async function read({ cert, key, names }: CertificateFiles): Promise<ServerCertificateOptions & { cert: string }> {
  const [chain, privateKey] = await Promise.all([readFile(cert, "utf8"), readFile(key, "utf8")]);
  return { cert: chain, key: privateKey, ...(names !== undefined && { names }) };
}

/** Clients would refuse what is not valid today. */
function checkDates(cert: string, path: string): void {
  const { validFrom, validTo } = new X509Certificate(cert);
  if (Date.parse(validFrom) > Date.now()) throw new Error(`${path} is valid from ${validFrom} only`);
  if (Date.parse(validTo) < Date.now()) throw new Error(`${path} was valid until ${validTo}`);
}

function warn(error: Error): void {
  process.emitWarning(error.message, { code: "QUICRPC_CERTIFICATE" });
}
