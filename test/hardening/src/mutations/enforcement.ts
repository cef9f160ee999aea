import { mutationsOf, testsOf } from "./mutation.ts";

const path = testsOf("apps/pep/test/path.test.ts")("a path that servers could read differently is rejected > %s: %j");
const headers = testsOf("apps/pep/test/headers.test.ts");
const accessTokens = testsOf("apps/pep/test/access-tokens.test.ts");
const wire = testsOf("apps/pep/test/wire.test.ts");
const steps = testsOf("packages/hop/test/decide.test.ts");

const ambiguous = testsOf("packages/classify/test/ambiguity.test.ts");

export const ofClassification = mutationsOf("packages/classify/src", [
  ["dot-segments-pass", "sound-path.ts", 'return plain !== "." && plain !== ".." && ', "return ", path],
  ["encoded-slashes-pass", "sound-path.ts", "|| encodedDelimiter.test(path) ||", "||", path],
  [
    "ambiguous-argument-satisfies",
    "reading.ts",
    "else if (folded(name) === token.folded) return unclear;",
    "",
    ambiguous("a value that two readers could read differently satisfies nothing, absent included > %s"),
  ],
]);

const stdio = testsOf("apps/pep/test/stdio-server.test.ts");

export const ofDriftGate = mutationsOf("apps/cli/src/commands", [
  [
    "gate-downloaded",
    "drift.ts",
    "`npx --no -- svc",
    "`npx --yes svc",
    testsOf("apps/cli/test/drift.test.ts")("writes a workflow for %s, and overwrites none"),
  ],
]);

export const ofRun = mutationsOf("apps/cli/src/run", [
  [
    "isolated-network-shared",
    "isolation.ts",
    '"--keep-caps", "--net",',
    '"--keep-caps",',
    testsOf("apps/cli/test/run-isolated.test.ts")(
      "with svc run --isolate nothing gets past the enforcement point > a direct connection fails, to an upstream, the control plane and the network, by whatever address",
    ),
  ],
  [
    "operators-exceptions-kept",
    "agent-environment.ts",
    'NO_PROXY: baseName ?? ""',
    'NO_PROXY: environment.NO_PROXY ?? ""',
    testsOf("apps/cli/test/run-clients.test.ts")(
      "the operator's exceptions to a proxy, and further trust, are not lost or widened",
    ),
  ],
]);

const inTunnel = testsOf("apps/pep/test/terminated-tunnels.test.ts");

const pushedActs = (name: string) =>
  testsOf("apps/pep/test/pushed-acts.test.ts")(
    `a pushed act ends the calls that the next decision refuses, at once > ${name}`,
  );

