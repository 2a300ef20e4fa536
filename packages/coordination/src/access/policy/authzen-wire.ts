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

/** OpenID AuthZEN Authorization API 1.0. See docs/reference/authorization.md#wire-authzen. */

const Explained = z.object({
  /** A failed evaluation is a denial with an error. */
  error: z.unknown().optional(),
  reasonCode: z.string().max(200).optional().catch(undefined),
  decisionId: z.string().max(200).optional().catch(undefined),
});
const Evaluation = z.object({ decision: z.boolean(), context: Explained.nullish().catch(undefined) });
const Evaluations = z.object({ evaluations: z.array(Evaluation).max(100) });
const Result = z.object({ type: z.string().max(200), id: z.string().max(200) });
const Found = z.object({
  // Each result is parsed separately while it is read; the empty list that remains proves that the response contained
  // one.
  results: z.array(z.unknown()).max(0),
  page: z.object({ next_token: z.string().max(4000).nullish() }).nullish(),
});

/** Search is optional in the standard; these statuses mean that the decision point doesn't support it. */
const withoutSearch = [404, 405, 501];

export const authzenWire: Wire = {
  questionsMax: 100,
  async check(questions, send) {
    const [only] = questions;
    if (questions.length === 1 && only !== undefined)
      return [decisionOf(Evaluation.safeParse(await send('/access/v1/evaluation', evaluationOf(only))).data)];
    const body = await send('/access/v1/evaluations', { evaluations: questions.map(evaluationOf) });
    const { evaluations } = Evaluations.safeParse(body).data ?? {};
    if (evaluations?.length !== questions.length)
      throw new NoDecision('the results do not match the questions');
    return evaluations.map(decisionOf);
  },
  async listObjects({ subject, action, type }, cursor, send) {
    const ids: string[] = [];
    const take = (item: unknown) => {
      const { data } = Result.safeParse(item);
      if (data?.type !== type) throw new NoDecision('a list whose results cannot be parsed');
      // A decision point without paging returns all ids, whatever the requested limit.
      if (ids.push(data.id) > objectsMax) throw new NoDecision('a list that exceeds the limits');
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

/** Never empty: at least one decision point rejects an empty context. */
const contextOf = ({ tenantId }: Subject, tuples: Resource['tuples']) => ({
  tenantId,
  contextualTuples: tuples.slice(0, tuplesMax),
});

/** The object's own relations by name, with bare ids, for policies that use attributes. */
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
  if (evaluation === undefined) throw new NoDecision('a result that cannot be parsed');
  const { decision: allowed, context } = evaluation;
  if (context?.error !== undefined) throw new NoDecision('an evaluation failed');
  return {
    allowed,
    reasonCode: context?.reasonCode ?? (allowed ? 'allowed' : 'denied'),
    decisionId: context?.decisionId ?? null,
    version: null,
  };
}
