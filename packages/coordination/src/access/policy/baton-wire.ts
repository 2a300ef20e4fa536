import { z } from 'zod';
import { consistencyOf } from './catalogue.ts';
import {
  type Decision,
  NoDecision,
  nameOf,
  objectsPerPart,
  type Question,
  type Subject,
  tuplesMax,
  type Wire,
} from './decision.ts';

/** Baton's own protocol for decision points. See docs/reference/authorization.md#wire-baton. */

const word = z.string().max(200);
/** A string, or a number as a string; null for any other value. */
const version = z.union([word, z.number()]).nullish().catch(undefined);
const Answer = z.object({
  allowed: z.boolean(),
  reasonCode: word,
  decisionId: word.nullish(),
  policyVersion: version,
  modelVersion: version,
  action: word,
  resource: z.union([z.object({ type: word, id: word }), z.string().max(401)]),
});
const Answers = z.object({ items: z.array(Answer).max(100) });
const cursor = z.string().max(4000).nullish();
const Objects = z.object({
  objects: z.array(z.string().max(200)).max(objectsPerPart),
  cursor,
  next_cursor: cursor,
  nextCursor: cursor,
});

export const batonWire: Wire = {
  questionsMax: 100,
  async check(questions, send) {
    const [only] = questions;
    if (questions.length === 1 && only !== undefined)
      return [decisionOf(only, Answer.safeParse(await send('/api/v1/decisions:check', itemOf(only))).data)];
    const body = await send('/api/v1/decisions:batch-check', { items: questions.map(itemOf) });
    const { items } = Answers.safeParse(body).data ?? {};
    if (items?.length !== questions.length) throw new NoDecision('the results do not match the questions');
    return questions.map((question, index) => decisionOf(question, items[index]));
  },
  async listObjects({ subject, action, type }, cursor, send) {
    const body = await send('/api/v1/decisions:list-objects', {
      principalId: subject.iamPrincipalId,
      action,
      resourceType: type,
      context: contextOf(subject, []),
      consistency: consistencyOf(action),
      ...(cursor !== undefined && { cursor }),
      limit: objectsPerPart,
    });
    const { data } = Objects.safeParse(body);
    if (data === undefined) throw new NoDecision('a list whose results cannot be parsed');
    // The field's name differs among decision points. An empty cursor means the last page, as does a missing one.
    const next = data.cursor || data.next_cursor || data.nextCursor;
    return { ids: data.objects, next: next || undefined };
  },
};

function itemOf({ subject, action, resource: { type, id, tuples } }: Question) {
  return {
    principalId: subject.iamPrincipalId,
    action,
    resource: { type, id },
    context: contextOf(subject, tuples),
    consistency: consistencyOf(action),
  };
}

function contextOf({ kind }: Subject, tuples: Question['resource']['tuples']) {
  return { principalType: kind, contextualTuples: tuples.slice(0, tuplesMax) };
}

/** Each result repeats its question, so that results can't be mixed up. */
function decisionOf({ action, resource }: Question, answer: z.infer<typeof Answer> | undefined): Decision {
  if (answer === undefined) throw new NoDecision('a result that cannot be parsed');
  const { resource: named } = answer;
  const about = typeof named === 'string' ? named : `${named.type}:${named.id}`;
  if (answer.action !== action || about !== nameOf(resource))
    throw new NoDecision('a result for another question');
  const { allowed, reasonCode, policyVersion = null, modelVersion = null } = answer;
  // The decision point reports that it could not decide.
  if (reasonCode === 'unavailable') throw new NoDecision('the decision point reported itself unavailable');
  const isVersioned = policyVersion !== null || modelVersion !== null;
  return {
    allowed,
    reasonCode,
    decisionId: answer.decisionId ?? null,
    version: isVersioned ? `${policyVersion}/${modelVersion}` : null,
  };
}
