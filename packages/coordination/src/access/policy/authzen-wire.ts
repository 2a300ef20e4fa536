import { z } from 'zod';
import {
  type Decision,
  NoDecision,
  nameOf,
  objectsMax,
  objectsPerPart,
  type Question,
  type Resource,
  type Subject,
  tuplesMax,
  type Wire,
} from './decision.ts';

/** OpenID AuthZEN Authorization API 1.0 (organisation, section 28): what any decision point may speak. */

const Explained = z.object({
  /** An evaluation that went wrong stands as a denial with its error. */
  error: z.unknown().optional(),
  reasonCode: z.string().max(200).optional().catch(undefined),
  decisionId: z.string().max(200).optional().catch(undefined),
});
const Evaluation = z.object({ decision: z.boolean(), context: Explained.nullish().catch(undefined) });
const Evaluations = z.object({ evaluations: z.array(Evaluation).max(100) });
const Result = z.object({ type: z.string().max(200), id: z.string().max(200) });
const Found = z.object({
  // Each result is read by itself. Its place says that there is a list.
  results: z.array(z.unknown()).max(0),
  page: z.object({ next_token: z.string().max(4000).nullish() }).nullish(),
});

/** The search is optional in the standard: so a decision point says that it has none. */
const withoutSearch = [404, 405, 501];

export const authzenWire: Wire = {
  questionsMax: 100,
  async check(questions, send) {
    const [only] = questions;
    if (questions.length === 1 && only !== undefined)
      return [decisionOf(Evaluation.safeParse(await send('/access/v1/evaluation', evaluationOf(only))).data)];
    const body = await send('/access/v1/evaluations', { evaluations: questions.map(evaluationOf) });
    const { evaluations } = Evaluations.safeParse(body).data ?? {};
    if (evaluations?.length !== questions.length) throw new NoDecision('other answers than questions');
    return evaluations.map(decisionOf);
  },
  async listObjects({ subject, action, type }, cursor, send) {
    const ids: string[] = [];
    const take = (item: unknown) => {
      const { data } = Result.safeParse(item);
      if (data?.type !== type) throw new NoDecision('a list whose results cannot be parsed');
      // A point that does not page answers all at once, whatever it was asked for.
      if (ids.push(data.id) > objectsMax) throw new NoDecision('a list that is too long');
    };
    const body = await send(
      '/access/v1/search/resource',
      {
        subject: subjectOf(subject),
        action: { name: action },
        resource: { type },
        context: contextOf(subject, []),
        page: { limit: objectsPerPart, ...(cursor !== undefined && { token: cursor }) },
      },
      { absent: withoutSearch, list: { name: 'results', take } },
    );
    if (body === undefined) return undefined;
    const { data } = Found.safeParse(body);
    if (data === undefined) throw new NoDecision('a list whose results cannot be parsed');
    return { ids, next: data.page?.next_token || undefined };
  },
};

function evaluationOf({ subject, action, resource }: Question) {
  return {
    subject: subjectOf(subject),
    action: { name: action },
    resource: { type: resource.type, id: resource.id, properties: propertiesOf(resource, subject.tenantId) },
    context: contextOf(subject, resource.tuples),
  };
}

const subjectOf = ({ kind, iamPrincipalId, tenantId }: Subject) => ({
  type: kind,
  id: iamPrincipalId,
  properties: { tenantId },
});

/** Never empty: one known decision point refuses an empty context. */
const contextOf = ({ tenantId }: Subject, tuples: Resource['tuples']) => ({
  tenantId,
  contextualTuples: tuples.slice(0, tuplesMax),
});

/** The object's own relations by name, with bare ids, for policies that read attributes. */
function propertiesOf(resource: Resource, tenantId: string): Record<string, string> {
  const name = nameOf(resource);
  const own = resource.tuples.filter(({ object }) => object === name);
  return {
    tenantId,
    ...Object.fromEntries(
      own.map(({ relation, subject }) => [relation, subject.slice(subject.indexOf(':') + 1)]),
    ),
  };
}

function decisionOf(evaluation: z.infer<typeof Evaluation> | undefined): Decision {
  if (evaluation === undefined) throw new NoDecision('an answer that can not be read');
  const { decision: allowed, context } = evaluation;
  if (context?.error !== undefined) throw new NoDecision('an evaluation that failed');
  return {
    allowed,
    reasonCode: context?.reasonCode ?? (allowed ? 'allowed' : 'denied'),
    decisionId: context?.decisionId ?? null,
    version: null,
  };
}
