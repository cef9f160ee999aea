import { describe, expect, test } from "vitest";
import { hopsOffer, type Transport, TransportFault } from "../src/index.ts";

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("the offer", () => {
  const metadata = (more: object) => ({
    ...{
      issuer: "https://i",
      token_endpoint: "https://i/t",
      jwks_uri: "https://i/j",
      service_documentation: "https://i/d",
    },
    ...{ grant_types_supported: [], response_types_supported: [], token_endpoint_auth_methods_supported: [] },
    ...more,
  });
  const offered = { status: 200, body: metadata({ svc_hops_endpoint: "https://i/v1/hops" }) };
  function offerOf(...answers: readonly (object | TransportFault)[]) {
    let nowMs = 0;
    let asked = 0;
    const transport: Transport = {
      async send() {
        const answer = answers[Math.min(asked++, answers.length - 1)];
        if (answer instanceof TransportFault) throw answer;
        const { status, body } = answer as { status: number; body: object };
        return { status, headers: {}, body: JSON.stringify(body) };
      },
    };
    const offer = hopsOffer(transport, () => nowMs);
    /** As a call finds it once the metadata that it had requested are read. */
    const holds = async () => {
      offer.holds(1_000);
      await nextTurn();
      return offer.holds(1_000);
    };
    return { offer, holds, asked: () => asked, pass: (ms: number) => (nowMs += ms) };
  }

  test("is what the metadata say, asked once for all calls", async () => {
    const { holds, asked } = offerOf(offered);
    expect(await Promise.all([holds(), holds()])).toEqual([true, true]);
    expect([await holds(), asked()]).toEqual([true, 1]);
  });

  test("is none until the metadata are read: no call waits for them", async () => {
    const { offer, holds } = offerOf(offered);
    expect(offer.holds(1_000)).toBe(false);
    expect(await holds()).toBe(true);
  });

  test("that is known holds while the metadata are read again", async () => {
    const { offer, holds, pass, asked } = offerOf(offered);
    expect(await holds()).toBe(true);
    pass(300_000);
    expect([offer.holds(1_000), asked()]).toEqual([true, 2]);
  });

  test.each<[string, object | TransportFault]>([
    ["metadata of an earlier release", { status: 200, body: metadata({}) }],
    ["a refusal", { ...offered, status: 404 }],
    ["other metadata", { status: 200, body: {} }],
    ["no answer", new TransportFault("timeout")],
  ])("is none after %s", async (_name, answer) => {
    expect(await offerOf(answer).holds()).toBe(false);
  });

  test("is asked for again soon after a fault, and later after an answer", async () => {
    const { holds, pass } = offerOf(new TransportFault("refused"), { status: 200, body: metadata({}) }, offered);
    expect(await holds()).toBe(false);
    pass(1_000);
    expect(await holds()).toBe(false);
    pass(1_000);
    expect(await holds()).toBe(false);
    pass(300_000);
    expect(await holds()).toBe(true);
  });

  test("that is withdrawn holds no longer, and is asked for again later", async () => {
    const { holds, offer, pass } = offerOf(offered);
    expect(await holds()).toBe(true);
    pass(299_000);
    offer.withdrawn();
    expect(await holds()).toBe(false);
    pass(2_000);
    expect(await holds()).toBe(false);
    pass(298_000);
    expect(await holds()).toBe(true);
  });
});
