import type { Surroundings } from '@baton/kernel/http/service';
import { idParams } from '@baton/values/keys';
import { QueryWord } from '@baton/values/wire';
import { documentErrors, referenceErrors } from '../catalog/rule-refusals.ts';
import { type Context, endpoint } from '../context.ts';
import { type DryRun, dryRunInTurn, RuleDryRun, RuleDryRunResults } from './dry-run.ts';
import { RuleEvaluation, RuleEvaluationPage } from './evaluation.ts';
import { getEvaluation, listEvaluations } from './evaluations.ts';

export const evaluationsApi = [
  endpoint({
    id: 'listRuleEvaluations',
    method: 'GET',
    path: '/rules/{id}/evaluations',
    summary: 'List the evaluations of a work rule, newest first.',
    permission: 'rules.read',
    params: idParams,
    query: { status: QueryWord.optional() },
    paging: true,
    returns: { 200: RuleEvaluationPage },
    errors: ['not_found', 'invalid_status', 'invalid_cursor'],
    handle: ({ params, query, page }, context) => listEvaluations(context, params.id, query.status, page),
  }),
  endpoint({
    id: 'getRuleEvaluation',
    method: 'GET',
    path: '/rule-evaluations/{id}',
    summary: 'Read one evaluation of a work rule.',
    permission: 'rules.read',
    params: idParams,
    returns: { 200: RuleEvaluation },
    errors: ['not_found'],
    handle: ({ params }, context) => getEvaluation(context, params.id),
  }),
  endpoint({
    id: 'dryRunRule',
    method: 'POST',
    path: '/rules:dry-run',
    summary: 'Simulate a work rule on past events.',
    description:
      'Evaluates the rule for the newest events that would have triggered it, among at most 2,000 of its type, with the current tasks and goals. After a second, the remaining events are omitted. A tenant runs two simulations at a time; ten more wait for at most 5 s. Nothing is written.',
    permission: 'rules.write',
    // The operation changes nothing, so no response has to be stored.
    idempotency: 'ignored',
    transaction: 'none',
    body: RuleDryRun,
    returns: { 200: RuleDryRunResults },
    errors: [...documentErrors, 'invalid_status', 'not_found', 'workspace_archived', ...referenceErrors],
    example: {
      key: 'review-what-is-done',
      trigger: { kind: 'event', type: 'task.completed' },
      action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'Review {{ task.title }}' } },
      limit: 10,
    },
    // A dry run waits for its slot without occupying a request slot, which the tenant's other calls need.
    around: async ({ body }, { context, command }: Surroundings<DryRun, Context>) =>
      command(await dryRunInTurn(context, body)),
    handle: ({ prepared }) => prepared,
  }),
];
