// React Native before 0.88: its signals have no reason, and no `throwIfAborted`.
if (AbortSignal.prototype.throwIfAborted === undefined) {
  const abort = Reflect.get(AbortController.prototype, "abort");
  AbortController.prototype.abort = function (reason = new DOMException("aborted", "AbortError")) {
    if (!this.signal.aborted) Object.defineProperty(this.signal, "reason", { value: reason });
    abort.call(this);
  };
  AbortSignal.prototype.throwIfAborted = function () {
    if (this.aborted) throw this.reason;
  };
}