export const ofEnforcementPoint = mutationsOf("apps/pep/src", [
  [
    "tunnel-host-unchecked",
    "resolve/resolve.ts",
    "normalAuthority(host) !== tunnel;",
    "normalAuthority(host) === undefined;",
    inTunnel("a hostile client in a tunnel reaches nothing > by a request %s"),
  ],
  [
    "handshake-host-unchecked",
    "local/terminated-tunnels.ts",
    "normalAuthority(name) === host\n",
    "name !== ''\n",
    inTunnel(
      "a hostile client in a tunnel reaches nothing > by a handshake that names another host than the tunnel, listed or not",
    ),
  ],
  [
    "authority-key-exported",
    "local/authority.ts",
    "generateKey(algorithm, false,",
    "generateKey(algorithm, true,",
    testsOf("apps/pep/test/local-authority.test.ts")(
      "the local certificate authority > has a key that cannot be exported",
    ),
  ],
  [
    "unauthorized-target-named",
    "protocols/answers.ts",
    '(cause === "unauthorized" ? undefined : call?.call?.target)',
    "call?.call?.target",
    testsOf("apps/pep/test/block-answers.test.ts")(
      "a block says what to change > a caller without a bearer does not learn which target a path is",
    ),
  ],
  [
    "closed-addresses-reached",
    "local/reachable.ts",
    'if (isLocal || ownPorts().includes(place.port)) return "closed";',
    "",
    testsOf("apps/pep/test/other-hosts.test.ts")(
      "no tunnel leads past a decision > to %s, however the address is spelled",
    ),
  ],
  [
    "repeated-arguments-classified",
    "protocols/mcp/targets.ts",
    "if (!isExact) return undefined;",
    "",
    testsOf("apps/pep/test/classified-tools.test.ts")(
      "the data class of a tool with rules is decided by its arguments > %s",
    ),
  ],
  [
    "processes-shared-between-sessions",
    "stdio/processes.ts",
    "[...running].filter((each) => each.session === session),",
    "[...running],",
    stdio("a process belongs to one session > an MCP session is unknown to every other session"),
  ],
  [
    "undecided-sessions-reach-processes",
    "forward/outbound-credentials.ts",
    "return isDecided && inbound.credential ?",
    "return inbound.credential ?",
    headers("the credentials that an upstream receives > %s"),
  ],
  [
    "changed-definition-passes",
    "decide/tool-definitions.ts",
    "seen?.hash === pin.hash) return undefined;",
    'pin.hash !== "") return undefined;',
    testsOf("apps/pep/test/changed-tools.test.ts")(
      "a tool that a list shows changed, %s > is hidden, and a call of it is refused without a decision until a list matches again",
    ),
  ],
  [
    "other-reading-accepted",
    "protocols/read-path.ts",
    "return other ? ambiguous(other, found) : found;",
    "return found;",
    testsOf("apps/pep/test/routes.test.ts")(
      "a path that a common server could read as another route is ambiguous > %s: %s",
    ),
  ],
  [
    "answers-run-on",
    "http/request-call.ts",
    "watch.onEnd((refusal) => relay.stop(lastEventOf(admitted, refusal)));",
    "if (releaseStream) watch.onEnd((refusal) => relay.stop(lastEventOf(admitted, refusal)));",
    testsOf("apps/pep/test/calls-under-way.test.ts")("an answer of %s is cut, never ended cleanly"),
  ],
  [
    "ended-session-not-concerned",
    "decide/pushed-acts.ts",
    "      return act.ref === sessionId;",
    '      return act.ref === "" && sessionId === "";',
    pushedActs("%s"),
  ],
  [
    "unreadable-act-dropped",
    "decide/pushed-acts.ts",
    'if (event === "reset" || !read.success) return every;',
    "if (!read.success) return undefined;",
    pushedActs("%s concerns every call"),
  ],
  [
    "act-before-a-token-forgotten",
    "decide/calls-under-way.ts",
    "if (atMs >= sinceMs && concerns(act, call)) schedule(act, call);",
    "if (atMs < sinceMs && concerns(act, call)) schedule(act, call);",
    testsOf("apps/pep/test/calls-under-way.properties.test.ts")(
      "acts in any order and repetition have exactly the calls decided again that they concern, after them",
    ),
  ],
  [
    "agent-sets-our-headers",
    "message/header-names.ts",
    "/^xsvc|^txntoken$|^agentidentity$/",
    "/^xsvc|^agentidentity$/",
    headers("an agent's header never reaches the upstream > %s"),
  ],
  [
    "look-alikes-pass",
    "message/header-names.ts",
    'name.toLowerCase().replace(/[^a-z0-9]/g, "")',
    'name.toLowerCase().replaceAll("-", "")',
    headers("an agent's header never reaches the upstream > %s"),
  ],
  [
    "tokens-in-responses",
    "message/headers.ts",
    " && !isLeak(value),",
    ' && !isLeak(""),',
    headers("an upstream can neither imitate a block nor return a token"),
  ],
  [
    "foreign-pages-served",
    "http/handle-call.ts",
    'if (isOfForeignPage(request.rawHeaders, call.own)) return blockCall(kind, call, blockedFor("foreign_page"));',
    "",
    testsOf("apps/pep/test/foreign-page.test.ts")("a page of another origin cannot use the ambient session > %s"),
  ],
  [
    "redirects-cross-upstreams",
    "forward/answer-headers.ts",
    "return prefixed ? belowPrefix(headers, prefixed) : headers;",
    "return headers;",
    testsOf("apps/pep/test/below-prefix.test.ts")(
      "a hostile redirect does not make a client repeat its POST at the other",
    ),
  ],
  [
    "first-of-two-bearers",
    "decide/inbound-credentials.ts",
    'if (authorizations.length > 1 || sessions.length > 1) return { fault: "repeated_credentials" };',
    "",
    wire("%s is unauthorized"),
  ],
  [
    "client-token-passes",
    "decide/inbound-credentials.ts",
    "opaqueToken.test(authorization)",
    "handleIn(authorization) !== undefined",
    accessTokens("after %s is no application's own beside an ambient session, where no client logs in"),
  ],
  [
    "client-token-cached-for-all",
    "decide/handles.ts",
    "{resource} $",
    "",
    accessTokens("of another resource is refused"),
  ],
  [
    "any-session-beside",
    "decide/sessions-beside.ts",
    "scopes.includes(each.scope) && ",
    "",
    testsOf("apps/pep/test/sessions-beside.test.ts")("is not decided in a known session of another scope"),
  ],
  [
    "first-of-two-hosts",
    "resolve/resolve.ts",
    'if (hosts.length > 1) return unresolvableFor("no_authority");',
    "",
    testsOf("apps/pep/test/resolve.test.ts")("an authority that no upstream lists is unresolvable > %s"),
  ],
  [
    "outages-forwarded",
    "decide/admit.ts",
    'mode === "observe" && isForwarded(refusal, observe) ?',
    'mode === "observe" ?',
    testsOf("apps/pep/test/observe-mode.test.ts")("a call without a decision is blocked, since it has no record"),
  ],
  [
    "repeated-members-resolved",
    "protocols/mcp/message.ts",
    'if ((parsed.duplicateDepth ?? 3) <= 2) return "repeated_member";',
    "",
    testsOf("apps/pep/test/mcp-message.test.ts")("a message that readers could read differently is rejected > %s"),
  ],
  [
    "refusals-told-as-outages",
    "decide/admit.ts",
    "if (response?.status === 429) {",
    "if (response?.status === 0) {",
    testsOf("apps/pep/test/refusal.test.ts")("the cause of a hop that ended without a token > %s"),
  ],
  [
    "sessions-told-gone",
    "http/call.ts",
    "own.status === 404 && carriesSession(call.request) ?",
    "own.status === 0 && carriesSession(call.request) ?",
    testsOf("apps/pep/test/block-answers.test.ts")("a request for %s that carries a session is never answered 404"),
  ],
  [
    "disguised-members-resolved",
    "protocols/mcp/message.ts",
    "isDisguised(message, messageNames) || isDisguised(message.params, paramsNames)",
    "isDisguised(message, messageNames)",
    testsOf("apps/pep/test/mcp-message.test.ts")("a message that readers could read differently is rejected > %s"),
  ],
  [
    "mirrored-names-undecoded",
    "protocols/mcp/mirrored-headers.ts",
    "names.includes(decoded(value))",
    'names.includes(decoded(value)) || value.startsWith("=?base64?")',
    testsOf("apps/pep/test/mirrored-headers.test.ts")("headers disagree with the message: > %s"),
  ],
  [
    "revisions-that-disagree",
    "protocols/mcp/mirrored-headers.ts",
    "revision === undefined || value === revision",
    "true",
    testsOf("apps/pep/test/modern-answers.test.ts")(
      "to a client of a modern revision > revisions that disagree are 400, and nothing is decided",
    ),
  ],
  [
    "quit-from-other-addresses",
    "http/own-endpoints.ts",
    'if (!isLoopback(request.socket.remoteAddress ?? "") || request.headers.origin !== undefined)',
    "if (request.headers.origin !== undefined)",
    testsOf("apps/pep/test/quit-endpoint.test.ts")("a caller from another machine (%j) cannot"),
  ],
  [
    "every-tool-listed",
    "protocols/mcp/held-message.ts",
    "return declared !== undefined && call?.dataClasses.some((each) => isWithin(each, declared)) === true;",
    "return true;",
    testsOf("apps/pep/test/list-filter.test.ts")(
      "a JSON list keeps the tools that are allowed for their data class, and every other member",
    ),
  ],
  [
    "lists-in-other-answers",
    "protocols/mcp/held-message.ts",
    "(mayList ? !allowed : !isOwn)",
    "(mayList ? !allowed : false)",
    testsOf("apps/pep/test/list-filter.test.ts")("the answer to another request > brings no list under the id %s"),
  ],
  [
    "answers-copied-again",
    "protocols/mcp/held-message.ts",
    "held.push(chunk);",
    "held = [Buffer.concat([...held, chunk])];",
    testsOf("apps/pep/test/list-filter.test.ts")(
      "the work for an answer is that of its pieces, and is spread over them > %s",
    ),
  ],
  [
    "passthrough-while-enforcing",
    "upstreams/upstreams-file.ts",
    'entry.credential === "passthrough" && enforcing &&',
    'entry.credential === "passthrough" && !enforcing &&',
    testsOf("apps/pep/test/upstreams-file.test.ts")("a single fault rejects the whole file > %s is a fault"),
  ],
]);

