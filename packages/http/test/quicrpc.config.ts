export default { include: "*.service.ts", out: "generated" };
