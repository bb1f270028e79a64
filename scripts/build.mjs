// npm run build: installs dependencies and builds the native engine and TypeScript, each only if it is missing or out
// of date.
import { setup } from "./setup.mjs";

await setup();
