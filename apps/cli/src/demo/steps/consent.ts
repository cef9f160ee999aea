import assert from "node:assert/strict";
import type { ConsentResponse } from "@svc/core";
import { exampleScope } from "../../examples/agents.ts";
import { controlPlane, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const consentStep: Step<Scene> = {
  title: "Alice consents, and a session begins",
  async run(scene, tell) {
    tell.asked(`consent of alice to "${exampleScope}" for ten minutes`);
    const { status, body } = await controlPlane<ConsentResponse>(scene, "/v1/consent", {
      bearer: scene.stack.bearers.admin,
      json: { scope: exampleScope, user_sub: "alice", ttl_seconds: 600 },
    });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(body.user_sub, "alice");
    scene.consent = body;
    tell.decided(`session ${body.session_id}, at most ${body.hop_budget} hops, until ${body.expires_at}`);
    tell.why(
      `it pins version ${body.policy_version} of the compiled policy: no later manifest changes what alice allowed`,
    );
  },
};
