import { connect } from "@quicrpc/browser";
import { serverCertificateHashes } from "virtual:quicrpc";

/** It heals by itself: calls wait for the next session. */
export const connection = await connect(`https://${location.hostname}:4433/rpc`, { serverCertificateHashes });
