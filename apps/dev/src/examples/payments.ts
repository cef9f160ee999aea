import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

/** Open invoices by number, of the company that this process plays. */
const invoices = new Map([
  ["A-7", "480 EUR for office chairs"],
  ["A-8", "120 EUR for train tickets"],
]);
const paid = new Set<string>();

/** One connection: a list, and a payment. */
export function createPayments(): { server: McpServer; cleanup(): void } {
  const server = new McpServer({ name: "payments", version: "1.0.0" });
  server.registerTool("list_invoices", { description: "Lists the open invoices." }, () => {
    const open = [...invoices].filter(([number]) => !paid.has(number));
    return text(open.map(([number, what]) => `${number}: ${what}`).join("; ") || "no open invoices");
  });
  const description = "Pays an invoice from the company's account.";
  server.registerTool("pay_invoice", { description, inputSchema: { invoice: z.string() } }, ({ invoice }) => {
    const what = invoices.get(invoice);
    if (what === undefined) return { ...text(`There is no invoice ${invoice}.`), isError: true };
    if (paid.has(invoice)) return text(`${invoice} was paid before.`);
    paid.add(invoice);
    return text(`paid ${invoice}: ${what}`);
  });
  return { server, cleanup: () => {} };
}

const text = (line: string) => ({ content: [{ type: "text" as const, text: line }] });
