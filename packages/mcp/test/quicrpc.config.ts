export default { include: "tools.service.ts", out: "generated" };
