// Has the ACME server that the test of the guide on certificates starts, Let's Encrypt's own for tests: `node scripts/pebble.mjs`. Go builds it, once.
import { buildGoTool } from "./go-tool.mjs";

await buildGoTool("pebble", "github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.1");
