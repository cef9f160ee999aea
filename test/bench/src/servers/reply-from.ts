import replyFrom from "@fastify/reply-from";
import fastify from "fastify";

const [base = ""] = process.argv.slice(2);
const app = fastify();
await app.register(replyFrom, { base });
app.all("/*", (request, reply) => reply.from(request.url));
await app.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
process.send?.("listening");
process.once("disconnect", () => process.exit());
