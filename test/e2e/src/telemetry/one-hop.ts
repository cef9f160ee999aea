import { type ReceivedSpan, type SpanReceiver, startSpanReceiver } from "@svc/test-conformance/span-receiver";
import { openStand, type Stand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { type Answer, ask, type HeaderList } from "./ask.ts";
import { readScrape, type Scrape } from "./exposition.ts";

const target = { target: "http:app/read", target_kind: "tool", data_class: "docs" } as const;
const routes = [{ methods: ["GET"], path: "/read", target: target.target, data_class: target.data_class }];

/** An agent with one readable tool, an enforcement point, a control plane, and a receiver of their spans. */
export interface OneHop {
  readonly stand: Stand;
  readonly receiver: SpanReceiver;
  /** One call through the enforcement point, or one decision at the control plane. */
  readonly ways: Readonly<Record<App, { ask(headers: HeaderList): Promise<Answer>; scrape(): Promise<Scrape> }>>;
  /** The spans of the one trace with a later span of this name. */
  traceOf(name: string, seenBefore: number): Promise<readonly ReceivedSpan[]>;
  stop(): Promise<void>;
}

export const apps = ["control plane", "enforcement point"] as const;
export type App = (typeof apps)[number];

/** @param env settings of both */
export async function openHop(env: Readonly<Record<string, string>> = {}): Promise<OneHop> {
  const receiver = await startSpanReceiver();
  const settings = { ...receiver.env, ...env };
  const stand = await openStand({
    scopes: { work: { hop_budget: 2, tools: [{ ref: target.target, data_classes: [target.data_class] }] } },
    upstreams: (url) => [{ name: "app", url, routes }],
    controlPlane: settings,
    enforcementPoint: settings,
  });
  const { api, enforcementPoint } = stand;
  const { session, token } = await api.consent("work");
  const bearer = ["authorization", `Bearer ${token}`];
  const body = JSON.stringify({ session_id: session, ...target });
  const scrapeOf = async (url: string, path: string) => readScrape((await ask(url, path)).text);
  return {
    stand,
    receiver,
    ways: {
      "control plane": {
        ask: (headers) =>
          ask(api.url, "/v1/authorize", {
            method: "POST",
            headers: [...bearer, "content-type", "application/json", ...headers],
            body,
          }),
        scrape: () => scrapeOf(api.url, "/metrics"),
      },
      "enforcement point": {
        ask: (headers) =>
          ask(enforcementPoint.url, "/app/read", { headers: [...bearer, "x-svc-session", session, ...headers] }),
        scrape: () => scrapeOf(enforcementPoint.adminUrl, "/__svc/metrics"),
      },
    },
    traceOf: (name, seenBefore) =>
      waitUntil(`a span ${name}`, () => {
        const since = receiver.spans.slice(seenBefore);
        const first = since.find((span) => span.name === name);
        if (first === undefined) throw new Error("not yet");
        return since.filter(({ traceId }) => traceId === first.traceId);
      }),
    async stop() {
      await stand.stop();
      await receiver.stop();
    },
  };
}
