import type { CloseInfo } from "@quicrpc/core/transport";
import { isMissingEngine, transportError } from "../transport/failure.js";
import { requireListenable } from "../transport/refuse.js";
import type { GroupShare } from "../workers/worker.js";
import { isOverUdp, isPassed, type ProvidedTarget, urlOf } from "./listen.js";
import type { IncomingSession, Listener, ListenSettings, TlsUpdate } from "./listener.js";
import { notifyReady } from "./systemd.js";

export class Listeners {
  private settings: ListenSettings;
  private readonly share: GroupShare | undefined;
  private readonly onIncoming: (incoming: IncomingSession) => void;
  private readonly open: Listener[] = [];

  constructor(
    settings: ListenSettings,
    share: GroupShare | undefined,
    onIncoming: (incoming: IncomingSession) => void,
  ) {
    this.settings = settings;
    this.share = share;
    this.onIncoming = onIncoming;
  }

  get urls(): readonly string[] {
    return this.open.map(({ url }) => url);
  }

  get address(): { readonly host: string; readonly port: number } {
    const address = this.open.find((listener) => listener.address !== undefined)?.address;
    if (address === undefined) throw new TypeError("the server listens on a path, not on a port");
    return address;
  }

  check(targets: readonly ProvidedTarget[]): void {
    requireListenable(targets, this.settings);
  }

  /**
   * Starts a listener for each target. Rejects if one of them fails; the caller must then call `close` to end the
   * listeners that have started.
   */
  async start(targets: readonly ProvidedTarget[]): Promise<void> {
    let missing: unknown;
    // Started one after another, so that no listener is still starting when one of them fails.
    for (const target of this.shared(targets)) {
      const listening = target.provider.listen(target, this.settings, this.onIncoming);
      const url = urlOf(target);
      const listeners = await listening.catch((cause: unknown) => {
        const error = transportError(cause, { action: "listen on", url });
        if (!this.settings.engineOptional || !isMissingEngine(error)) throw error;
        missing = error;
        this.settings.onError(error, { method: "serve" });
        return [];
      });
      this.open.push(...listeners, ...(await this.listenOnOtherAddress(target, listeners)));
    }
    if (missing !== undefined && this.open.length === 0) throw missing;
    if (this.share === undefined && targets.some(isPassed)) await notifyReady();
  }

  /** Updates the certificates of all listeners. Changes no listener if one of the certificates cannot be used. */
  updateTls(update: TlsUpdate): void {
    const { settings: before } = this;
    if (update.clientCertificates !== undefined && before.clientCertificates === undefined) {
      throw new TypeError("updateTls() can only replace clientCertificates: pass the option to serve() too");
    }
    const after = { ...before, ...update };
    const updated: Listener[] = [];
    try {
      for (const listener of this.open) {
        listener.updateTls?.(after);
        updated.push(listener);
      }
    } catch (error) {
      for (const listener of updated) listener.updateTls?.(before);
      throw error;
    }
    this.settings = after;
  }

  stop(): void {
    for (const listener of this.open) listener.stop();
  }

  /** Ends the remaining sessions, and resolves when all addresses are free. */
  async close(info: CloseInfo): Promise<void> {
    await Promise.all(this.open.map((listener) => listener.close(info)));
  }

  ref(): void {
    for (const listener of this.open) listener.ref();
  }

  unref(): void {
    for (const listener of this.open) listener.unref();
  }

  /**
   * Also listens on the second address of a target (`otherHost`). Does nothing if this machine does not have the
   * address.
   */
  private async listenOnOtherAddress(
    { otherHost, ...target }: ProvidedTarget,
    [first]: readonly Listener[],
  ): Promise<readonly Listener[]> {
    const port = first?.address?.port;
    // Workers share the sockets that their group has bound.
    if (otherHost === undefined || port === undefined || this.share !== undefined) return [];
    try {
      return await target.provider.listen({ ...target, host: otherHost, port }, this.settings, this.onIncoming);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      // The port that the system has chosen may be in use at the second address.
      if (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT" || target.port === 0) return [];
      throw transportError(cause, { action: "listen on", url: urlOf({ ...target, host: otherHost, port }) });
    }
  }

  /** Returns the targets. If workers share the UDP ports, adds this worker's sockets. */
  private shared(targets: readonly ProvidedTarget[]): readonly ProvidedTarget[] {
    const { share } = this;
    if (share === undefined) return targets;
    const members = share.members.values();
    return targets.map((target) => ({
      ...target,
      ...(isOverUdp(target) && { member: members.next().value }),
      ...(target.descriptor !== undefined && { handed: share.handedConnections(target.descriptor) }),
    }));
  }
}
