import { Refusal } from '@baton/kernel/http/refusal';
import { ConcurrencyLimit, Turns } from '@baton/kernel/limits/concurrency-limit';
import { within } from '@baton/kernel/limits/within';
import { readJsonList, UnreadableList } from '@baton/kernel/outbound/json-list';
import {
  type JsonRequest,
  RequestFailed,
  requestJson,
  requestText,
} from '@baton/kernel/outbound/json-request';
import { BoundedCache } from '@baton/values/bounded-cache';
import { createServiceTokens } from '../access-tokens/service-tokens/service-tokens.ts';
import type { Settings } from '../settings.ts';
import { authzenWire } from './authzen-wire.ts';
import { batonWire } from './baton-wire.ts';
import { consistencyOf } from './catalogue.ts';
import {
  type Decision,
  NoDecision,
  nameOf,
  type ObjectsQuestion,
  objectsMax,
  type Question,
  type ResponseFormat,
  type Send,
  type Subject,
} from './decision.ts';

/** The external service that decides authorization. See docs/reference/authorization.md. */
export interface DecisionPoint {
  /**
   * Returns decisions in the order of the questions; each is cached for CP_POLICY_CACHE_TTL_SECONDS.
   * @throws NoDecision
   */
  decide(questions: readonly Question[]): Promise<Decision[]>;
  /**
   * Returns the ids of all objects on which the subject has the permission; reads all pages of the list.
   * @returns undefined if the decision point can't list them
   * @throws NoDecision, also if there are too many ids or the pages take too long
   */
  objectsOf(question: ObjectsQuestion): Promise<ReadonlySet<string> | undefined>;
  /** Discards all cached decisions, because rights may have changed. */
  forget(): void;
}

/** The maximum response size: enough for 100 decisions or 1,000 ids. */
const answerBytesMax = 1024 * 1024;
/**
 * The maximum size of a list in one response: 100,000 ids with their surrounding fields. The list is parsed as a
 * stream.
 */
const listBytesMax = 64 * 1024 * 1024;
const listBounds = { itemCharactersMax: 16_384, restCharactersMax: answerBytesMax };
/** Concurrent questions per tenant and in total, so that one tenant's slow decisions don't delay others. */
const underWayMax = { tenant: 24, all: 64 };
const waitingMax = 1000;
const decisionsKeptMax = 50_000;
const idsKeptMax = 500_000;
const tenantsKeptMax = 10_000;
/** Concurrent lists per tenant and in total: each may have 100,000 ids, about 10 MiB. */
const listsUnderWayMax = { tenant: 8, all: 24 };
const listMsMax = 10_000;
/** How long a decision point that can't list objects is not queried for a list again. */
const withoutListsMs = 60_000;

interface Kept<Value> {
  readonly value: Value;
  readonly untilMs: number;
}

