export { studio, type StudioOptions } from "./studio.js";