export const ofHost = mutationsOf("packages/host/src", [
  [
    "http-of-other-versions",
    "http/refusal.ts",
    'if (httpVersion !== "1.1" && httpVersion !== "1.0") return unknownVersion;',
    "",
    testsOf("test/conformance/pep/wire.test.ts")("$name"),
  ],
  [
    "processes-see-our-environment",
    "bare-environment.ts",
    "isPassed(name) && value ?",
    "value ?",
    stdio("a process gets a clean environment > none of our settings, and what the file says beside the usual"),
  ],
]);

export const ofHop = mutationsOf("packages/hop/src", [
  [
    "another-calls-decision",
    "steps/decide.ts",
    'if (!matchesRequest(body, sessionId, request)) return unusable("mismatch", response);',
    "",
    steps("a response that is not a decision > %s"),
  ],
  [
    "unrecorded-allow",
    "steps/decide.ts",
    "action_id: z.string().min(1).nullable()",
    "action_id: z.string().nullable()",
    steps("a response that is not a decision > %s"),
  ],
  [
    "deny-under-an-allow",
    "outcomes.ts",
    "actionId: recordedIn(response),",
    "actionId: allowed.actionId,",
    testsOf("packages/hop/test/hop-results.test.ts")(
      "every other result of a step, and whether the lease was given back > %s",
    ),
  ],
  [
    "idle-sessions-end",
    "pool/renewal-pool.ts",
    "if (pool.isRejected || (pool.isIdle && pool.isDry)) end(key, pool);",
    "if (pool.isRejected || pool.isIdle) end(key, pool);",
    testsOf("packages/hop/test/renewal-pool.test.ts")(
      "the life of a pool > an unspent sibling of a %s token is kept until the session's end, however long no call comes",
    ),
  ],
  [
    "ended-tokens-renewed",
    "pool/token-pool.ts",
    '    if (isOpen(this.#state)) this.#enter({ kind: "ended", lent: new Set() });\n',
    "",
    testsOf("packages/hop/test/renewal-refusals.test.ts")(
      "the tokens of a session or an agent that is over, by a pushed act > are renewed no more, whether a call waits, time passes or the act comes again; others are",
    ),
  ],
  [
    "unsent-exchange-burns-a-token",
    "outcomes.ts",
    'return failed.kind === "denied" || isUnspentAfter(failed);',
    'return failed.kind === "denied";',
    testsOf("packages/hop/test/take-hop.test.ts")(
      "an exchange that was never sent gives its token back > where the agent disconnects while its body is settled",
    ),
  ],
  [
    "unanswered-trip-given-back",
    "one-trip.ts",
    'return { ...result, step: "exchange", path: hopsPath };',
    "return undefined;",
    testsOf("packages/hop/test/one-trip.test.ts")("any other answer ends the hop, and > %s"),
  ],
  [
    "another-hops-token",
    "steps/exchange.ts",
    'if (!matchesRequest(claims, subject, request)) return unusable("mismatch");',
    "",
    testsOf("packages/hop/test/exchange.test.ts")("a token that does not match the request is unusable > another %s"),
  ],
]);

