export default { include: "src/greeter.service.ts", out: "src/generated" };