export function openDecisionPoint(settings: Settings): DecisionPoint {
  const wire = settings.CP_POLICY_WIRE === 'authzen' ? authzenWire : batonWire;
  const ttlMs = settings.CP_POLICY_CACHE_TTL_SECONDS * 1000;
  const send = senderOf(settings);
  const underWay = new Map<string, Promise<Decision>>();
  const listsUnderWay = new Map<string, Promise<ReadonlySet<string> | undefined>>();
  const listTurnsOf = turnsWithin('lists of', listsUnderWayMax, settings);
  const versions = new BoundedCache<string>(tenantsKeptMax);
  let decisions = new BoundedCache<Kept<Decision>>(decisionsKeptMax);
  let lists = new BoundedCache<Kept<ReadonlySet<string>>>(idsKeptMax);
  let listsAgainAtMs = 0;

  /** The key includes the policy version, so that a new policy or model invalidates cached decisions. */
  function nameOfQuestion({ subject, action, resource }: Question): string {
    const { tenantId, iamPrincipalId, kind } = subject;
    const version = versions.get(tenantId) ?? null;
    return JSON.stringify([
      tenantId,
      version,
      iamPrincipalId,
      kind,
      action,
      nameOf(resource),
      resource.tuples,
    ]);
  }

  async function ask(questions: readonly Question[]): Promise<readonly Decision[]> {
    const kept = decisions;
    const answers = await wire.check(questions, send((questions[0] as Question).subject));
    for (const [index, question] of questions.entries()) {
      const answer = answers[index] as Decision;
      const { tenantId } = question.subject;
      if (answer.version !== null) versions.keep(tenantId, answer.version, 1);
      if (ttlMs > 0 && isRemembered(question))
        kept.keep(nameOfQuestion(question), { value: answer, untilMs: performance.now() + ttlMs }, 1);
    }
    return answers;
  }

  function answerOf(question: Question): Promise<Decision> | undefined {
    if (!isRemembered(question)) return undefined;
    const name = nameOfQuestion(question);
    const known = decisions.get(name);
    if (known !== undefined && performance.now() < known.untilMs) return Promise.resolve(known.value);
    return underWay.get(name);
  }

  function askTogether(questions: readonly Question[]): Promise<Decision>[] {
    const asked = ask(questions);
    return questions.map((question, index) => {
      const answer = asked.then((answers) => answers[index] as Decision);
      if (!isRemembered(question)) return answer;
      const name = nameOfQuestion(question);
      underWay.set(name, answer);
      const isOver = () => void (underWay.get(name) === answer && underWay.delete(name));
      answer.then(isOver, isOver);
      return answer;
    });
  }

  async function readInTurn(question: ObjectsQuestion): Promise<ReadonlySet<string> | undefined> {
    const turns = listTurnsOf(question.subject.tenantId);
    await enter(turns);
    try {
      return await readObjects(question);
    } finally {
      turns.leave();
    }
  }

  async function readObjects(question: ObjectsQuestion): Promise<ReadonlySet<string> | undefined> {
    const untilMs = performance.now() + listMsMax;
    const ids = new Set<string>();
    let cursor: string | undefined;
    do {
      const part = await wire.listObjects(question, cursor, send(question.subject));
      if (part === undefined) {
        if (cursor !== undefined) throw new NoDecision('the next page of a list was not found');
        listsAgainAtMs = performance.now() + withoutListsMs;
        return undefined;
      }
      for (const id of part.ids) ids.add(id.toLowerCase());
      if (part.next !== undefined && (part.next === cursor || part.ids.length === 0))
        throw new NoDecision('a list whose cursor does not advance');
      cursor = part.next;
      if (ids.size > objectsMax || (cursor !== undefined && performance.now() > untilMs))
        throw new NoDecision('a list that exceeds the limits');
    } while (cursor !== undefined);
    return ids;
  }

  return {
    async decide(questions) {
      const answers = questions.map(answerOf);
      const open = questions.filter((_, index) => answers[index] === undefined);
      const asked: Promise<Decision>[] = [];
      for (let at = 0; at < open.length; at += wire.questionsMax)
        asked.push(...askTogether(open.slice(at, at + wire.questionsMax)));
      return Promise.all(answers.map((answer) => answer ?? (asked.shift() as Promise<Decision>)));
    },
    async objectsOf(question) {
      if (performance.now() < listsAgainAtMs) return undefined;
      const { subject, action, type } = question;
      const name = JSON.stringify([subject.tenantId, subject.iamPrincipalId, subject.kind, action, type]);
      const known = lists.get(name);
      if (known !== undefined && performance.now() < known.untilMs) return known.value;
      const begun = listsUnderWay.get(name);
      if (begun !== undefined) return begun;
      const kept = lists;
      const reading = readInTurn(question).finally(
        () => listsUnderWay.get(name) === reading && listsUnderWay.delete(name),
      );
      listsUnderWay.set(name, reading);
      const ids = await reading;
      if (ids !== undefined && ttlMs > 0)
        kept.keep(name, { value: ids, untilMs: performance.now() + ttlMs }, ids.size + 1);
      return ids;
    },
    forget() {
      decisions = new BoundedCache(decisionsKeptMax);
      lists = new BoundedCache(idsKeptMax);
      underWay.clear();
      listsUnderWay.clear();
    },
  };
}

