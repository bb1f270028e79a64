export { createGreeterClient, createGreeterRouter, type GreeterClient } from "./generated/greeter.js";
