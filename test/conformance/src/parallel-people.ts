import { aTool, testBearers } from "@svc/test-support";
import { all, atOnce, oneOf, type ParallelOperation } from "./parallel.ts";
import { answerIn, type PeopleStack, redirectUri, resource, stockClient } from "./people-stack.ts";
import type { Shown } from "./person.ts";

const hop = { target: "planner", target_kind: "agent", data_class: "finance.entries" } as const;
const send = { target: "http:bank/send", target_kind: "tool", data_class: "finance.entries" } as const;

/** An address of the client is a redirect that the browser did not follow. */
const toAnswer = ({ status }: Shown) => ({ status: status === 0 ? 303 : status, body: undefined });

const form = (fields: Readonly<Record<string, string>>) => ({
  raw: { method: "POST", body: new URLSearchParams(fields) },
});

/** What people and OAuth clients do in parallel. */
export async function parallelPeople(stack: PeopleStack): Promise<Readonly<Record<string, ParallelOperation>>> {
  await stack.register("planner", {
    expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] },
    "payments-approval": { hop_budget: 2, tools: [aTool(send.target, { privileged: true })] },
  });
  const ada = stack.browser("ada");
  const { begin } = await stockClient(stack);
  const question = async () => ada.visit((await begin()).url);
  return {
    "answer one question of a client": {
      keys: ["consent_answer_pkey"],
      async run() {
        const page = await question();
        return (await atOnce(() => ada.submit(page, { answer: "allow" }))).map(toAnswer);
      },
      expected: oneOf("303", "409"),
    },
    "allow a client, each its own question": {
      keys: ["oauth_grant_pkey", "oauth_grant_session_id_key", "consent_answer_pkey"],
      async run() {
        await question();
        return atOnce(async () => toAnswer(await ada.submit(await question(), { answer: "allow" })));
      },
      expected: all("303"),
    },
    "redeem one code": {
      keys: ["oauth_token_pkey", "oauth_token_issued_for_kind_key"],
      async run() {
        const login = await begin();
        const back = await ada.submit(await ada.visit(login.url), { answer: "allow" });
        const fields = { code: answerIn(back).code ?? "", code_verifier: login.verifier, redirect_uri: redirectUri };
        const request = form({ grant_type: "authorization_code", client_id: "notebook", ...fields });
        return atOnce(() => stack.api.call("POST", "/oauth/token", request));
      },
      expected: oneOf("200", "400 invalid_grant"),
    },
    "deliver one event of the provider": {
      keys: ["received_set_pkey"],
      async run() {
        const event = await stack.accountDisabled("cyd");
        return atOnce(() => stack.deliver(event));
      },
      expected: all("202"),
    },
    "create one receiver's stream": {
      keys: ["signal_stream_pkey", "signal_stream_receiver_key"],
      run: () =>
        atOnce(() => stack.api.call("POST", "/v1/signals/streams", { bearer: testBearers.identity, body: {} })),
      expected: oneOf("201", "409"),
    },
    "bring one identity assertion": {
      keys: ["oauth_grant_begun_with_key"],
      async run() {
        const assertion = await stack.assertion();
        const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
        const request = form({ grant_type, client_id: "notebook", assertion, resource, scope: "expenses" });
        return atOnce(() => stack.api.call("POST", "/oauth/token", request));
      },
      expected: oneOf("200", "400 invalid_grant"),
    },
    "allow denied calls of one session": {
      keys: ["session_beside_pkey"],
      async run() {
        const { session, token: root } = await stack.api.consent("expenses");
        const { token } = await stack.api.hop(session, root, hop);
        const denied = await atOnce(() => stack.api.authorize(session, token, send));
        const pages = await Promise.all(denied.map(({ body }) => ada.visit(body.consent_url)));
        return (await Promise.all(pages.map((page) => ada.submit(page, { answer: "allow" })))).map(toAnswer);
      },
      expected: all("200"),
    },
  };
}