const isRemembered = ({ action }: Question) => consistencyOf(action) === 'default';

/**
 * Creates a tenant's sender. CP_POLICY_TIMEOUT_SECONDS limits each question including its queueing and its token
 * request.
 */
function senderOf(settings: Settings): (subject: Subject) => Send {
  const baseUrl = settings.CP_POLICY_BASE_URL.replace(/\/+$/, '');
  const timeoutMs = settings.CP_POLICY_TIMEOUT_SECONDS * 1000;
  const tokens = createServiceTokens(settings, {
    audience: settings.CP_POLICY_AUDIENCE,
    scopes: settings.CP_POLICY_SCOPES,
  });
  const turnsOf = turnsWithin('questions to', underWayMax, settings);

  async function post(path: string, body: unknown, untilMs: number, { absent = [], list }: ResponseFormat) {
    const leftMs = () => Math.max(1, Math.floor(untilMs - performance.now()));
    const token = await within(leftMs(), tokens.get());
    const { status, json } = await answerOf(`${baseUrl}${path}`, list, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body,
      timeoutMs: leftMs(),
      answerBytesMax,
    });
    if (status === 401) tokens.forget(token);
    if (absent.includes(status)) return undefined;
    if (status !== 200) throw new NoDecision(`the decision point returned ${status}`);
    if (json === undefined) throw new NoDecision('the response is not JSON');
    return json;
  }

  return ({ tenantId }) =>
    async (path, body, reading = {}) => {
      const untilMs = performance.now() + timeoutMs;
      const turns = turnsOf(tenantId);
      await enter(turns);
      try {
        return await post(path, body, untilMs, reading);
      } catch (error) {
        throw noDecision(error);
      } finally {
        turns.leave();
      }
    };
}

/** Reads the response; a list in it is parsed item by item. */
function answerOf(url: string, list: ResponseFormat['list'], request: JsonRequest) {
  if (list === undefined) return requestJson(url, request);
  return requestText(url, { ...request, answerBytesMax: listBytesMax }, async ({ status }, chunks) => ({
    status,
    json: status === 200 ? await readJsonList(chunks, list.name, listBounds, list.take) : undefined,
  }));
}

/** Creates the concurrency limits of a tenant's requests; a request queues no longer than the point's timeout. */
function turnsWithin(
  what: string,
  bounds: { readonly tenant: number; readonly all: number },
  { CP_POLICY_TIMEOUT_SECONDS: waitSecondsMax }: Settings,
): (tenantId: string) => Turns {
  const limitOf = (of: keyof typeof bounds) =>
    new ConcurrencyLimit(`${what} the decision point of the ${of}`, {
      runningMax: bounds[of],
      queuedMax: waitingMax,
      waitMsMax: waitSecondsMax * 1000,
    });
  const [ofTenant, ofAll] = [limitOf('tenant'), limitOf('all')];
  return (tenantId) => new Turns([ofTenant, tenantId], [ofAll, '']);
}

/** @throws NoDecision when the queue is full */
async function enter(turns: Turns): Promise<void> {
  try {
    await turns.enter();
  } catch (error) {
    throw new NoDecision('too many pending requests to the decision point', { cause: error });
  }
}

function noDecision(error: unknown): NoDecision {
  if (error instanceof NoDecision) return error;
  const isOurs =
    error instanceof RequestFailed || error instanceof Refusal || error instanceof UnreadableList;
  return new NoDecision(isOurs ? error.message : `no token: ${(error as Error).message}`, { cause: error });
}
