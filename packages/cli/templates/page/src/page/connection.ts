import { connect } from "@quicrpc/browser";
import { serverCertificateHashes } from "virtual:quicrpc";

// `quicrpc dev` says the server's port; give it to `vite build` where it is another.
const { VITE_QUICRPC_PORT = "4433" } = import.meta.env;
const url = `https://${location.hostname}:${VITE_QUICRPC_PORT}/rpc`;

/** It heals by itself: calls wait for the next session. Only the first has to come about for the page to begin. */
export const connection = await connect(url, { serverCertificateHashes }).catch((error: Error) => {
  document.body.innerText = `There is no server at ${url}: start it (npm run dev), and reload.\n\n${error.message}`;
  throw error;
});
