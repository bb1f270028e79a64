export default { include: "greeter.service.ts", out: "generated" };
