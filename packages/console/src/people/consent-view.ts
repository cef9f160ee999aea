import { html } from "hono/html";
import { badge, type Content, codes, isolated, type Markup, notice, plural } from "../markup.ts";
import type { Person, PersonView } from "./layout.ts";

/** One scope: everything that the agent may reach under it. */
export interface AskedScope {
  readonly scope: string;
  readonly agent: string;
  /** Other registered agents whose names look like this one's. */
  readonly lookAlikes: readonly string[];
  readonly tools: readonly AskedTool[];
  /** Agents that it may hand work to, at any depth. */
  readonly downstream: readonly string[];
  readonly hopBudget: number;
  /** Seconds; of a consent that names none. */
  readonly ttlSeconds: number;
}

interface AskedTool {
  readonly ref: string;
  readonly dataClasses: readonly string[];
  readonly privileged: boolean;
  /** In the words of the tool's server. */
  readonly does: string | undefined;
  /** Agents that call it in the agent's place; empty where it does so itself. */
  readonly by: readonly string[];
}

/** A question: the person, the client or agent that asks, and the scopes. */
export interface ConsentAsk {
  readonly person: Person;
  readonly asked: readonly AskedScope[];
  /** The application that receives the access; null for a call that was denied. */
  readonly client: {
    readonly name: string;
    readonly id: string;
    readonly returnsTo: string;
    readonly resource: string;
  } | null;
  /** The call that was denied for want of this consent. */
  readonly call: { readonly target: string } | null;
  /** Sealed; sent back with the answer. */
  readonly question: string;
  /** Why the page is shown once more. */
  readonly changed?: boolean;
}

/** The question to the person. */
export function consentView({ person, asked, client, call, question, changed = false }: ConsentAsk): PersonView {
  const [first] = asked;
  const agent = first?.agent ?? "";
  const ttlSeconds = Math.max(...asked.map((each) => each.ttlSeconds));
  const agents = new Map(asked.map((each) => [each.agent, each]));
  return {
    title: `Allow ${agent} to act for you?`,
    status: changed ? 409 : 200,
    formTarget: client?.returnsTo,
    body: html`${
      changed &&
      notice(
        "observe",
        "What this consent would allow has changed.",
        html`<p>This is what it allows now. Read it before you answer.</p>`,
      )
    }
${client ? clientWords(client, agent, person) : callWords(call, agent, person)}
${[...agents.values()].map(lookAlikeWarning)}
${asked.map((each) => scopeSection(each, { isOneOfSeveral: asked.length > 1, ttlSeconds }))}
<form class="answer" method="post" action="/consent">
<input type="hidden" name="form" value="${person.formToken}">
<input type="hidden" name="question" value="${question}">
<div><label for="ttl">For how long</label>
<select id="ttl" name="ttl">${lifeOptions(ttlSeconds)}</select></div>
<div class="answers"><button class="primary" name="answer" value="allow">Allow</button>
<button name="answer" value="refuse">Refuse</button></div>
<p class="hint">You can end it at any time under <a href="/me">what you allowed</a>.${client && html` Either answer returns you to <bdi>${client.returnsTo}</bdi>.`}</p>
</form>`,
  };
}

const clientWords = (client: NonNullable<ConsentAsk["client"]>, agent: string, person: Person): Markup => html`
<p class="lead"><strong>${isolated(client.name)}</strong> asks to use <strong>${agent}</strong> in your name, <strong>${isolated(person.name)}</strong>.</p>
<dl class="who">
<div><dt>Application</dt><dd>${isolated(client.name)}, known as <code>${client.id}</code></dd></div>
<div><dt>Agent</dt><dd><code>${agent}</code></dd></div>
<div><dt>Server</dt><dd><code>${client.resource}</code></dd></div>
<div><dt>You</dt><dd>${isolated(person.name)}${person.name !== person.subject && html`, <code>${person.subject}</code>`}</dd></div>
</dl>
<p class="hint">The application chose its own name. Trust the address.</p>`;

const callWords = (call: ConsentAsk["call"], agent: string, person: Person): Markup => html`
<p class="lead"><strong>${agent}</strong>, which acts for you, <strong>${isolated(person.name)}</strong>, was stopped${
  call && html` before it called <code>${call.target}</code>`
}. It needs your consent to go further.</p>`;

const lookAlikeWarning = ({ agent, lookAlikes }: AskedScope): Content =>
  lookAlikes.length > 0 &&
  notice(
    "deny",
    `Look twice: this is ${agent}.`,
    html`<p>There ${lookAlikes.length === 1 ? "is another agent" : "are other agents"} of nearly the same name: ${codes(lookAlikes)}. If you expected one of these, refuse.</p>`,
  );

/** `ttlSeconds`: the longest life of any scope asked for. */
interface Surroundings {
  readonly isOneOfSeveral: boolean;
  readonly ttlSeconds: number;
}

const scopeSection = (asked: AskedScope, { isOneOfSeveral, ttlSeconds }: Surroundings): Markup => {
  const { scope, agent, tools, downstream, hopBudget } = asked;
  const privileged = tools.filter((tool) => tool.privileged);
  const others = tools.filter((tool) => !tool.privileged);
  return html`<section class="ask">
<h2>${isolated(scope)}${isOneOfSeveral && html`, through <code>${agent}</code>`}</h2>
${privileged.length > 0 && html`<h3>${badge("observe", "privileged")} Acts that matter</h3>${toolList(privileged)}`}
${others.length > 0 && html`<h3>${privileged.length > 0 ? "And" : "It could use"}</h3>${toolList(others)}`}
<p>${
    downstream.length === 0
      ? html`It hands work to no other agent.`
      : html`It may hand work to ${codes(downstream)}, ${plural(hopBudget, "hop")} deep at most.`
  }${asked.ttlSeconds < ttlSeconds && html` It ends after ${spanWords(asked.ttlSeconds)} at most.`}</p>
</section>`;
};

const toolList = (tools: readonly AskedTool[]): Markup =>
  html`<ul class="tools">${tools.map(
    ({ ref, does, dataClasses, by }) => html`<li><code class="ref">${ref}</code>
${does !== undefined && html`<span class="does">Its server says: “${isolated(does)}”</span>`}
<span class="quiet">data: ${codes(dataClasses)}${by.length > 0 && html`; through ${codes(by)}`}</span></li>`,
  )}</ul>`;

const lives = [
  [60, "1 minute"],
  [300, "5 minutes"],
  [900, "15 minutes"],
  [3_600, "1 hour"],
  [28_800, "8 hours"],
  [86_400, "1 day"],
] as const;

/** Up to the longest life, which is chosen at first; no scope's session lives longer than the scope's own. */
const lifeOptions = (ttlSeconds: number): Markup => {
  const shorter = lives.filter(([seconds]) => seconds < ttlSeconds);
  const named = lives.find(([seconds]) => seconds === ttlSeconds)?.[1] ?? spanWords(ttlSeconds);
  return html`${shorter.map(([seconds, words]) => html`<option value="${seconds}">${words}</option>`)}<option value="${ttlSeconds}" selected>${named}</option>`;
};

const spanWords = (seconds: number): string =>
  seconds % 3_600 === 0
    ? plural(seconds / 3_600, "hour")
    : seconds % 60 === 0
      ? plural(seconds / 60, "minute")
      : plural(seconds, "second");
