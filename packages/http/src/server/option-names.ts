import { DEFAULT_LIMITS } from "@quicrpc/core";
import type { OptionNames } from "@quicrpc/core/transport";
import type { HttpServiceOptions } from "./http-options.js";

/** Names of the options of `createFetchHandler`. */
export const HTTP_SERVICE_OPTIONS: OptionNames<HttpServiceOptions> = {
  allowedHosts: true,
  allowedOrigins: true,
  authenticate: true,
  authentications: true,
  compressFrom: true,
  extensions: true,
  host: true,
  interceptors: true,
  limits: DEFAULT_LIMITS,
  load: true,
  loadShedder: true,
  loadShedding: true,
  maxBodyMs: true,
  maxUploadAgeMs: true,
  once: true,
  onError: true,
  openApi: true,
  prefix: true,
  principal: true,
  routers: true,
  uploads: true,
};
