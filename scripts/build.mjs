// npm run build: dependencies, native engine and TypeScript, each where it is missing or out of date.
import { setup } from "./setup.mjs";

await setup();