export const ofClient = mutationsOf("packages/client/src", [
  [
    "credentials-follow",
    "fetch-transport.ts",
    'redirect: "manual"',
    'redirect: "follow"',
    testsOf("packages/client/test/fetch-transport.test.ts")("a redirect is returned and not followed"),
  ],
]);

const refusals = testsOf("apps/injector/test/refusals.test.ts");
const injected = testsOf("apps/injector/test/injected.test.ts");
const updates = testsOf("apps/injector/test/update.test.ts");
const floor = testsOf("apps/injector/test/pod-security.test.ts");

export const ofInjector = mutationsOf("apps/injector/src", [
  [
    "node-network-shared",
    "refusals.ts",
    "spec.hostNetwork === true &&",
    "spec.hostNetwork === false &&",
    refusals("a pod that %s is refused by both webhooks, with what to change"),
  ],
  [
    "sidecar-anywhere",
    "own-parts.ts",
    "initContainers.slice(0, Math.max(first, 0)).every(({ name }) => isMeshContainer(name)) &&",
    "",
    injected("a pod with the injector's exact containers in another place is refused: %s"),
  ],
  [
    "sidecars-user-reachable",
    "pod-security.ts",
    "allowPrivilegeEscalation !== false &&",
    "allowPrivilegeEscalation === true &&",
    refusals("a pod that %s is refused by both webhooks, with what to change"),
  ],
  [
    "below-the-floor",
    "review.ts",
    "const belowFloor = [...restrictedFaults(pod), ...nameFaults(pod.spec)];",
    "const belowFloor = nameFaults(pod.spec);",
    floor("below the restricted standard > %s: %s is refused where enforcement is strict"),
  ],
  [
    "names-of-the-agents-choice",
    "review.ts",
    "const belowFloor = [...restrictedFaults(pod), ...nameFaults(pod.spec)];",
    "const belowFloor = restrictedFaults(pod);",
    refusals("%s, by which a pod chooses the servers of its enforcement point, is refused where enforcement is strict"),
  ],
  [
    "running-sidecar-replaced",
    "update.ts",
    "isDeepStrictEqual(ownParts(pod), own)",
    "isDeepStrictEqual(own, own)",
    updates("a change to a running pod is refused in any namespace > %s"),
  ],
  [
    "debug-container-unreviewed",
    "update.ts",
    "const added = addedContainers(pod, old);",
    "const added = addedContainers(pod, pod);",
    updates("a change to a running pod is refused in any namespace > %s"),
  ],
  [
    "undone-after-the-review",
    "review.ts",
    "if (patch.length > 0) return refused([undoneReason]);",
    "",
    updates("the last review of a creation > refuses a pod that %s"),
  ],
]);
