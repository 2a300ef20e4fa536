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
    summary: 'List what came of a work rule, newest first.',
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
    summary: 'Read what came of one cause.',
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
    summary: 'See what a work rule would have done.',
    description:
      'At the newest events that would have caused it, 2,000 of its type at most, with tasks and goals as they are now. After a second, those that were not looked at yet are left out. Two of a tenant run at a time, ten wait for 5 s at most. Nothing is written.',
    permission: 'rules.write',
    // Nothing changes, so there is no answer to keep.
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
    // It waits its turn without one of a request, which the tenant's other calls wait for.
    around: async ({ body }, { context, command }: Surroundings<DryRun, Context>) =>
      command(await dryRunInTurn(context, body)),
    handle: ({ prepared }) => prepared,
  }),
];
