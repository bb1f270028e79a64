export default { include: "form.service.ts", out: "generated" };
